"""The order of published records: another one, and what it costs where the original one is kept."""

import json
import stat
from dataclasses import replace
from math import factorial, prod

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kohort as ko
from frames import as_lists
from kohort.errors import InputError
from kohort.job.order import _is_sorted, dealt_order
from kohort.tables.memory import MemoryTable
from trials import trials

ASKED = {
    "quasi_identifiers": {"age": ko.intervals(5, 10, 20), "sex": ko.flat()},
    "sensitive": ["diagnosis"],
    "privacy": [ko.KAnonymity(5)],
    "algorithm": "mondrian",
    "others": "drop",
}


def patients(by=None, n=300):
    table = ko.datasets.generate_hospital(n, seed=3).select(["patient_id", "name", "sex", "age", "diagnosis"])
    return table if by is None else table.sort_by(by)


def released(table, **changes):
    return ko.anonymize(table, **ASKED | changes)


def in_order(release):
    return (np.diff(release.published.rows) > 0).all()


@pytest.mark.parametrize("by", [None, "age", "name"])
def test_records_are_published_in_another_order(by):
    """Whatever the order of the original: whoever has a file in that order would know who is who."""
    for seed in range(trials(2, 5)):
        release = released(patients(by), seed=seed)
        assert not in_order(release)
        assert release.facts()["order"] == {"shuffle": "auto", "shuffled": True}
        assert sorted(release.original_rows) == list(range(300))
        assert release.arrow["diagnosis"].to_pylist() == [
            patients(by)["diagnosis"][int(row)].as_py() for row in release.original_rows
        ]


def test_randomly_ordered_samples_are_shuffled_too():
    """A kept order links every record with a file in the same order, also where it is a random one."""
    table = patients(n=500).drop_columns(["patient_id"])
    for seed in range(10):
        rows = np.random.default_rng(seed).choice(500, 200, replace=False)
        release = released(table.take(rows))
        alike = np.mean(release.original_rows == np.arange(200))
        assert alike < 0.1 and abs(np.corrcoef(release.original_rows, np.arange(200))[0, 1]) < 0.25


def test_a_kept_order_is_always_cautioned_against():
    release = released(patients().drop_columns(["patient_id"]), shuffle=False)
    assert in_order(release)
    [caution] = order_cautions(release)
    assert "another file in that order" in caution["what"] and "shuffle: auto" in caution["advice"]


def test_the_order_of_few_records_is_attacked_too():
    table = pa.table({"age": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]})
    asked = {"quasi_identifiers": ["age", "sex"], "privacy": [ko.KAnonymity(2)], "algorithm": "mondrian"}
    assert ko.anonymize(table, shuffle=False, **asked).risk()["order"]["narrowed_records"]


def test_the_attack_is_part_of_the_risk():
    kept = released(patients("age", n=2000), shuffle=False, privacy=[ko.KAnonymity(10)])
    found = kept.risk()["order"]
    assert found["orders"] == [["age"]] and found["records"] == 2000
    assert found["records_below_k"] > 0 and found["exact_values"] > 0
    assert f"sorted by 'age' narrows the labels of {found['narrowed_records']:,}" in found["sentence"]
    shuffled = released(patients("age", n=2000), privacy=[ko.KAnonymity(10)]).risk()["order"]
    assert (shuffled["orders"], shuffled["records_below_k"], shuffled["exact_values"]) == ([], 0, 0)
    assert "not sorted by any quasi-identifier" in shuffled["sentence"]


# -- an order that a published column gives back -----------------------------------------------------


def numbered(by="age", n=500):
    """Patients with a number that follows their age; the table itself is in no order."""
    table = patients(by, n).append_column("number", pa.array(range(0, 7 * n, 7)))
    return table.take(np.random.default_rng(0).permutation(n))


def order_cautions(release):
    return [caution for caution in release.facts()["cautions"] if caution["kind"] == "order"]


@pytest.mark.parametrize("shuffle", ["auto", True, False])
def test_a_published_column_that_sorts_a_quasi_identifier_is_noticed(shuffle):
    release = released(numbered(), insensitive=["number"], shuffle=shuffle)
    [caution] = [caution for caution in order_cautions(release) if caution["column"]]
    assert caution["column"] == "number" and caution["records"] is None
    assert "sorted by 'age'" in caution["what"] and "identifier" in caution["advice"]
    found = release.risk()["order"]
    assert found["orders"] == [] and "sorts the records by 'number'" in found["sentence"]
    assert found["by_column"]["number"]["records_below_k"] > 0


def test_sorting_a_shuffled_table_again_is_noticed():
    table = numbered().sort_by("number")
    release = released(table, insensitive=["number"])
    assert release.order.shuffled
    assert [caution["column"] for caution in order_cautions(release)] == ["number"]


def test_a_column_that_sorts_nothing_is_not_blamed():
    for by in ("name", "patient_id"):
        assert not order_cautions(released(numbered(by), insensitive=["number"]))
    few = pa.table({"age": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"], "number": [5, 6, 7, 8]})
    asked = {"quasi_identifiers": ["age", "sex"], "insensitive": ["number"], "shuffle": True}
    assert not order_cautions(ko.anonymize(few, privacy=[ko.KAnonymity(2)], **asked))


@pytest.mark.parametrize("counts", [[1] * 4, [1] * 5, [1] * 6, [3, 3], [5, 5], [2, 9], [1, 20], [1, 1, 30]])
def test_few_records_are_called_sorted_where_a_random_order_hardly_ever_is(counts):
    values = [value for value, times in enumerate(counts) for _ in range(times)]
    orders = factorial(len(values)) // prod(map(factorial, counts))
    column = MemoryTable(pa.table({"age": values})).column("age")
    rows = np.arange(len(values))
    for turned in (rows, rows[::-1]):
        assert _is_sorted(column, turned, 0.01) == (2 / orders < 0.01)
        assert _is_sorted(column, turned, 0.01 / 50) == (2 / orders < 0.01 / 50)
    swapped = rows.copy()
    swapped[[0, -1]] = swapped[[-1, 0]]
    assert not _is_sorted(column, np.append(swapped, rows), 0.01)


def test_a_column_that_sorts_what_is_published_exactly_is_not_blamed():
    """Whoever reads the ages needs no sorting."""
    table = numbered()
    asked = {"quasi_identifiers": ["age"], "sensitive": [], "insensitive": ["number"], "seed": 1}
    release = released(table, **asked, privacy=[ko.KAnonymity(1)])
    assert set(release.arrow["age"].to_pylist()) == {str(age) for age in table["age"].to_pylist()}
    assert not order_cautions(release)


# -- the order that is published instead -----------------------------------------------------------


def test_the_order_depends_on_what_is_published_alone(native_frame):
    """Whatever the order of the original, the release is the same, byte by byte: no guess can be tested."""
    table = patients("age").to_pydict()
    rng = np.random.default_rng(7)
    first = released(native_frame(table), shuffle=True, algorithm="full-domain")
    for _ in range(3):
        rows = rng.permutation(300)
        turned = native_frame({name: [values[i] for i in rows] for name, values in table.items()})
        again = released(turned, shuffle=True, algorithm="full-domain")
        assert as_lists(again.table) == as_lists(first.table)


def test_the_same_seed_gives_the_same_order_and_another_another():
    one, again, two = (as_lists(released(patients("age"), seed=seed).table) for seed in (1, 1, 2))
    assert one == again != two


def test_original_values_that_are_not_published_do_not_change_the_order():
    """Two originals that are published alike are published in the same order."""
    table = pa.table({"age": [20, 21, 30, 31, 20, 21], "id": [3, 1, 2, 5, 4, 6]})
    other = table.set_column(0, "age", pa.array([21, 20, 31, 30, 21, 20]))
    asked = {"quasi_identifiers": {"age": ko.intervals(10)}, "insensitive": ["id"], "shuffle": True}
    asked |= {"privacy": [ko.KAnonymity(2)], "algorithm": "full-domain"}
    assert ko.anonymize(table, **asked).table.equals(ko.anonymize(other, **asked).table)


def test_records_that_differ_in_the_last_bit_are_told_apart():
    table = pa.table({"age": [1, 1, 1, 1], "score": [0.0, -0.0, float("nan"), None]})
    asked = {"quasi_identifiers": ["age"], "insensitive": ["score"], "privacy": [ko.KAnonymity(2)]}
    published = ko.anonymize(table, shuffle=False, **asked).published
    texts = []
    for rows in ([0, 1, 2, 3], [1, 0, 3, 2]):
        order = dealt_order(replace(published, dataset=MemoryTable(table.take(rows))), 0)
        texts.append([repr(v) for v in table["score"].take(np.array(rows)[order]).to_pylist()])
    assert texts[0] == texts[1]


def test_a_shuffled_release_of_a_pandas_frame_has_a_fresh_index():
    frame = pd.DataFrame({"age": [1, 2, 3, 4]}, index=[9, 8, 7, 6])
    release = ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], shuffle=True)
    assert list(release.table.index) == [0, 1, 2, 3]


def test_baskets_are_published_in_another_order():
    lists = [[f"i{number:03}"] * 1 + ["milk"] for number in np.repeat(np.arange(30), 10)]
    asked = {"items": "items", "privacy": [ko.KmAnonymity(5, 1)]}
    release = ko.anonymize(pa.table({"items": lists}), **asked)
    assert release.order.shuffled and not in_order(release)
    again = ko.anonymize(pa.table({"items": lists}), seed=1, **asked)
    assert not np.array_equal(release.original_rows, again.original_rows)


@pytest.mark.parametrize("wrong", ["yes", 1, None, "True"])
def test_anything_else_is_refused(wrong):
    with pytest.raises(InputError, match="'shuffle' must be"):
        released(patients(), shuffle=wrong)


# -- the order file --------------------------------------------------------------------------------

SPEC = {
    "attributes": {
        "patient_id": {"role": "identifier"},
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": {"role": "quasi-identifier"},
        "diagnosis": {"role": "sensitive"},
    },
    "privacy": {"k": 5},
    "algorithm": "mondrian",
}


def records_check(verdict):
    return next(check for check in verdict.checks if check.name == "records")


def test_the_order_file_tells_which_record_is_which(tmp_path):
    table = patients("age")
    release = ko.anonymize(table, spec=SPEC)
    file = tmp_path / "order.json"
    release.order_file(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    verdict = ko.verify(release.table, spec=SPEC, original=table, order_file=file)
    assert verdict.holds and "order file" in records_check(verdict).detail
    without = ko.verify(release.table, spec=SPEC, original=table)
    assert without.holds and "Only the order file can show" in records_check(without).detail


def test_a_wrong_record_is_found_through_the_order_file_alone(tmp_path):
    """Two people of one class change places: any stranger would accept that."""
    table = patients("age")
    release = ko.anonymize(table, spec=SPEC)
    rows = release.published.rows.copy()
    a, b = np.flatnonzero(np.isin(rows, [0, 299]))
    rows[[a, b]] = rows[[b, a]]
    file = tmp_path / "order.json"
    facts = {"kohort": "order", "version": "0", "original_records": (rows + 1).tolist()}
    file.write_text(json.dumps(facts))
    verdict = ko.verify(release.table, spec=SPEC, original=table, order_file=file)
    assert not verdict.holds
    assert "coverage of 'age'" in [check.name for check in verdict.checks if check.holds is False]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[1, 2]",
        '{"kohort": "order", "original_records": [1, "2"]}',
        '{"kohort": "order", "original_records": [1, 1]}',
        "[" * 100_000 + "]" * 100_000,
        '{"kohort": "order", "original_records": [2, 1], "original_records": [1, 2]}',
    ],
)
def test_a_file_that_is_no_order_file_of_the_release_is_refused(tmp_path, content):
    file = tmp_path / "order.json"
    file.write_text(content)
    table = pa.table({"age": [1, 2]})
    spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
    with pytest.raises(InputError, match="order file"):
        ko.verify(pa.table({"age": ["[1, 2]"] * 2}), spec=spec, original=table, order_file=file)
    with pytest.raises(InputError, match="original"):
        file.write_text('{"kohort": "order", "original_records": [1, 2]}')
        ko.verify(pa.table({"age": ["[1, 2]"] * 2}), spec=spec, order_file=file)


def test_a_release_that_is_anonymized_again_is_dealt_into_another_order():
    table = ko.datasets.generate_hospital(300, seed=3)
    asked = {"quasi_identifiers": ["age", "sex"], "sensitive": ["diagnosis"], "k": 5, "others": "drop"}
    once = ko.anonymize(table, algorithm="mondrian", **asked)
    twice = ko.anonymize(once.table, algorithm="mondrian", **asked)
    assert once.table.num_rows == twice.table.num_rows == 300
    assert abs(np.corrcoef(np.arange(300), twice.original_rows)[0, 1]) < 0.5

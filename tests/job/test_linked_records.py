"""Linked records: every published history is that of at least k people, and models hold over these people."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.histories import look_alikes, most_certain_share
from kohort.algorithms import ALGORITHMS
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from kohort.recoding.groups import Groups

GROUPING = [name for name, found in ALGORITHMS.items() if issubclass(found.recoding, Groups)]
FAST = ("mondrian", "improve", "k-anon-cf", "forest")


@st.composite
def linked_tables(draw) -> pa.Table:
    """Up to 14 people with up to 4 records each; some attributes never change within a person."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=4, max_size=14))
    rows = []
    for person, size in enumerate(sizes):
        sex = draw(st.sampled_from("fm"))
        years = draw(st.permutations([1, 2, 3, 4]))[:size]
        for year in years:
            rows.append(
                {
                    "patient": f"p{person}",
                    "year": year,
                    "sex": sex,
                    "age": draw(st.integers(20, 27)),
                    "town": draw(st.sampled_from(["Ayr", "Ely", "Rye"])),
                    "illness": draw(st.sampled_from(["flu", "cold", "gout"])),
                }
            )
    return pa.Table.from_pylist([rows[i] for i in draw(st.permutations(range(len(rows))))])


QUASI = {"sex": None, "age": ko.intervals(2, 4), "town": None}


def released(table: pa.Table, *, slot: bool = True, **changes):
    options = {
        "quasi_identifiers": QUASI,
        "sensitive": ["illness"],
        "person": {"patient": "pseudonym"},
        "history": {"slot": "year"} if slot else None,
        "insensitive": [] if slot else ["year"],
        "privacy": [ko.KAnonymity(3)],
        "suppression": 0.99,
        "algorithm": "mondrian",
    }
    return ko.anonymize(table, **(options | changes))


def spec_of(*, slot: bool, privacy) -> dict:
    attributes = {
        "patient": {"role": "person", "treatment": "pseudonym"},
        "sex": {"role": "quasi-identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}},
        "town": {"role": "quasi-identifier"},
        "year": {"role": "insensitive"},
        "illness": {"role": "sensitive"},
    }
    more = {"history": {"slot": "year"}} if slot else {}
    return {"attributes": attributes, "privacy": privacy, "suppression": 0.99, **more}


def _released_or_infeasible(table, **options):
    try:
        return released(table, **options)
    except InfeasibleError:
        assume(False)


@pytest.mark.parametrize("slot", [True, False], ids=["slots", "bag"])
@given(table=linked_tables(), k=st.integers(2, 3), algorithm=st.sampled_from(FAST))
def test_what_is_seen_of_everybody_is_seen_of_k_people(slot, table, k, algorithm):
    release = _released_or_infeasible(
        table, slot=slot, privacy=[ko.KAnonymity(k)], algorithm=algorithm, time_limit=0.2
    )
    records = release.table.to_pylist()
    alike = look_alikes(records, "patient", "year" if slot else None, list(QUASI))
    assert min(map(len, alike.values())) >= k
    assert release.verdict.people.smallest_class == min(map(len, alike.values()))
    assert ko.verify(release.table, spec=spec_of(slot=slot, privacy={"k": k})).holds
    shown = {p: [r for r in records if r["patient"] == p] for p in alike}
    assert all(len({r["sex"] for r in found}) == 1 for found in shown.values())


@pytest.mark.parametrize("slot", [True, False], ids=["slots", "bag"])
@given(table=linked_tables())
def test_shares_of_sensitive_values_are_those_of_people_who_have_them_in_any_record(slot, table):
    release = _released_or_infeasible(
        table, slot=slot, privacy=[ko.KAnonymity(2), ko.LDiversity("illness", 1.25)]
    )
    records = release.table.to_pylist()
    alike = look_alikes(records, "patient", "year" if slot else None, list(QUASI))
    share = most_certain_share(records, "patient", alike, "illness")
    assert share <= 1 / 1.25 + 1e-12
    measured = next(m.measured for m in release.verdict.models if m.model == "l-diversity")
    assert float(measured) == pytest.approx(1 / share)


@given(table=linked_tables(), kind=st.sampled_from(["distinct", "entropy", "recursive"]))
def test_models_hold_in_every_slot_by_itself(table, kind):
    model = ko.LDiversity("illness", 2, kind=kind, c=3 if kind == "recursive" else None)
    release = _released_or_infeasible(table, privacy=[ko.KAnonymity(2), model])
    records = release.table.to_pylist()
    alike = look_alikes(records, "patient", "year", list(QUASI))
    for record in records:
        others = [
            r for r in records if r["patient"] in alike[record["patient"]] and r["year"] == record["year"]
        ]
        assert len({r["illness"] for r in others}) >= (2 if kind != "entropy" else 1)


@given(table=linked_tables())
def test_records_stay_those_of_their_people(table):
    release = _released_or_infeasible(table, shuffle=False)
    originals = table.take(pa.array(release.original_rows)).to_pylist()
    shown = release.table.to_pylist()
    pairs = {(before["patient"], after["patient"]) for before, after in zip(originals, shown)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert not {a for a, _ in pairs} & {b for _, b in pairs}
    assert all(before["year"] == after["year"] for before, after in zip(originals, shown))


def panel(n: int = 60, seed: int = 0) -> pa.Table:
    """60 people, observed in the years 1 to 3 or 1 to 2."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        sex, town = rng.choice(["f", "m"]), rng.choice(["Ayr", "Ely", "Rye"])
        for year in range(1, 3 + person % 2):
            rows.append(
                (f"p{person}", year, sex, int(rng.integers(20, 60)), town, rng.choice(["flu", "cold"]))
            )
    names = ["patient", "year", "sex", "age", "town", "illness"]
    return pa.table(dict(zip(names, map(list, zip(*rows)))))


@pytest.mark.parametrize("algorithm", GROUPING)
def test_every_algorithm_that_makes_groups_serves(algorithm):
    k = {"two-anonymity": 2, "three-anonymity": 3}.get(algorithm, 4)
    alpha = [ko.AlphaDeassociation("illness", 1)] if algorithm in ("progressive", "top-down") else []
    few = panel(24) if algorithm in ("optimal", "k-anon") else panel()
    quasi = {"sex": ko.flat(), "age": ko.intervals(10, 20), "town": ko.flat()}
    release = released(
        few,
        quasi_identifiers=quasi,
        privacy=[ko.KAnonymity(k), *alpha],
        algorithm=algorithm,
        suppression=0.0,
        time_limit=5,
    )
    alike = look_alikes(release.table.to_pylist(), "patient", "year", list(QUASI))
    assert min(map(len, alike.values())) >= k


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n not in GROUPING])
def test_algorithms_that_make_no_groups_are_refused_by_name(name):
    with pytest.raises(UnsupportedError, match=f"{name} .*groups of people"):
        released(panel(), algorithm=name)


@pytest.mark.parametrize("algorithm", ["top-down", "progressive", "forest", "k-anon-cf"])
def test_shares_are_those_of_people_with_algorithms_that_count_values_themselves(algorithm):
    """Of people with one record a share is one of records; of those with two, who are fewer, it is not."""
    sizes = [1] * 20 + [2] * 12
    rows = [(f"p{p}", n, 20 + p % 5, "abc"[(p + n) % 3]) for p, size in enumerate(sizes) for n in range(size)]
    names = ["patient", "year", "age", "illness"]
    table = pa.table(dict(zip(names, map(list, zip(*rows)))))
    release = released(
        table,
        slot=False,
        quasi_identifiers={"age": ko.intervals(2, 4)},
        privacy=[ko.KAnonymity(2), ko.AlphaDeassociation("illness", 0.7)],
        algorithm=algorithm,
        suppression=0.0,
    )
    records = release.table.to_pylist()
    alike = look_alikes(records, "patient", None, ["age"])
    assert most_certain_share(records, "patient", alike, "illness") <= 0.7


def test_the_cost_is_that_of_the_published_records():
    release = released(panel(), suppression=0.0, shuffle=False)
    assert release.loss["loss"] == pytest.approx(_loss_by_hand(release))
    assert release.table.num_rows == panel().num_rows


def _loss_by_hand(release) -> float:
    """The mean over cells of the share of the other values that a label covers."""
    losses = []
    for attribute in release.problem.attributes:
        labels = release.table[attribute.name].to_pylist()
        tree = attribute.domain
        node = {tree.published[n]: n for n in range(len(tree.published))}
        width = [tree.hi[node[label]] - tree.lo[node[label]] for label in labels]
        losses.append(np.mean(width) / (len(tree.leaves) - 1))
    return float(np.mean(losses))


def test_without_anything_withheld_the_bound_is_that_of_the_problems_over_people():
    release = released(panel(), suppression=0.0, algorithm="improve", time_limit=5)
    assert release.solver_bound is not None
    assert 0 < release.solver_bound <= release.cost + 1e-12


def test_a_rare_pattern_loses_records_and_nothing_else():
    table = panel().filter(
        pa.array([not (r["patient"] == "p0" and r["year"] == 1) for r in panel().to_pylist()])
    )
    with pytest.raises(InfeasibleError, match=r"1 record of 149 must be withheld, and 0 may be.*suppression"):
        released(table, suppression=0.0)
    release = released(table, suppression=0.01)
    assert release.verdict.withheld == 1
    assert release.table.num_rows == table.num_rows - 1
    assert release.suppressed_as == "drop"


def test_pseudonyms_are_fresh_unless_a_key_is_given():
    first, second = (released(panel()).table["patient"].to_pylist() for _ in range(2))
    assert not set(first) & set(second)
    key = b"a secret of 16 bytes or more"
    first, second = (set(released(panel(), key=key).table["patient"].to_pylist()) for _ in range(2))
    assert first == second


def test_where_everybody_has_one_record_the_slots_still_count():
    table = pa.table({"patient": range(8), "year": [1] * 4 + [2] * 4, "age": [20] * 8})
    release = ko.anonymize(
        table,
        quasi_identifiers=["age"],
        person={"patient": "pseudonym"},
        history={"slot": "year"},
        privacy=ko.KAnonymity(4),
    )
    assert release.verdict.classes == 2


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"history": {"slot": "yaer"}}, InputError, "no column 'yaer'"),
        ({"history": {"slots": "year"}}, InputError, "'history' names the column of slots"),
        ({"history": "year"}, InputError, "'history' names the column of slots"),
        ({"person": "patient"}, InputError, "give the column with the role person the treatment pseudonym"),
        ({"history": {"slot": "age"}}, InputError, "slot 'age' has the role quasi-identifier"),
        ({"scheme": "ops"}, UnsupportedError, "Leave 'scheme' out"),
        ({"privacy": [ko.KAnonymity(3), ko.TCloseness("illness", 0.5)]}, UnsupportedError, "t-closeness"),
        (
            {"privacy": [ko.AlphaDeassociation("illness", 0.9, rounding="ceiling")]},
            UnsupportedError,
            "alpha-deassociation as asked is not possible for linked records",
        ),
        ({"privacy": [ko.KAnonymity(61)]}, InfeasibleError, "60 people"),
        (
            {"person": {"patient": "mask"}, "history": None, "others": "keep"},
            InputError,
            "takes drop or pseudonym",
        ),
        ({"sensitive": ["illness", "patient"]}, InputError, "two roles"),
    ],
)
def test_wrong_input_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        released(panel(), **changes)


def test_two_records_in_one_slot_are_refused_with_their_number():
    table = panel().append_column("wave", pa.array([1] * panel().num_rows))
    with pytest.raises(InputError, match="90 records are in the same slot as another one"):
        released(table, history={"slot": "wave"}, insensitive=["year"])


def test_missing_slots_are_refused_with_their_number():
    years = [None if i < 2 else y for i, y in enumerate(panel()["year"].to_pylist())]
    table = panel().set_column(1, "year", pa.array(years))
    with pytest.raises(InputError, match="2 records have no value there"):
        released(table)


def _records_of_two_classes(records):
    """Two records of one year whose sex or town, which never change within a person, are published apart."""
    return next(
        (i, j)
        for i, one in enumerate(records)
        for j, other in enumerate(records)
        if one["year"] == other["year"] and (one["sex"], one["town"]) != (other["sex"], other["town"])
    )


def test_verification_finds_histories_that_stand_out():
    release = released(panel(), suppression=0.0)
    spec = spec_of(slot=True, privacy={"k": 3})
    assert ko.verify(release.table, spec=spec).holds
    records = release.table.to_pylist()
    last = next(r["patient"] for r in records if r["year"] == 3)
    gap = pa.array([not (r["patient"] == last and r["year"] == 2) for r in records])
    assert not ko.verify(release.table.filter(gap), spec=spec).holds  # nobody else has the years 1 and 3
    pseudonyms = release.table["patient"].to_pylist()
    alone = release.table.set_column(0, "patient", pa.array(["another", *pseudonyms[1:]]))
    assert not ko.verify(alone, spec=spec_of(slot=False, privacy={"k": 3})).holds
    one, other = _records_of_two_classes(records)
    swapped = list(pseudonyms)
    swapped[one], swapped[other] = pseudonyms[other], pseudonyms[one]
    mixed = release.table.set_column(0, "patient", pa.array(swapped))
    assert not ko.verify(mixed, spec=spec).holds
    twice = release.table.set_column(0, "patient", pa.array([pseudonyms[0]] * len(pseudonyms)))
    found = ko.verify(twice, spec=spec)
    assert any(check.name == "slots" and check.holds is False for check in found.checks)


def test_verification_against_the_original_finds_records_linked_to_another_person():
    table = panel()
    release = released(table, suppression=0.0, shuffle=False)
    spec = spec_of(slot=True, privacy={"k": 3})
    assert ko.verify(release.table, spec=spec, original=table).holds
    alike = look_alikes(release.table.to_pylist(), "patient", "year", list(QUASI))
    one, other = next((a, b) for a, others in alike.items() for b in others if a != b)
    swap = {one: other, other: one}
    first = [r["year"] == 1 for r in release.table.to_pylist()]
    names = [swap.get(p, p) if f else p for p, f in zip(release.table["patient"].to_pylist(), first)]
    mixed = release.table.set_column(0, "patient", pa.array(names))
    assert ko.verify(mixed, spec=spec).holds  # nobody sees it in the release alone
    found = ko.verify(mixed, spec=spec | {"shuffle": False}, original=table)
    assert [check.name for check in found.checks if check.holds is False] == ["people"]

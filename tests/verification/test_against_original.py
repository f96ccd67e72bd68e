from datetime import date, datetime, time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.data.column import code_column
from kohort.problem.attribute import Attribute, tight_domain
from kohort.tables.memory import MemoryTable
from kohort.verification import against_original
from kohort.verification.against_original import check_columns, check_conserved, matching_rows
from kohort.verification.reading import read_column
from strategies import cases, columns

NAN = float("nan")


def numbers(name, values):
    column = code_column(name, pa.array(values))
    return Attribute(column, tight_domain(column))


def readings(published, attributes):
    return [read_column(published.column(a.name), a) for a in attributes]


def same(after, before, rows=None):
    rows = np.arange(len(after)) if rows is None else np.array(rows)
    after, before = (x if isinstance(x, pa.Array) else pa.array(x) for x in (after, before))
    published, original = MemoryTable(pa.table({"x": after})), MemoryTable(pa.table({"x": before}))
    [check] = check_conserved(published, original, ["x"], rows)
    return check


# -- coverage --------------------------------------------------------------------------------------


def check_coverage(published, read, rows):
    return against_original.check_coverage(read, against_original.label_pairs(published, read, rows))


def test_values_that_do_not_cover_their_original_are_counted():
    published = MemoryTable(pa.table({"age": ["[20, 30)", "[20, 30)", "[20, 30)", "40"]}))
    [check] = check_coverage(published, readings(published, [numbers("age", [20, 30, 31, 40])]), np.arange(4))
    assert check.holds is False
    assert check.detail == "2 values of 'age' do not cover their originals."


def test_labels_that_are_not_understood_are_counted_apart():
    published = MemoryTable(pa.table({"age": ["20ish", "[20, 30]", "20ish", "thirty"]}))
    [check] = check_coverage(published, readings(published, [numbers("age", [20, 21, 22, 30])]), np.arange(4))
    assert "3 values of 'age'" in check.detail
    assert "2 published labels are not a value, node, interval, set or *" in check.detail


def test_rows_say_which_original_a_record_has():
    published = MemoryTable(pa.table({"age": ["40", "20"]}))
    read = readings(published, [numbers("age", [20, 30, 40])])
    assert check_coverage(published, read, np.array([2, 0]))[0].holds
    assert not check_coverage(published, read, np.array([0, 2]))[0].holds


@given(cases(kinds=("integer", "plain", "date")), st.data())
def test_another_value_in_place_of_a_published_one_is_noticed(case, data):
    release = case.anonymize(shuffle=False)
    attribute = data.draw(st.sampled_from(release.problem.attributes))
    record = data.draw(st.integers(0, case.table.num_rows - 1))
    label = data.draw(st.sampled_from([*attribute.column.texts, "no such label"]))
    labels = release.table[attribute.name].to_pylist()
    labels[record] = label
    place = release.table.column_names.index(attribute.name)
    published = MemoryTable(release.table.set_column(place, attribute.name, pa.array(labels, pa.string())))
    checks = check_coverage(
        published, readings(published, release.problem.attributes), np.arange(len(labels))
    )
    failing = [check.name for check in checks if not check.holds]
    is_own = label == attribute.column.texts[attribute.column.codes[record]]
    assert failing == ([] if is_own else [f"coverage of {attribute.name!r}"])


# -- columns that nobody should touch --------------------------------------------------------------


def test_changed_records_are_counted():
    check = same(["a", "b", "x"], ["a", "c", "b"])
    assert (check.holds, check.detail) == (False, "Column 'x' was changed in 2 records.")


@pytest.mark.parametrize(
    "after, before",
    [
        ([1, 2, None], [1, 2, None]),
        ([1.0, 2.0, NAN], pa.array([1, 2, None])),  # whole numbers that became floats
        (["1", "2", "x"], ["1", "2", "x"]),
        (["1", "2"], [1, 2]),  # a CSV file of the same table
        (["1.50", "2"], [1.5, 2.0]),
        (["true", None], [True, None]),
        ([date(2024, 1, 2)], ["2024-01-02"]),
        ([datetime(2024, 1, 2)], [date(2024, 1, 2)]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        ([[1.0, NAN], None], [[1.0, NAN], None]),
        ([{"a": NAN, "b": [1]}], [{"a": NAN, "b": [1]}]),
        (pa.array([0.1], pa.float32()), pa.array([0.1], pa.float32())),
        (pa.array([2**62], pa.timestamp("s")), pa.array([2**62], pa.timestamp("s"))),  # no year of Python's
        (pa.array([b"\xff", None]), pa.array([b"\xff", None])),
        ([None, None], [None, None]),
    ],
)
def test_the_same_values_in_any_type_are_conserved(after, before):
    assert same(after, before).holds is True


@pytest.mark.parametrize(
    "after, before",
    [
        ([1, 2], [1, 3]),
        ([1, None], [1, 2]),
        ([1, 2], [1, None]),
        (["a", None], ["a", ""]),
        (["a"], ["A"]),
        ([4], [date(1970, 1, 5)]),  # days since 1970 are no dates
        ([[1, 2]], [[2, 1]]),
        ([[1]], [[1, None]]),
        ([{"a": 1}], [{"a": 2}]),
        ([None, None], ["a", None]),
        ([2**53], [2**53 + 1]),
    ],
)
def test_other_values_are_not(after, before):
    assert same(after, before).holds is False


@given(columns(6), columns(6))
def test_columns_are_the_same_where_their_python_values_are(after, before):
    [check] = check_conserved(
        MemoryTable(pa.table({"x": after})), MemoryTable(pa.table({"x": before})), ["x"], np.arange(6)
    )
    if after.type == before.type:
        changed = sum(a != b for a, b in zip(after.to_pylist(), before.to_pylist()))
        assert check.holds is (changed == 0)
        assert changed == 0 or f"in {changed} record" in check.detail


def test_only_columns_that_are_published_are_compared():
    table = MemoryTable(pa.table({"x": [1]}))
    assert check_conserved(table, MemoryTable(pa.table({"x": [1], "y": [2]})), ["y"], np.arange(1)) == []


# -- which columns there are -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "names, says",
    [
        (["age", "illness", "name"], "identifiers are published: 'name'"),
        (["age"], "columns are missing: 'illness'"),
        (["age", "illness", "new"], "columns were not in the original: 'new'"),
    ],
)
def test_columns_that_should_not_be_there_are_named(names, says):
    published = MemoryTable(pa.table({name: [1] for name in names}))
    check = check_columns(published, kept=["illness"], hidden=["name"], replaced=["age"])
    assert check.holds is False
    assert says in check.detail


def test_the_right_columns_in_any_order_are_fine():
    published = MemoryTable(pa.table({"illness": [1], "age": [1]}))
    assert check_columns(published, kept=["illness"], hidden=["name"], replaced=["age"]).holds


# -- records that were left out --------------------------------------------------------------------


def matched(published, original, conserved=("rest",)):
    table = MemoryTable(pa.table(published))
    read = readings(table, [numbers("age", original["age"])])
    rows = matching_rows(table, MemoryTable(pa.table(original)), read, list(conserved))
    return None if rows is None else rows.tolist()


def test_records_left_out_are_found_by_what_is_left():
    original = {"age": [20, 25, 30, 35, 40], "rest": ["a", "b", "c", "d", "e"]}
    assert matched({"age": ["[20, 30]", "[20, 30]", "40"], "rest": ["a", "c", "e"]}, original) == [0, 2, 4]
    assert matched({"age": ["[20, 30]", "[20, 30]"], "rest": ["c", "a"]}, original) is None  # order is kept
    assert matched({"age": ["[20, 25]"], "rest": ["e"]}, original) is None


def test_missing_values_and_nan_fit_themselves():
    original = {"age": [20, 25, 30], "rest": [NAN, 1.5, NAN]}
    assert matched({"age": ["20", "30"], "rest": [NAN, NAN]}, original) == [0, 2]
    assert matched({"age": ["20", "30"], "rest": [None, None]}, original) == [0, 2]


def test_a_csv_file_of_the_release_fits_its_typed_original():
    original = {"age": [20, 25, 30], "rest": [1, 2, 3]}
    assert matched({"age": ["20", "30"], "rest": ["1", "3"]}, original) == [0, 2]


@given(cases(), st.data())
def test_any_subset_of_a_release_is_matched(case, data):
    release = case.anonymize(shuffle=False)
    kept = sorted(data.draw(st.sets(st.integers(0, case.table.num_rows - 1), min_size=1)))
    published, original = MemoryTable(release.table.take(kept)), MemoryTable(case.table)
    read = readings(published, release.problem.attributes)
    rows = matching_rows(published, original, read, ["rest"])
    assert rows is not None
    assert (np.diff(rows) > 0).all()
    assert all(rows[i] <= row for i, row in enumerate(kept))  # the first that fits
    for check in (
        *check_coverage(published, read, rows),
        *check_conserved(published, original, ["rest"], rows),
    ):
        assert check.holds


def test_hierarchy_labels_are_matched_too():
    hierarchy = ko.Hierarchy.from_paths([("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*")])
    original = MemoryTable(pa.table({"animal": ["cow", "cat", "dog"]}))
    attributes = [Attribute(original.column("animal"), hierarchy)]
    published = MemoryTable(pa.table({"animal": ["pet", "pet"]}))
    assert matching_rows(published, original, readings(published, attributes), []).tolist() == [1, 2]


TIMES = pa.array([None if row % 7 == 0 else time(8, row % 60, row % 2) for row in range(40)])
FINE_TIMES = pa.array([time(8, 0, 0, 1000 * row) for row in range(40)])
BOOLEANS = pa.array([None if row % 5 == 0 else row % 2 == 0 for row in range(40)])


@pytest.mark.parametrize("ending", [".csv", ".sav", ".dta", ".xlsx", ".jsonl", ".parquet"])
@pytest.mark.parametrize("values", [TIMES, FINE_TIMES, BOOLEANS], ids=["times", "fine times", "booleans"])
@pytest.mark.parametrize("role", ["insensitive", "sensitive", "quasi-identifier"])
def test_a_file_of_a_release_is_accepted_though_its_format_lacks_the_type(tmp_path, role, values, ending):
    table = pa.table({"age": [20 + row % 20 for row in range(40)], "x": values})
    attributes = {"age": {"role": "quasi-identifier"}, "x": {"role": role}}
    spec = {"attributes": attributes, "privacy": {"k": 4}}
    ko.anonymize(table, spec=spec).write(tmp_path / f"out{ending}")
    assert ko.verify(tmp_path / f"out{ending}", spec=spec, original=table).holds


def test_a_time_of_the_day_that_was_changed_is_found():
    original = MemoryTable(pa.table({"x": [time(8, 0, 1), time(8, 10)]}))
    for texts, same in ((["08:00:01.000", "08:10:00"], True), (["08:00:01.100", "08:10:00"], False)):
        [check] = check_conserved(MemoryTable(pa.table({"x": texts})), original, ["x"], slice(None))
        assert check.holds is same


def test_a_boolean_that_was_changed_is_found():
    original = MemoryTable(pa.table({"x": [True, False, None]}))
    for numbers, same in (([1.0, 0.0, None], True), ([0.0, 1.0, None], False), ([1.0, 0.0, 0.0], False)):
        [check] = check_conserved(MemoryTable(pa.table({"x": numbers})), original, ["x"], slice(None))
        assert check.holds is same

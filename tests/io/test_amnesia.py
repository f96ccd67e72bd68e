"""Hierarchies in the files that Amnesia saves are read as they are."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from kohort.errors import InputError
from kohort.io.hierarchies import read_hierarchy
from kohort.io.tables import write_table

EDUCATION = """\
distinct
name education
type string
height 3

School has Preschool 1st-4th\x20
University has Bachelors Masters\x20

Any has School University NaN\x20
"""

AGES = """\
range
name age
type int
height 3

0.0,20.0 has 0.0,10.0 10.0,20.0\x20
20.0,40.0 has 20.0,30.0 30.0,40.0\x20

0.0,40.0 has 0.0,20.0 20.0,40.0\x20
"""

DATES = """\
range
name admitted
type date
height 3

2020 has 1/2020,6/2020 7/2020,12/2020\x20
2021 has 1/1/2021,30/6/2021 1/7/2021,31/12/2021\x20

2020,2021 has 2020 2021 null,null\x20
"""


@pytest.fixture
def saved(tmp_path):
    """Writes a hierarchy to a file."""

    def save(text: str, name: str = "hierarchy.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return save


def published(values, hierarchy, k=2, **options):
    table = pa.table({"column": values})
    asked = {"quasi_identifiers": {"column": hierarchy}, "privacy": [ko.KAnonymity(k)], "shuffle": False}
    return ko.anonymize(table, **asked, **options).table["column"].to_pylist()


@pytest.mark.parametrize("text", [EDUCATION, EDUCATION.replace("\n", "\r\n")], ids=["unix", "windows"])
def test_a_hierarchy_over_values_is_a_tree(saved, text):
    read = read_hierarchy(saved(text))
    assert read.hierarchy is not None and not read.findings.errors
    assert set(read.hierarchy.leaves) == {"Preschool", "1st-4th", "Bachelors", "Masters", None}
    values = ["Preschool", "1st-4th", "Masters", "Masters", None, None]
    assert published(values, saved(text)) == ["School", "School", "Masters", "Masters", None, None]


def test_whole_numbers_are_read_without_their_decimal(saved):
    text = "distinct\nname age\ntype int\nheight 2\n\n17.5 has 17.0 18.0 \n"
    assert set(read_hierarchy(saved(text)).leaves) == {"17", "18"}
    assert published([17, 18], saved(text)) == ["17.5", "17.5"]


def test_ranges_of_numbers_take_the_values_of_a_column(saved):
    path = saved(AGES)
    assert published([3, 9, 10, 19, 20, 40], path) == ["[0, 10)"] * 2 + ["[10, 20)"] * 2 + ["[20, 40]"] * 2
    assert published([3, 12, 33, 40], path, k=4) == ["*"] * 4


def test_ranges_with_gaps_keep_both_ends(saved):
    text = "range\nname n\ntype int\nheight 2\n\n0,9 has 0,4 5,9\n"
    assert published([0, 4, 5, 9], saved(text)) == ["[0, 4]"] * 2 + ["[5, 9]"] * 2


def test_ranges_of_dates_are_days(saved):
    days = ["2020-01-01", "2020-06-30", "2020-07-01", "2020-12-31", "2021-03-01", "2021-12-31"]
    halves = ["[2020-01-01, 2020-06-30]"] * 2 + ["[2020-07-01, 2020-12-31]"] * 2
    assert published(days, saved(DATES)) == halves + ["[2021-01-01, 2021-12-31]"] * 2


def test_a_value_outside_all_ranges_is_missing_from_the_hierarchy(saved):
    with pytest.raises(InputError, match=r"1 value is missing from it .*on_missing: suppress"):
        published([3, 4, 41], saved(AGES))
    assert published([3, 4, 41, 42], saved(AGES), on_missing="suppress") == ["[0, 10)"] * 2 + ["*"] * 2


def test_a_release_is_verified_against_such_a_file(saved, tmp_path):
    path = saved(AGES)
    spec = {"attributes": {"age": {"role": "quasi-identifier", "hierarchy": str(path)}}, "privacy": {"k": 2}}
    people = pa.table({"age": [3, 9, 33, 38]})
    release = ko.anonymize(people, spec=spec | {"shuffle": False})
    assert ko.verify(release.table, spec=spec, original=people).holds
    wrong = pa.table({"age": ["[20, 30)", *release.table["age"].to_pylist()[1:]]})
    assert not ko.verify(wrong, spec=spec, original=people).holds


def test_the_command_line_shows_and_checks_it(saved, tmp_path):
    path = saved(AGES)
    write_table(pa.table({"age": [3, 9, 33, 50]}), tmp_path / "people.csv")
    drawn = run("hierarchy", "show", path, "--depth", "1")
    assert drawn.exit == 0 and "[20, 40]" in drawn.out
    data = ("--data", tmp_path / "people.csv", "--column", "age")
    assert "[0, 20) (2 leaves, 2 records)" in run("hierarchy", "show", path, *data).out
    checked = run("hierarchy", "check", path, *data)
    assert checked.exit == 2 and "1 value is missing from it (1 record" in checked.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (AGES.replace("0.0,10.0 10.0", "0.0,12.0 10.0"), "overlap"),
        (AGES.replace("0.0,10.0 ", "young "), r"two numbers such as 0,10\. Got 'young'"),
        (DATES.replace("1/2020,", "13/2020,"), "dates such as"),
        (EDUCATION.replace("School has", "Primary school has"), "line 6: expected `parent has child"),
        ("range\nname n\ntype int\nheight 2\n\n\n", "has no ranges"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(saved, text, message):
    with pytest.raises(InputError, match=message):
        read_hierarchy(saved(text))


def test_ranges_of_another_column_are_refused(saved):
    with pytest.raises(InputError, match="none of its values lies in a range"):
        published([100, 200], saved(AGES))
    with pytest.raises(InputError, match="holds string values"):
        published(["a", "b"], saved(AGES))


def test_a_leaf_first_file_that_begins_alike_is_no_such_file(saved):
    read = read_hierarchy(saved("distinct;*\nname;*\n"))
    assert set(read.leaves) == {"distinct", "name"}

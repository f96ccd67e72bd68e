"""The shortest calls from Python: names in a list, `k=`, and files written by `to_csv` and `to_parquet`."""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
from frames import PLAIN, as_lists
from kohort.errors import InputError, UnsupportedError

PEOPLE = {
    "age": [21, 22, 41, 42],
    "town": ["Ayr", "Ayr", "Ely", "Ely"],
    "illness": ["flu", "cold", "flu", "cough"],
}


def released(**asked):
    asked = {"quasi_identifiers": ["age", "town"], "sensitive": ["illness"], "k": 2} | asked
    return ko.anonymize(pa.table(PEOPLE), **asked)


# -- names and k -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_a_list_of_names_and_k_are_enough(make):
    table = make(PEOPLE)
    release = ko.anonymize(table, quasi_identifiers=["age", "town"], sensitive="illness", k=2, shuffle=False)
    assert type(release.table) is type(table)
    assert as_lists(release.table)["age"] == ["[21, 22]", "[21, 22]", "[41, 42]", "[41, 42]"]
    assert as_lists(release.table)["town"] == PEOPLE["town"]


def test_k_is_short_for_k_anonymity_and_goes_with_other_models():
    diverse = ko.LDiversity("illness", 2, kind="distinct")
    short, long = released(privacy=diverse), released(k=None, privacy=[ko.KAnonymity(2), diverse])
    assert [model.to_dict() for model in short.verdict.models] == [m.to_dict() for m in long.verdict.models]
    assert short.table.equals(long.table)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"k": None, "privacy": 5}, r"Write k=5 or privacy=\[ko.KAnonymity\(5\)\]"),
        ({"k": None, "privacy": {"k": 5}}, "which k=10 is short for"),
        ({"k": None, "privacy": "5"}, "which k=10 is short for"),
        ({"k": None}, "Say what is promised, such as k=10"),
        ({"privacy": [ko.KAnonymity(2)]}, "k is given twice"),
        ({"k": "2"}, "must be an integer"),
        ({"k": True}, "must be an integer"),
        ({"quasi_identifiers": ["age", "twon"]}, "Did you mean 'town'"),
        ({"progress": 3}, "'progress' must be True, False, or a function"),
    ],
)
def test_wrong_calls_say_what_to_write(asked, says):
    with pytest.raises(InputError, match=says):
        released(**asked)


def test_k_beside_a_spec_is_refused():
    spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "others": "drop", "privacy": {"k": 2}}
    with pytest.raises(InputError, match="leave out k"):
        ko.anonymize(pa.table(PEOPLE), spec=spec, k=2)


# -- which hierarchies a list gets -----------------------------------------------------------------


def codes():
    return pa.table({"postcode": [f"A{4310 + n}" for n in range(40)]})


def test_codes_in_a_list_are_masked_and_a_note_says_so():
    release = ko.anonymize(codes(), quasi_identifiers=["postcode"], k=10)
    assert sorted(set(release.table["postcode"].to_pylist())) == ["A431*", "A432*", "A433*", "A434*"]
    assert "Column 'postcode' holds codes" in release.notes[0]
    assert "43" not in release.notes[0]
    same = ko.anonymize(codes(), quasi_identifiers={"postcode": ko.mask()}, k=10)
    assert same.table.equals(release.table) and not any("holds codes" in note for note in same.notes)


def test_a_mapping_to_none_says_that_codes_have_no_hierarchy():
    release = ko.anonymize(codes(), quasi_identifiers={"postcode": None}, k=10)
    assert set(release.table["postcode"].to_pylist()) == {"*"}


def test_codes_whose_order_is_given_are_intervals():
    values = codes()["postcode"].to_pylist()
    release = ko.anonymize(codes(), quasi_identifiers=["postcode"], orders={"postcode": values}, k=10)
    assert "[A4310, A4319]" in release.table["postcode"].to_pylist()
    assert not any("holds codes" in note for note in release.notes)


# -- files -----------------------------------------------------------------------------------------


def test_to_csv_and_to_parquet_write_the_published_table(tmp_path):
    release = released()
    release.to_csv(tmp_path / "release.csv")
    release.to_csv(str(tmp_path / "release.csv.gz"))
    release.to_parquet(tmp_path / "release.parquet")
    for name in ("release.csv", "release.csv.gz"):
        assert pl.read_csv(tmp_path / name).to_dict(as_series=False) == release.table.to_pydict()
    assert pq.read_table(tmp_path / "release.parquet").to_pydict() == release.table.to_pydict()


@pytest.mark.parametrize(
    ("method", "name", "error", "says"),
    [
        ("to_csv", "release.parquet", InputError, r"to_csv writes files that end in \.csv"),
        ("to_parquet", "release.csv", InputError, r"end in \.parquet.*release\.write"),
        ("to_csv", "release", UnsupportedError, "unknown extension"),
        ("to_csv", "nowhere/release.csv", InputError, "does not exist"),
    ],
)
def test_other_endings_and_folders_are_refused_and_nothing_is_written(tmp_path, method, name, error, says):
    with pytest.raises(error, match=says):
        getattr(released(), method)(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_to_csv_never_replaces_what_was_read(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,town\n21,Ayr\n22,Ayr\n41,Ely\n42,Ely\n")
    before = path.read_bytes()
    release = ko.anonymize(path, quasi_identifiers=["age", "town"], k=2)
    with pytest.raises(InputError, match="this run reads"):
        release.to_csv(path)
    assert path.read_bytes() == before


def test_baskets_are_written_by_write(tmp_path):
    path = tmp_path / "baskets.txt"
    path.write_text("a b\na b\na c\na c\n")
    spec = {"items": {"separator": " "}, "privacy": {"k": 2, "m": 1}}
    release = ko.anonymize(path, spec=spec)
    with pytest.raises(InputError, match=r"release\.write"):
        release.to_csv(tmp_path / "release.csv")

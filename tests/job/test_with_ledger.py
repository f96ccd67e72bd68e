"""What is refused beside a ledger: promises and treatments that its check over all releases does not know."""

import pyarrow as pa
import pytest

import kohort as ko
from kohort.io.ledger_file import read_ledger

PEOPLE = pa.table(
    {
        "name": [f"p{number}" for number in range(12)],
        "age": [20 + number for number in range(12)],
        "pay": [100 * number for number in range(12)],
        "illness": ["flu", "cold", "gout"] * 4,
    }
)
ASKED = {
    "quasi_identifiers": {"age": ko.intervals(5, 10)},
    "sensitive": ["illness"],
    "insensitive": ["pay"],
    "person": "name",
    "key": b"a secret of at least 16 bytes",
}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"privacy": [ko.RiskLimit(0.3)]}, "Ask for k: 4 instead"),
        ({"privacy": [ko.KAnonymity(2), ko.KnownColumns(2, 1)]}, "known-columns"),
        ({"privacy": [ko.KAnonymity(2), ko.BetaLikeness("illness", 1)]}, "beta-likeness"),
        ({"k": 2, "sample": 0.5}, "a sample of the records"),
        ({"k": 2, "insensitive": {"pay": ko.Noise(0.1)}}, "treatments that change values"),
    ],
)
def test_what_several_releases_are_not_checked_for_is_refused(tmp_path, asked, words):
    with pytest.raises(ko.UnsupportedError, match=words):
        ko.anonymize(PEOPLE, ledger=tmp_path / "people.ledger", **{**ASKED, **asked})
    assert not list(tmp_path.iterdir())


def named(names):
    """The people with these names, in the order given."""
    return PEOPLE.set_column(0, "name", pa.array(names))


def test_whole_numbers_name_the_same_people_however_they_are_written(tmp_path):
    ledger = tmp_path / "people.ledger"
    spellings = [str(n) for n in range(12)], [f"{n}.0" for n in range(12)], list(range(12))
    for number, names in enumerate(spellings):
        release = ko.anonymize(named(names), k=2, ledger=ledger, **ASKED)
        release.write(tmp_path / f"{number}.csv")
    told = read_ledger(ledger, ASKED["key"]).entries
    assert [len(entry.people) for entry in told] == [12, 0, 0]


def test_two_spellings_in_one_table_are_refused(tmp_path):
    names = ["1", "1.0", *(f"p{n}" for n in range(10))]
    with pytest.raises(ko.InputError, match="Write them in one way"):
        ko.anonymize(named(names), k=2, ledger=tmp_path / "people.ledger", **ASKED)

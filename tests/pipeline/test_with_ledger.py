"""What is refused beside a ledger: promises and treatments that its check over all releases does not know."""

import pyarrow as pa
import pytest

import kohort as ko

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

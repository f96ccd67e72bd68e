"""Certificates: their schema, and every claim found anew in the file."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import kohort as ko
from kohort.io.certificate import Certificate, certificate_schema, read_certificate
from kohort.io.verify_certificate import (
    check_claims,
    check_original_file,
    check_release_files,
    verify_certified,
)
from kohort.tables.memory import MemoryTable
from report.kinds import KINDS, release, release_of

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

STATED = {  # without spec and original
    *(
        "version",
        "checks",
        "cost",
        "labels",
        "algorithm",
        "parameters",
        "roles",
        "suppression",
        "order",
        "loss",
    ),
    *("guarantee", "evidence", "items", "unweighted_loss", "cautions of who made it"),
}
SCHEMA = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


def certified(made, folder):
    made.certificate(folder / "c.json")
    return read_certificate(folder / "c.json")


def test_the_schema_of_the_documentation_is_that_of_the_code():
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == certificate_schema(), "Run docs/generate.py."
    jsonschema.Draft202012Validator.check_schema(certificate_schema())


@pytest.mark.parametrize("kind", KINDS)
def test_every_certificate_fits_the_schema_and_says_no_more(kind):
    facts = release_of(kind).facts()
    jsonschema.validate(facts, certificate_schema())
    read = Certificate.model_validate(facts)
    for part in (read, read.sha256, read.items, *read.models, *read.checks, *read.cautions):
        assert part is None or not part.model_extra


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kohort": "profile"}, "kohort"),
        ({"records": -1}, "records"),
        ({"models": []}, "models"),
        ({"sha256": {"input": "no hash", "output": None}}, "sha256.input"),
        ({"roles": {"age": "king"}}, "roles.age"),
    ],
)
def test_what_is_no_certificate_is_refused_by_both(change, words, tmp_path):
    facts = release_of("plain").facts() | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(facts, certificate_schema())
    (tmp_path / "c.json").write_text(json.dumps(facts))
    with pytest.raises(ko.InputError, match=f"not a certificate of a release: {words}"):
        read_certificate(tmp_path / "c.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"kohort": "release"}'])
def test_other_files_are_no_certificates(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ko.InputError, match="certificate"):
        read_certificate(tmp_path / "c.json")


def test_a_certificate_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(ko.InputError, match="cannot be read"):
        read_certificate(tmp_path / "nothing.json")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "baskets" not in kind])
def test_every_claim_of_a_certificate_is_found_in_the_release(kind, tmp_path):
    made = release_of(kind)
    certificate, published = certified(made, tmp_path), MemoryTable(made.arrow)
    found = verify_certified(published, certificate)
    claims = check_claims(certificate, found, published.names)
    names = {claim.claim for claim in claims}
    assert {"records", "suppressed", "classes", "smallest_class", "columns", "k-anonymity"} <= names
    for claim in claims:
        assert claim.holds is True or claim.claim in STATED, claim


CHANGES = {
    "records": 81,
    "suppressed": 3,
    "classes": 999,
    "smallest_class": 5000,
    "roles": {"age": "quasi-identifier", "animal": "quasi-identifier", "sex": "quasi-identifier"},
}


@pytest.mark.parametrize("key", CHANGES)
def test_a_false_claim_is_noticed(key, tmp_path):
    made = release_of("plain")
    honest, published = certified(made, tmp_path), MemoryTable(made.arrow)
    false = honest.model_copy(update={key: CHANGES[key]})
    claims = check_claims(false, verify_certified(published, false), published.names)
    name = {"roles": "columns", "records": "suppressed"}.get(key, key)  # one record more: one was left out
    assert name in [claim.claim for claim in claims if claim.holds is False]


def test_a_release_that_was_changed_is_noticed(tmp_path):
    made = release_of("plain")
    certificate = certified(made, tmp_path)
    ages = made.arrow["age"].to_pylist()
    changed = made.arrow.set_column(0, "age", pa.array(["[0, 999]", *ages[1:]]))
    published = MemoryTable(changed)
    claims = check_claims(certificate, verify_certified(published, certificate), published.names)
    broken = [claim.claim for claim in claims if claim.holds is False]
    assert "k-anonymity" in broken and "smallest_class" in broken


def test_records_left_out_are_counted(tmp_path):
    made = release_of("some left out")
    certificate, published = certified(made, tmp_path), MemoryTable(made.arrow)
    assert published.n_records == certificate.records - certificate.suppressed
    one_less = MemoryTable(made.arrow.slice(1))
    claims = check_claims(certificate, verify_certified(one_less, certificate), one_less.names)
    assert any(claim.holds is False for claim in claims)


def test_a_distance_that_only_the_spec_knows_is_not_checked(tmp_path):
    asked = [ko.KAnonymity(4), ko.TCloseness("illness", 0.9, distance="ordered")]
    made = release(privacy=asked, orders={"illness": ["cough", "cold", "flu"]})
    certificate, published = certified(made, tmp_path), MemoryTable(made.arrow)
    claims = check_claims(certificate, verify_certified(published, certificate), published.names)
    assert [c.holds for c in claims if c.claim.startswith("t-closeness")] == [None]
    assert [c.holds for c in claims if c.claim == "k-anonymity"] == [True]


def test_items_need_the_spec(tmp_path):
    made = release_of("baskets")
    with pytest.raises(ko.InputError, match="Give --spec"):
        verify_certified(MemoryTable(made.arrow), certified(made, tmp_path))


def with_files(made, *, salt=None, **sha256):
    return Certificate.model_validate(made.facts(sha256=sha256, salt=salt))


def test_hashes_are_compared():
    known = with_files(release_of("plain"), output="a" * 64)
    assert [claim.holds for claim in check_release_files(known, ["a" * 64])] == [True]
    assert [claim.holds for claim in check_release_files(known, ["b" * 64])] == [False]
    unnamed = check_release_files(with_files(release_of("plain")), ["a" * 64])
    assert [claim.holds for claim in unnamed] == [None]


def test_an_original_is_compared_by_its_commitment():
    salt, other = b"s" * 32, b"t" * 32
    committed = with_files(release_of("plain"), input="a" * 64, salt=salt)
    assert committed.sha256.input is None and "a" * 64 not in committed.model_dump_json()
    assert check_original_file(committed, "a" * 64, salt).holds is True
    for found, tried in (("b" * 64, salt), ("a" * 64, other)):
        assert check_original_file(committed, found, tried).holds is False
    for found, tried in ((None, salt), ("a" * 64, None), (None, None)):
        assert check_original_file(committed, found, tried).holds is None
    nothing = check_original_file(with_files(release_of("plain"), input="a" * 64), "a" * 64, salt)
    assert nothing.holds is None and nothing.found is None

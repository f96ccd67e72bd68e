"""Certificates on the command line: signed, checked, and every forgery answered with exit 1."""

import json
import os
from pathlib import Path

import pytest

from cli.running import run
from cli.test_anonymize_command import SECRET, anonymize, folder

__all__ = ["folder"]


@pytest.fixture
def signed(folder, monkeypatch):
    monkeypatch.delenv("KOHORT_SIGN_PASSWORD", raising=False)
    assert run("key", "key.pem").exit == 0
    result = anonymize("--certificate", "c.json", "--sign", "key.pem")
    assert result.exit == 0, result.err
    assert "c.json.sig" in result.out
    return folder


def verify(*more):
    return run("verify", "release.csv", "--certificate", "c.json", "--json", *more)


def claims(result):
    return {claim["claim"]: claim["holds"] for claim in json.loads(result.out)["claims"]}


def test_a_signed_certificate_needs_no_spec(signed):
    result = verify("--public-key", "key.pem.pub")
    assert result.exit == 0, result.err
    found = claims(result)
    assert found["signature"] is found["sha256 of the release"] is found["k-anonymity"] is True
    assert found["sha256 of the original"] is found["loss"] is None


def test_with_spec_and_original_everything_is_checked(signed):
    result = verify("--public-key", "key.pem.pub", "--spec", "spec.yaml", "--original", "people.csv")
    assert result.exit == 0, result.err
    assert set(claims(result).values()) == {True}
    assert "loss discernibility" in claims(result)


def test_the_k_of_the_certificate_counts(folder):
    assert anonymize("--k", "7", "--certificate", "c.json").exit == 0
    result = verify("--spec", "spec.yaml", "--original", "people.csv")
    assert result.exit == 0, result.err
    assert claims(result)["k-anonymity"] is True
    assert json.loads(result.out)["models"][0]["asked"] == 7
    assert verify("--spec", "spec.yaml", "--k", "60").exit == 1


def test_people_are_shown_the_claims(signed):
    result = run("verify", "release.csv", "--certificate", "c.json", "--public-key", "key.pem.pub")
    assert "Every promise holds" in result.out and "The certificate says" in result.out
    assert SECRET not in result.out


def broken(result, *words):
    assert result.exit == 1
    for word in words:
        assert word in result.err
    assert json.loads(result.out)["holds"] is False
    assert SECRET not in result.err + result.out


def forge(**changes):
    path = Path("c.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_changed_certificate_fails_its_signature(signed):
    forge(notes=["all is well"])
    broken(verify("--public-key", "key.pem.pub"), "signature", "changed after it was signed")
    assert verify().exit == 0  # nobody asked who signed it


def test_a_false_loss_is_found_out(signed):
    loss = json.loads(Path("c.json").read_text())["loss"]
    forge(loss=loss | {"loss": 0.0})
    result = verify("--spec", "spec.yaml", "--original", "people.csv")
    broken(result, "loss loss: the certificate says 0.0")


def test_another_release_is_found_out(signed):
    text = Path("release.csv").read_text()
    Path("release.csv").write_text(text + "\n".join(text.splitlines()[1:]) + "\n")
    broken(verify(), "sha256 of the release", "records")


def test_another_original_is_found_out(signed):
    Path("people.csv").write_text(Path("people.csv").read_text() + "\n")
    result = verify("--spec", "spec.yaml", "--original", "people.csv")
    broken(result, "sha256 of the original")


def test_a_missing_signature_is_found_out(signed):
    Path("c.json.sig").unlink()
    broken(verify("--public-key", "key.pem.pub"), "not signed")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["release.csv"], "--spec, or --certificate"),
        (["release.csv", "--spec", "spec.yaml", "--public-key", "key.pem.pub"], "--certificate, too"),
        (["release.csv", "--certificate", "c.json", "--k", "2"], "leave out --k"),
        (["release.csv", "--certificate", "spec.yaml"], "no JSON"),
        (["release.csv", "--certificate", "c.json", "--public-key", "key.pem"], "no public key"),
        (["people.csv", "--certificate", "nothing.json"], "cannot be read"),
    ],
)
def test_wrong_words_are_exit_2(signed, words, message):
    result = run("verify", *words)
    assert result.exit == 2 and message in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sign", "key.pem"], "--certificate"),
        (["--certificate", "x.json", "--sign", "people.csv"], "no private key"),
        (["--report", "r.docx"], ".html or .pdf"),
        (["--report", "r.html", "--report-version", "secret"], "internal or public"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(signed, words, message):
    before = Path("release.csv").read_bytes()
    result = anonymize(*words)
    assert result.exit == 2 and message in result.err
    assert Path("release.csv").read_bytes() == before
    assert not Path("x.json").exists()


def test_keys_are_for_their_owner_and_never_replaced(signed):
    if os.name == "posix":
        assert Path("key.pem").stat().st_mode & 0o077 == 0
    before = Path("key.pem").read_bytes()
    result = run("key", "key.pem")
    assert result.exit == 2 and "there already" in result.err
    assert Path("key.pem").read_bytes() == before


def test_the_key_is_not_overwritten_by_an_output(signed):
    result = anonymize("--certificate", "key.pem", "--sign", "key.pem")
    assert result.exit == 2 and "what is read" in result.err


def test_reports_of_both_versions(folder):
    assert anonymize("--report", "r.html").exit == 0
    internal = Path("r.html").read_text()
    assert SECRET in internal and "kohort anonymize people.csv --spec spec.yaml --out release.csv" in internal
    assert "role: quasi-identifier" in internal
    assert anonymize("--report", "r.html", "--report-version", "public").exit == 0
    assert SECRET not in Path("r.html").read_text()

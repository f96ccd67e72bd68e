"""Certificates on the command line: signed, checked, and every forgery answered with exit 1."""

import hashlib
import hmac
import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

import kohort as ko
from cli.running import run
from cli.test_anonymize_command import SECRET, SPEC, anonymize, folder

pytest.importorskip("cryptography", reason="kohort[sign] is not installed")

__all__ = ["folder"]


@pytest.fixture
def signed(folder, monkeypatch):
    monkeypatch.delenv("KOHORT_SIGN_PASSWORD", raising=False)
    assert run("key", "key.pem").exit == 0
    result = anonymize("--certificate", "c.json", "--sign", "key.pem", "--salt", "salt")
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
    assert found["commitment to the original"] is found["loss"] is None


def test_with_spec_and_original_everything_is_checked(signed):
    all_of_it = ("--spec", "spec.yaml", "--original", "people.csv", "--salt", "salt")
    result = verify("--public-key", "key.pem.pub", *all_of_it)
    assert result.exit == 0, result.err
    found = claims(result)
    assert {name for name, holds in found.items() if holds is not True} == {
        "version",
        "algorithm",
        "parameters",
    }
    assert "loss discernibility" in found


def test_a_certificate_of_before_the_risk_was_stated_still_verifies(folder):
    assert anonymize("--certificate", "c.json").exit == 0
    facts = json.loads(Path("c.json").read_text(encoding="utf-8"))
    del facts["risk"]
    Path("c.json").write_text(json.dumps(facts), encoding="utf-8")
    result = verify()
    assert result.exit == 0, result.err
    assert claims(result)["k-anonymity"] is True


def test_the_k_of_the_certificate_counts(folder):
    assert anonymize("--k", "7", "--certificate", "c.json").exit == 0
    result = verify("--spec", "spec.yaml", "--original", "people.csv")
    assert result.exit == 0, result.err
    assert claims(result)["k-anonymity"] is True
    assert json.loads(result.out)["models"][0]["asked"] == 7
    assert verify("--spec", "spec.yaml", "--k", "60").exit == 1


def test_people_are_shown_the_claims(signed):
    result = run("verify", "release.csv", "--certificate", "c.json", "--public-key", "key.pem.pub")
    assert (
        "Every promise holds, but not everything is protected" in result.out
        and "Of what the certificate says" in result.out
    )
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
    forge(version="all is well")
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
    given = ("--spec", "spec.yaml", "--original", "people.csv")
    broken(verify(*given, "--salt", "salt"), "commitment to the original")
    result = verify(*given)
    assert result.exit == 0 and claims(result)["commitment to the original"] is None


def test_a_missing_signature_is_found_out(signed):
    Path("c.json.sig").unlink()
    broken(verify("--public-key", "key.pem.pub"), "not signed")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["release.csv"], "--spec, --certificate, or both"),
        (["release.csv", "--spec", "spec.yaml", "--public-key", "key.pem.pub"], "--certificate as well"),
        (["release.csv", "--certificate", "c.json", "--k", "2"], "leave out --k"),
        (["release.csv", "--certificate", "spec.yaml"], "not JSON"),
        (["release.csv", "--certificate", "c.json", "--public-key", "key.pem"], "not a public key"),
        (["people.csv", "--certificate", "nothing.json"], "cannot be read"),
        (["release.csv", "--certificate", "c.json", "--salt", "salt"], "--original"),
        (
            ["release.csv", "--spec", "spec.yaml", "--original", "people.csv", "--salt", "salt"],
            "--certificate",
        ),
        (
            ["release.csv", "--certificate", "c.json", "--original", "people.csv", "--salt", "spec.yaml"],
            "does not hold a salt",
        ),
    ],
)
def test_wrong_words_are_exit_2(signed, words, message):
    result = run("verify", *words)
    assert result.exit == 2 and message in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sign", "key.pem"], "--certificate"),
        (["--certificate", "x.json", "--sign", "people.csv"], "not a private key"),
        (["--report", "r.docx"], ".html or .pdf"),
        (["--salt", "people.csv"], "does not hold a salt"),
        (["--salt", "nowhere/salt"], "does not exist"),
        (["--salt", "x.json", "--certificate", "x.json"], "the same name"),
        (["--salt", "salt", "--certificate", "salt"], "this run reads"),
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
    assert result.exit == 2 and "already exists" in result.err
    assert Path("key.pem").read_bytes() == before


def test_the_key_is_not_overwritten_by_an_output(signed):
    result = anonymize("--certificate", "key.pem", "--sign", "key.pem")
    assert result.exit == 2 and "this run reads" in result.err


def test_reports_of_both_versions(folder):
    assert anonymize("--report", "r.html").exit == 0
    internal = Path("r.html").read_text()
    assert SECRET in internal and "kohort anonymize people.csv --spec spec.yaml --out release.csv" in internal
    assert "role: quasi-identifier" in internal
    assert anonymize("--report", "r.html", "--report-version", "public").exit == 0
    assert SECRET not in Path("r.html").read_text()


# -- the original is committed to, never hashed in public ------------------------------------------


def hash_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_public_files_do_not_let_guesses_of_the_original_be_tested(folder):
    public = ("--certificate", "c.json", "--report", "r.html", "--report-version", "public")
    for more in ((), ("--salt", "salt")):
        printed = anonymize(*public, *more, "--json").out
        assert hash_of("release.csv") in printed
        for text in (printed, Path("c.json").read_text(), Path("r.html").read_text()):
            assert hash_of("people.csv") not in text
            assert json.loads(printed)["sha256"]["input"] is None
    assert verify("--spec", "spec.yaml", "--original", "people.csv").out.count(hash_of("people.csv")) == 0
    assert anonymize("--report", "r.html").exit == 0
    assert hash_of("people.csv") in Path("r.html").read_text()  # the internal version is not for the public


def test_the_commitment_is_an_hmac_that_the_salt_opens(folder):
    assert anonymize("--certificate", "c.json", "--salt", "salt").exit == 0
    salt = bytes.fromhex(Path("salt").read_text())
    assert len(salt) == 32
    found = hmac.new(salt, hash_of("people.csv").encode(), hashlib.sha256).hexdigest()
    assert json.loads(Path("c.json").read_text())["commitment"] == found
    result = verify("--original", "people.csv", "--salt", "salt")
    assert claims(result)["commitment to the original"] is True
    Path("other").write_text("00" * 32)
    broken(verify("--original", "people.csv", "--salt", "other"), "commitment to the original")


def test_a_salt_is_for_its_owner_new_by_default_and_used_again(folder):
    commitments = []
    for name in ("one", "two", "one"):
        assert anonymize("--certificate", "c.json", "--salt", name).exit == 0
        commitments.append(json.loads(Path("c.json").read_text())["commitment"])
    assert commitments[0] == commitments[2] != commitments[1]
    if os.name == "posix":
        assert Path("one").stat().st_mode & 0o077 == 0
    assert Path("one").read_text().strip() not in Path("c.json").read_text()


OLD = Path(__file__).parents[1] / "io" / "of_0_1_0"


def test_documents_of_version_0_1_0_still_verify(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    words = ("release.csv", "--certificate", "certificate.json", "--json", "--spec", "spec.yaml")
    result = run("verify", *words, "--original", "people.csv")
    assert result.exit == 0, result.err
    assert claims(result)["sha256 of the original"] is True
    Path("people.csv").write_text(Path("people.csv").read_text() + "\n")
    broken(run("verify", *words, "--original", "people.csv"), "sha256 of the original")


# -- what is not protected -------------------------------------------------------------------------


def test_a_release_that_gives_a_value_away_is_amber_and_the_advice_makes_it_green(folder):
    result = anonymize("--certificate", "c.json")
    assert result.exit == 0 and "not everything is protected" in result.out
    assert "Safe to publish" not in result.out
    cautions = json.loads(Path("c.json").read_text())["cautions"]
    assert [(found["column"], found["kind"]) for found in cautions] == [("illness", "no-promise")]
    spec = yaml.safe_load(Path("spec.yaml").read_text())
    assert "diversity" not in spec["privacy"]
    spec["privacy"] |= cautions[0]["add"]["privacy"]
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    result = anonymize("--certificate", "c.json")
    assert result.exit == 0 and "Safe to publish as promised" in result.out
    assert json.loads(Path("c.json").read_text())["cautions"] == []
    result = run("verify", "release.csv", "--spec", "spec.yaml")
    assert "Every promise holds " in result.out and "not everything" not in result.out


# -- cells that begin like formulas ----------------------------------------------------------------


def formulas(choice):
    """A release of cells that begin like formulas, and what was said about them."""
    text = Path("people.csv").read_text().replace(f"{SECRET}-x", "=1+1").replace("illness", "=illness")
    Path("people.csv").write_text(text)
    spec = SPEC.replace("illness:", '"=illness":').replace("{k: 3}", "{k: 3}" + choice)
    Path("spec.yaml").write_text(spec)
    result = anonymize()
    assert result.exit == 0, result.err
    return Path("release.csv").read_text(), " ".join(result.err.split())


def test_cells_like_formulas_are_kept_and_noted(folder):
    text, said = formulas("")
    assert ",=1+1\n" in text and ",=illness\n" in text
    assert "16 published cells begin like a formula" in said and "Add formulas: escape to the spec" in said
    assert "'=illness'" in said


def test_cells_like_formulas_are_escaped_where_that_is_asked_for(folder):
    text, said = formulas("\nformulas: escape")
    assert ",'=1+1\n" in text and ",'=illness\n" in text and ",=" not in text
    assert "an apostrophe before each of them" in said
    result = run("verify", "release.csv", "--spec", "spec.yaml", "--original", "people.csv")
    assert result.exit == 0, result.err
    assert ko.verify("release.csv", spec="spec.yaml", original="people.csv").holds
    assert anonymize(out="release.parquet").exit == 0  # a format with types needs no escaping
    assert "=1+1" in pl.read_parquet("release.parquet")["=illness"].to_list()


def test_a_file_of_baskets_needs_its_spec_beside_the_certificate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("baskets.txt").write_text("a b\na b\na c\na c\nb c\nb c\n")
    Path("spec.yaml").write_text("items: {hierarchy: {fanout: 2, order: id}}\nprivacy: {k: 2, m: 2}\n")
    made = run("anonymize", "baskets.txt", "--spec", "spec.yaml", "--out", "r.txt", "--certificate", "c.json")
    assert made.exit == 0
    assert run("verify", "r.txt", "--certificate", "c.json", "--spec", "spec.yaml").exit == 0
    refused = run("verify", "r.txt", "--certificate", "c.json")
    assert refused.exit == 2
    assert "give --spec as well" in " ".join(refused.err.split())

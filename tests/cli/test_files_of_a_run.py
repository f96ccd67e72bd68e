"""What a command reads is never written, and what it writes appears together or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from cli.running import run
from kohort.io.formats import delimited
from kohort.io.private_files import read_salt
from kohort.job.public import commitment_to
from lossy_disk import losing_half

SPEC = """
attributes:
  name: {role: identifier}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  town: {role: quasi-identifier, hierarchy: towns.csv}
  illness: {role: sensitive}
privacy: {k: 3}
algorithm: full-domain
suppression: 0.5
"""
KEY = "a key that is long enough\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = {
        "name": [f"n{i}" for i in range(60)],
        "age": [20 + i % 40 for i in range(60)],
        "town": ["abc"[i % 3] for i in range(60)],
        "illness": ["xyzw"[i % 4] for i in range(60)],
    }
    pl.DataFrame(people).write_csv("people.csv")
    Path("spec.yaml").write_text(SPEC)
    Path("towns.csv").write_text("a;north;*\nb;north;*\nc;south;*\n")
    Path("key.txt").write_text(KEY)
    return tmp_path


def anonymize(*more, data="people.csv", out="release.csv"):
    return run("anonymize", data, "--spec", "spec.yaml", "--out", out, *more)


def contents() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def refused_unchanged(run_it, *words):
    """The command is refused with these words, and no file of the folder was changed, made or removed."""
    before = contents()
    result = run_it()
    assert result.exit == 2, result.err
    for word in words:
        assert word in result.err
    assert contents() == before
    assert not list(Path().rglob(".kohort*"))


# -- what is read is never written ---------------------------------------------------------------------


@pytest.mark.parametrize("read", ["people.csv", "spec.yaml", "towns.csv", "key.txt"])
@pytest.mark.parametrize("option", ["--out", "--certificate", "--maps", "--report"])
@pytest.mark.parametrize("linked", [False, True], ids=["named", "linked"])
def test_anonymize_writes_nothing_that_it_reads(folder, read, option, linked):
    path = Path(read)
    if linked or (option == "--report" or (option == "--out" and path.suffix != ".csv")):
        path = Path("link.html" if option == "--report" else "link.csv")
        path.symlink_to(read) if linked else os.link(read, path)
    more = ["--key-file", "key.txt", "--algorithm", "mondrian"]
    if option == "--out":
        refused_unchanged(lambda: anonymize(*more, out=path), "is a file that this run reads")
    else:
        refused_unchanged(lambda: anonymize(*more, option, path), "is a file that this run reads")


FORCED = pytest.mark.parametrize("forced", [[], ["--force"]], ids=["as it is", "forced"])


@FORCED
def test_the_hierarchies_folder_never_replaces_the_input(folder, forced):
    Path("people.csv").rename("age.csv")
    refused_unchanged(
        lambda: anonymize("--hierarchies", ".", *forced, data="age.csv"), "is a file that this run reads"
    )


@FORCED
def test_the_hierarchies_folder_never_replaces_a_hierarchy_of_the_spec(folder, forced):
    Path("towns.csv").rename("town.csv")
    Path("spec.yaml").write_text(SPEC.replace("towns.csv", "town.csv"))
    refused_unchanged(lambda: anonymize("--hierarchies", ".", *forced), "is a file that this run reads")


@FORCED
def test_the_hierarchies_folder_never_replaces_the_release(folder, forced):
    refused_unchanged(lambda: anonymize("--hierarchies", ".", *forced, out="age.csv"), "same name")


def test_files_of_the_user_in_the_hierarchies_folder_stay_unless_forced(folder):
    Path("labels").mkdir()
    Path("labels/age.csv").write_text("mine")
    refused_unchanged(
        lambda: anonymize("--hierarchies", "labels"), "labels/age.csv already exists", "--force"
    )
    assert anonymize("--hierarchies", "labels", "--force").exit == 0
    assert Path("labels/age.csv").read_text().startswith("20;")


def test_compare_and_frontier_write_nothing_that_they_read(folder):
    for command in ("compare", "frontier"):
        for option in ("--out", "--plot"):
            words = [command, "people.csv", "--spec", "spec.yaml", "--k", "3", "--out", "t.csv"]
            refused_unchanged(
                lambda w=words, o=option: run(*w, o, "towns.csv"), "is a file that this run reads"
            )


def test_compare_in_python_writes_nothing_that_it_reads(folder):
    import kohort as ko

    before = contents()
    for out in ("people.csv", "spec.yaml", "towns.csv"):
        for call in (ko.compare, ko.frontier):
            with pytest.raises(ko.InputError, match="is a file that this run reads"):
                call("people.csv", spec="spec.yaml", k=[3], out=out)
    assert contents() == before


@pytest.mark.parametrize("read", ["people.csv", "spec.yaml", "towns.csv"])
@pytest.mark.parametrize("write", ["certificate", "maps", "order_file", "report"])
def test_a_release_in_python_replaces_nothing_that_it_was_made_from(folder, monkeypatch, read, write):
    import kohort as ko

    release = ko.anonymize("people.csv", spec="spec.yaml")
    os.link(read, "link.html")
    Path("elsewhere").mkdir()
    before = contents()
    for place in (".", "elsewhere"):
        monkeypatch.chdir(folder / place)
        with pytest.raises(ko.InputError, match="is a file that this run reads"):
            getattr(release, write)(os.path.relpath(folder / "link.html"))
    monkeypatch.chdir(folder)
    assert contents() == before


def test_a_certificate_does_not_replace_the_key_that_signs_it(folder):
    import kohort as ko

    assert run("key", "office.pem").exit == 0
    before = contents()
    os.link("office.pem", "c.json.sig")
    for path in ("office.pem", "c.json"):
        with pytest.raises(ko.InputError, match="is a file that this run reads"):
            ko.anonymize("people.csv", spec="spec.yaml").certificate(path, sign="office.pem")
    Path("c.json.sig").unlink()
    assert contents() == before


def test_hierarchies_that_were_given_in_python_are_not_replaced(folder):
    import kohort as ko

    for source in ("towns.csv", Path("towns.csv"), {"file": "towns.csv"}):
        asked = {"quasi_identifiers": {"town": source}, "others": "drop", "privacy": [ko.KAnonymity(3)]}
        release = ko.anonymize("people.csv", **asked)
        for path in ("towns.csv", "people.csv"):
            with pytest.raises(ko.InputError, match="is a file that this run reads"):
                release.certificate(path)


def test_apply_writes_nothing_that_it_reads(folder):
    assert anonymize("--maps", "maps.json").exit == 0
    for out in ("people.csv", "maps.json", "key.txt"):
        os.link(out, "link.csv")
        words = ["apply", "maps.json", "people.csv", "--key-file", "key.txt", "--out", "link.csv"]
        refused_unchanged(lambda w=words: run(*w), "is a file that this run reads")
        Path("link.csv").unlink()


def test_verify_writes_nothing_that_it_reads(folder):
    assert anonymize().exit == 0
    words = ["verify", "release.csv", "--spec", "spec.yaml", "--violations", "towns.csv"]
    refused_unchanged(lambda: run(*words), "is a file that this run reads")


def test_init_and_hierarchy_build_notice_a_bad_output_before_they_read(folder):
    Path("loop.yaml").symlink_to("loop.yaml")
    for out, word in (("nowhere/s.yaml", "does not exist"), ("loop.yaml", "leads back to itself")):
        refused_unchanged(lambda o=out: run("init", "nobody.csv", "--out", o), word)
        refused_unchanged(lambda o=out: run("hierarchy", "build", "nobody.csv", "age", "--out", o), word)


# -- all or nothing ------------------------------------------------------------------------------------


def test_columns_with_like_names_get_files_of_their_own(folder):
    pl.DataFrame({"a/b": [1, 1, 2, 2], "a_b": ["x", "x", "y", "y"]}).write_csv("people.csv")
    attributes = "{a/b: {role: quasi-identifier, hierarchy: {intervals: [2]}}, a_b: {role: quasi-identifier}}"
    Path("spec.yaml").write_text(f"attributes: {attributes}\nprivacy: {{k: 2}}\nalgorithm: mondrian\n")
    assert anonymize("--hierarchies", "labels").exit == 0
    assert {path.name for path in Path("labels").iterdir()} == {"a_b.csv", "a_b-2.csv"}
    assert Path("labels/a_b.csv").read_text().startswith("1;")
    assert Path("labels/a_b-2.csv").read_text().startswith("x;")


@pytest.mark.parametrize(
    "place, word",
    [
        ("nowhere/labels", "nowhere does not exist"),
        ("people.csv", "people.csv is a file"),
        ("/proc/labels", "Could not write /proc/labels"),
    ],
)
def test_a_hierarchies_folder_that_cannot_be_made_is_noticed_before_the_work(folder, place, word):
    refused_unchanged(lambda: anonymize("--hierarchies", place, data="nobody.csv"), word)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_is_noticed_before_the_work(folder):
    refused_unchanged(lambda: anonymize(out="/proc/release.csv", data="nobody.csv"), "Could not write /proc")


def test_a_hierarchy_that_cannot_be_written_takes_the_release_with_it(folder):
    """An empty text and a missing value cannot be told apart in a hierarchy file."""
    pl.DataFrame({"age": [1, 1, 2, 2], "town": ["", "", "b", "b"]}).write_csv(
        "people.csv", quote_style="always"
    )
    attributes = (
        "{age: {role: quasi-identifier, hierarchy: {intervals: [2]}}, town: {role: quasi-identifier}}"
    )
    Path("spec.yaml").write_text(f"attributes: {attributes}\nprivacy: {{k: 2}}\nalgorithm: mondrian\n")
    refused_unchanged(lambda: anonymize("--hierarchies", "labels"), "empty text")
    assert not Path("labels").exists()


@pytest.mark.parametrize("lost", [".csv", ".json", ".html", ".sig", ".jsonl"])
def test_a_disk_that_loses_bytes_leaves_all_old_files(folder, monkeypatch, lost):
    assert run("key", "office.pem").exit == 0
    files = {"--certificate": "c.json", "--report": "r.html", "--maps": "maps.jsonl"}
    words = [word for pair in files.items() for word in pair] + [
        "--sign",
        "office.pem",
        "--hierarchies",
        "labels",
    ]
    for name in ("release.csv", *files.values()):
        Path(name).write_text("old")
    with monkeypatch.context() as patched:
        losing_half(patched, lost)
        refused_unchanged(lambda: anonymize(*words), "Could not write")
        assert ".kohort" not in anonymize(*words).err  # drafts have names that mean nothing to the user
    assert not Path("labels").exists()
    assert anonymize(*words).exit == 0


def test_what_was_written_before_a_failure_is_told(folder, monkeypatch):
    from kohort.cli import anonymize as command

    monkeypatch.setattr(command, "release_panel", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(os, "_exit", sys.exit)
    result = anonymize("--algorithm", "mondrian")
    assert result.exit == 130
    assert "Nothing was written" not in result.err
    assert "release.csv" in result.err


@pytest.mark.processes
def test_a_killed_run_leaves_nothing_that_others_can_read_or_that_stays(folder):
    program = (
        "import os, signal, sys\nfrom kohort.report import html\n"
        "html.write_report = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from kohort.cli.app import main\nmain()\n"
    )
    words = ["anonymize", "people.csv", "--spec", "spec.yaml", "--out", "release.csv", "--report", "r.html"]
    done = subprocess.run([sys.executable, "-c", program, *words])
    assert done.returncode == -signal.SIGKILL
    left = list(Path().glob(".kohort*"))
    assert any("illness" in path.read_text() for path in left)
    assert {stat.S_IMODE(path.stat().st_mode) for path in left} == {0o600}
    assert anonymize(out="other.csv").exit == 0
    assert not list(Path().glob(".kohort*"))


def test_a_key_is_for_its_owner_alone_and_replaces_nothing(folder):
    assert run("key", "office.pem").exit == 0
    assert stat.S_IMODE(Path("office.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path("office.pem.pub").stat().st_mode) != 0o600
    refused_unchanged(lambda: run("key", "office.pem"), "already exists")


def test_a_salt_that_another_run_made_meanwhile_stays(folder, monkeypatch):
    from kohort.cli import anonymize as command

    make = command.release_file

    def slow(*words, **options):
        Path("salt.txt").write_text("of another run")
        return make(*words, **options)

    monkeypatch.setattr(command, "release_file", slow)
    result = anonymize("--certificate", "c.json", "--salt", "salt.txt", "--force")
    assert result.exit == 2 and "salt.txt already exists" in result.err
    assert Path("salt.txt").read_text() == "of another run"
    assert not Path("release.csv").exists() and not Path("c.json").exists()


def test_the_demo_replaces_no_file_of_the_user(folder):
    for name in ("people.csv", "spec.yaml", "release.csv"):
        place = Path("demo", name)
        place.parent.mkdir(exist_ok=True)
        place.write_text("mine")
        before = contents()
        result = run("demo")
        assert result.exit == 2 and f"{place} already exists" in result.err
        assert contents() == before
        place.unlink()


# -- the bytes that were read --------------------------------------------------------------------------


def sha256(path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_the_certificate_names_the_table_that_was_read(folder, monkeypatch):
    pl.read_csv("people.csv").with_columns(age=pl.col("age") + 100).write_csv("other.csv")
    hashes = {sha256("people.csv"): False, sha256("other.csv"): True}
    detect = delimited.layout_of

    def late(*words, **options):
        if Path("other.csv").exists():  # the release is read back later
            Path("other.csv").replace("people.csv")
        return detect(*words, **options)

    monkeypatch.setattr(delimited, "layout_of", late)
    assert anonymize("--k", "1", "--certificate", "c.json", "--salt", "salt.txt").exit == 0
    published_other = "[100" in Path("release.csv").read_text() or "120" in Path("release.csv").read_text()
    salt, named = read_salt("salt.txt"), json.loads(Path("c.json").read_text())["commitment"]
    assert {commitment_to(digest, salt): other for digest, other in hashes.items()}[named] == published_other


def test_maps_and_report_name_the_spec_that_was_read(folder, monkeypatch):
    from kohort.cli import anonymize as command

    before, make = sha256("spec.yaml"), command.release_file

    def slow(*words, **options):
        Path("spec.yaml").write_text(SPEC + "# edited while it ran\n")
        return make(*words, **options)

    monkeypatch.setattr(command, "release_file", slow)
    assert anonymize("--maps", "maps.json", "--report", "r.html").exit == 0
    assert json.loads(Path("maps.json").read_text())["spec_sha256"] == before
    assert "edited while it ran" not in Path("r.html").read_text()


def test_verify_checks_the_signature_of_the_certificate_that_it_reads(folder, monkeypatch):
    """A forged certificate is read; before its signature is checked the signed one is put in its place."""
    from kohort.io import verify_certificate

    assert run("key", "office.pem").exit == 0
    assert anonymize("--certificate", "c.json", "--sign", "office.pem").exit == 0
    signed = Path("c.json").read_bytes()
    Path("c.json").write_text(json.dumps(json.loads(signed), indent=1))
    read_key = verify_certificate.read_public_key

    def late(path):
        Path("c.json").write_bytes(signed)
        return read_key(path)

    monkeypatch.setattr(verify_certificate, "read_public_key", late)
    result = run("verify", "release.csv", "--certificate", "c.json", "--public-key", "office.pem.pub")
    assert result.exit == 1
    assert "signature" in result.err


def test_compare_makes_every_release_by_the_same_hierarchies(folder, monkeypatch):
    from kohort.comparison import compare

    run_one = compare._run

    def late(job, *words):
        Path("towns.csv").write_text("nothing of the kind")
        return run_one(job, *words)

    monkeypatch.setattr(compare, "_run", late)
    words = ["compare", "people.csv", "--spec", "spec.yaml", "--algorithms", "mondrian", "--k", "3"]
    assert run(*words, "--out", "t.csv").exit == 0
    assert pl.read_csv("t.csv")["status"].to_list() == ["done"]


# -- raw values ----------------------------------------------------------------------------------------


def test_files_that_list_values_of_the_data_say_so(folder):
    result = anonymize("--hierarchies", "labels", "--maps", "maps.json")
    told = " ".join(result.err.split())
    assert "labels lists values as they are, not generalized: keep it with the original." in told
    assert "--hierarchy-levels above" in told
    assert "maps.json lists values as they are, not generalized: keep it with the original." in told
    plain = anonymize("--hierarchies", "others", "--hierarchy-levels", "above")
    assert "lists values" not in plain.err
    help_text = " ".join(run("anonymize", "--help-all").out.replace("│", " ").split())
    assert "They list values of the data" in help_text


def test_levels_above_the_leaves_hold_no_value_of_the_data(folder):
    Path("spec.yaml").write_text(SPEC.replace("{intervals: [5, 10, 20]}", "{intervals: [10, 20]}"))
    assert anonymize("--hierarchies", "labels", "--hierarchy-levels", "above").exit == 0
    assert Path("labels/town.csv").read_text() == "north;*\nsouth;*\n"
    ages = Path("labels/age.csv").read_text().splitlines()
    assert ages[0].split(";") == ["[20, 30)", "[20, 40)", "*"] and len(ages) == 4


def test_levels_are_refused_without_a_folder_and_by_another_name(folder):
    refused_unchanged(lambda: anonymize("--hierarchy-levels", "above"), "--hierarchies")
    refused_unchanged(
        lambda: anonymize("--hierarchies", "l", "--hierarchy-levels", "abve"), "Did you mean 'above'?"
    )

"""kohort anonymize as its users meet it: files in, a verified release out, every mistake answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from cli.running import run

SECRET = "Zyxwv"  # a recognisable cell: no message may show it

SPEC = """
attributes:
  name: {role: identifier}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  town: {role: quasi-identifier}
  illness: {role: sensitive}
privacy: {k: 3}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = {
        "name": [f"{SECRET}{i}" for i in range(60)],
        "age": [20 + i % 40 for i in range(60)],
        "town": [f"{SECRET}-{'abc'[i % 3]}" for i in range(60)],
        "illness": [f"{SECRET}-{'xyzw'[i % 4]}" for i in range(60)],
    }
    pl.DataFrame(people).write_csv("people.csv")
    Path("spec.yaml").write_text(SPEC)
    return tmp_path


def anonymize(*more, data="people.csv", spec="spec.yaml", out="release.csv"):
    return run("anonymize", data, "--spec", spec, "--out", out, *more)


def refused(result, code, *words):
    """The command failed as it should: this exit code, these words, no traceback, no cell, no file."""
    assert result.exit == code, result.err
    for word in words:
        assert word in result.err
    assert "Traceback" not in result.err
    assert SECRET not in result.err + result.out
    assert not Path("release.csv").exists()
    assert not list(Path().glob(".kohort*"))


def test_a_release_is_k_anonymous_by_an_independent_group_by(folder):
    result = anonymize("--certificate", "c.json", "--report", "r.html", "--shuffle", "false")
    assert result.exit == 0, result.err
    release = pl.read_csv("release.csv")
    assert release.columns == ["age", "town", "illness"]
    assert release.group_by("age", "town").len()["len"].min() >= 3
    people = pl.read_csv("people.csv")  # sorted, so that the release is in another order
    assert sorted(release["illness"]) == sorted(people["illness"])


def test_certificate_json_and_report_tell_the_same(folder):
    public = ("--report", "r.html", "--report-version", "public")
    result = anonymize("--certificate", "c.json", "--certificate-version", "internal", *public, "--json")
    certificate = json.loads(Path("c.json").read_text())
    assert json.loads(result.out) == certificate
    keys = (
        "records suppressed classes smallest_class models loss bound gap guarantee algorithm parameters seed"
    )
    for key in [*keys.split(), "seconds", "version", "sha256"]:
        assert key in certificate
    assert certificate["records"] == 60
    assert certificate["models"][0]["asked"] == 3
    assert certificate["models"][0]["holds"] is True
    assert certificate["sha256"]["output"] in Path("r.html").read_text()
    assert SECRET not in Path("c.json").read_text() + Path("r.html").read_text()


def test_flags_override_the_spec(folder):
    result = anonymize("--k", "5", "--cost", "ncp", "--seed", "7", "--algorithm", "mondrian", "--json")
    facts = json.loads(result.out)
    assert (facts["models"][0]["asked"], facts["cost"], facts["seed"]) == (5, "ncp", 7)
    assert facts["algorithm"] == "mondrian"


def test_quiet_prints_nothing(folder):
    result = anonymize("--quiet")
    assert (result.exit, result.out, result.err) == (0, "", "")


def test_k_1_is_allowed_and_says_that_it_protects_nobody(folder):
    result = anonymize("--k", "1")
    assert result.exit == 0
    assert "protects nobody" in result.out


@pytest.mark.parametrize("content", ["", "name,age,town,illness\n"], ids=["empty", "header only"])
def test_a_file_without_records_is_refused(folder, content):
    Path("people.csv").write_text(content)
    refused(anonymize(), 2, "people.csv")


def test_one_row_cannot_be_anonymous(folder):
    Path("people.csv").write_text(f"name,age,town,illness\n{SECRET},20,{SECRET},{SECRET}\n")
    refused(anonymize(), 1, "k = 3 is impossible", "at most 1")


def test_k_above_the_number_of_records_says_the_largest_k(folder):
    refused(anonymize("--k", "61"), 1, "k = 61 is impossible", "at most 60")


@pytest.mark.parametrize("k", ["0", "-3"])
def test_k_below_1_is_refused(folder, k):
    refused(anonymize("--k", k), 2, "k")


def test_an_unknown_column_is_refused_with_the_nearest(folder):
    Path("spec.yaml").write_text(SPEC.replace("  town:", "  twon:"))
    refused(anonymize(), 2, "'twon'", "Did you mean 'town'?")


def test_a_column_without_a_role_is_named(folder):
    Path("spec.yaml").write_text(SPEC.replace("  illness: {role: sensitive}\n", ""))
    refused(anonymize(), 2, "'illness'", "others: keep")


def test_duplicate_column_names_are_refused(folder):
    Path("people.csv").write_text("name,age,age,illness\na,1,2,b\n" * 1)
    refused(anonymize(), 2, "same text in several columns (2, 3)")
    refused(anonymize("--header"), 2, "'age'")


def test_values_missing_from_a_hierarchy_are_counted_not_shown(folder):
    Path("towns.csv").write_text(f"{SECRET}-a;north;*\n")
    Path("spec.yaml").write_text(
        SPEC.replace("town: {role: quasi-identifier}", "town: {role: quasi-identifier, hierarchy: towns.csv}")
    )
    result = anonymize()
    refused(result, 2, "'town'", "2 values", "40 records")


def test_a_hierarchy_with_a_cycle_is_refused(folder):
    Path("towns.csv").write_text("a,b\nb,c\nc,a\n")
    hierarchy = "town: {role: quasi-identifier, hierarchy: {pairs: towns.csv}}"
    Path("spec.yaml").write_text(SPEC.replace("town: {role: quasi-identifier}", hierarchy))
    refused(anonymize(), 2, "'town'", "ancestors")


def test_a_hierarchy_with_two_parents_is_refused(folder):
    Path("towns.csv").write_text("a;x;*\na;y;*\nb;x;*\n")
    hierarchy = "town: {role: quasi-identifier, hierarchy: towns.csv}"
    Path("spec.yaml").write_text(SPEC.replace("town: {role: quasi-identifier}", hierarchy))
    refused(anonymize(), 2, "'town'", "different ancestors")


def test_l_above_the_diversity_of_the_table_says_the_largest_l(folder):
    Path("spec.yaml").write_text(SPEC.replace("{k: 3}", "{k: 3, diversity: {attribute: illness, l: 9}}"))
    refused(anonymize(), 1, "l = 9", "at most 4")


def test_alpha_below_the_share_of_a_value_says_the_smallest_alpha(folder):
    alpha = f"{{attribute: illness, values: ['{SECRET}-x'], alpha: 0.1}}"
    Path("spec.yaml").write_text(SPEC.replace("{k: 3}", f"{{k: 3, alpha: {alpha}}}"))
    result = anonymize()
    assert result.exit == 1
    assert "0.25" in result.err
    assert not Path("release.csv").exists()


def test_a_missing_output_folder_is_refused_before_any_work(folder):
    refused(anonymize(out="nowhere/release.csv"), 2, "nowhere", "does not exist")


def test_an_unknown_format_is_refused_before_any_work(folder):
    refused(anonymize(out="release.xyz"), 2, "unknown extension")


def test_an_output_never_replaces_what_is_read(folder):
    before = Path("people.csv").read_bytes()
    assert anonymize(out="people.csv").exit == 2
    assert anonymize("--certificate", "spec.yaml").exit == 2
    assert Path("people.csv").read_bytes() == before
    assert Path("spec.yaml").read_text() == SPEC


def test_an_unreadable_encoding_is_refused(folder):
    Path("people.csv").write_bytes(b"name,age\n" + bytes(range(128, 256)) * 3 + b"\x00\x01,3\n")
    refused(anonymize(), 2, "encoding")


def test_an_encoding_that_does_not_fit_is_refused(folder):
    text = Path("people.csv").read_text().replace(f"{SECRET}-a", f"{SECRET}-é")
    Path("people.csv").write_text(text, encoding="latin-1")
    refused(anonymize("--encoding", "utf-8"), 2, "encoding")


def test_an_old_release_survives_a_failure(folder):
    Path("release.csv").write_text("old")
    assert anonymize("--k", "61").exit == 1
    assert Path("release.csv").read_text() == "old"


def test_missing_and_broken_files_are_refused(folder):
    refused(anonymize(data="nobody.csv"), 2, "does not exist")
    refused(anonymize(spec="nothing.yaml"), 2, "kohort init")
    Path("spec.yaml").write_text("attributes: [")
    refused(anonymize(), 2, "spec.yaml", "line")


def test_errors_are_json_when_json_is_asked_for(folder):
    result = anonymize("--k", "61", "--json")
    assert json.loads(result.out)["error"] == "InfeasibleError"
    assert result.exit == 1


def test_pseudonyms_need_a_key_and_never_leak_it(folder, monkeypatch):
    Path("spec.yaml").write_text(
        SPEC.replace("{role: identifier}", "{role: identifier, treatment: pseudonym}")
    )
    monkeypatch.delenv("KOHORT_KEY", raising=False)
    refused(anonymize(), 2, "key")
    Path("key.txt").write_text("a key that is long enough\n")
    result = anonymize("--key-file", "key.txt", "--certificate", "c.json", "--report", "r.html")
    assert result.exit == 0, result.err
    names = pl.read_csv("release.csv")["name"]
    assert names.n_unique() == 60
    written = Path("release.csv").read_text() + Path("c.json").read_text() + Path("r.html").read_text()
    assert "long enough" not in written
    assert f"{SECRET}1" not in Path("release.csv").read_text().replace(f"{SECRET}-", "")


@pytest.mark.parametrize(
    "ending", ["csv", "csv.gz", "tsv", "parquet", "arrow", "xlsx", "jsonl", "sav", "dta"]
)
def test_every_format_can_be_written_and_verified(folder, ending):
    out = f"release.{ending}"
    assert anonymize(out=out).exit == 0
    assert run("verify", out, "--spec", "spec.yaml").exit == 0


@pytest.mark.processes
def test_the_same_seed_gives_the_same_bytes_on_one_thread_and_two(folder):
    digests = set()
    for threads in ("1", "2", "2"):
        environment = os.environ | {"NUMBA_NUM_THREADS": threads}
        command = [
            "-m",
            "kohort",
            "anonymize",
            "people.csv",
            "--spec",
            "spec.yaml",
            "--out",
            "release.csv",
            "-q",
        ]
        subprocess.run([sys.executable, *command], env=environment, check=True)
        digests.add(Path("release.csv").read_bytes())
    assert len(digests) == 1


@pytest.mark.processes
def test_ctrl_c_leaves_nothing_behind(folder):
    rows = "\n".join(f"{SECRET}{i},{i % 90},t{i % 5000},x{i % 50}" for i in range(400_000))
    Path("people.csv").write_text("name,age,town,illness\n" + rows + "\n")
    command = [sys.executable, "-m", "kohort", "anonymize", "people.csv", "--spec", "spec.yaml"]
    process = subprocess.Popen(
        [*command, "--out", "release.csv"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Nothing was written" in stderr
    assert "Traceback" not in stderr
    assert SECRET not in stderr + stdout
    assert not Path("release.csv").exists()
    assert not list(Path().glob(".kohort*"))


@pytest.mark.processes
def test_a_full_disk_leaves_the_old_release(folder):
    Path("release.csv").write_text("old")
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)); "
        "from kohort.cli.app import main; main()"
    )
    words = ["anonymize", "people.csv", "--spec", "spec.yaml", "--out", "release.csv"]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", limited, *words], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2, done.stderr
    assert "Could not write" in done.stderr
    assert Path("release.csv").read_text() == "old"
    assert not list(Path().glob(".kohort*"))


@pytest.mark.filterwarnings("default::FutureWarning")
def test_a_warning_is_a_sentence_without_a_path(tmp_path):
    (tmp_path / "people.csv").write_text("age,ill\n30,a\n31,b\n32,a\n33,b\n")
    (tmp_path / "spec.yaml").write_text(
        "attributes: {age: {role: quasi-identifier}, ill: {role: sensitive}}\nprivacy: {k: 2}\n"
    )
    words = ("--spec", tmp_path / "spec.yaml", "--out", tmp_path / "out.csv", "--engine", "memory")
    result = run("anonymize", tmp_path / "people.csv", *words, "--quiet")
    assert result.exit == 0
    lines = result.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("Warning: engine: memory is no more and changes nothing")

"""Ledgers on the command line: releases one after the other, what is refused, and a kill in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import kohort as ko
from kohort.cli.app import main

SPEC = """
attributes:
  id: {role: person}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  sex: {role: quasi-identifier}
  ill: {role: sensitive}
privacy: {k: 4, diversity: {attribute: ill, l: 2}}
algorithm: mondrian
suppression: 0.2
"""
KEY = b"a secret of at least 16 bytes"


def people(numbers):
    """Some of a thousand people, always the same."""
    rng = np.random.default_rng(5)
    age, sex, ill = rng.integers(20, 80, 1000), rng.integers(0, 2, 1000), rng.integers(0, 4, 1000)
    chosen = np.array(list(numbers))
    return pa.table(
        {
            "id": chosen,
            "age": age[chosen],
            "sex": np.array(["f", "m"])[sex[chosen]],
            "ill": np.array(["cold", "cough", "flu", "gout"])[ill[chosen]],
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC)
    Path("key").write_bytes(KEY)
    for number, numbers in enumerate([range(100), range(8, 200), range(16, 300)], 1):
        pyarrow.csv.write_csv(people(numbers), f"{number}.csv")
    return tmp_path


def run(*words):
    """The exit code of a command."""
    arguments, sys.argv = sys.argv, ["kohort", *words]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    finally:
        sys.argv = arguments
    return 0


def publish(number, *more, key="key"):
    files = ["--out", f"r{number}.csv", "--order-file", f"o{number}.json", "--certificate", f"c{number}.json"]
    files += ["--certificate-version", "internal"]
    ledger = ["--ledger", "ledger", "--key-file", key]
    return run("anonymize", f"{number}.csv", "--spec", "spec.yaml", *files, *ledger, "--quiet", *more)


@pytest.fixture
def published(folder):
    assert [publish(number) for number in (1, 2)] == [0, 0]
    return folder


def test_releases_are_shown_without_a_cell_of_the_data(published, capsys):
    assert run("ledger", "show", "ledger", "--key-file", "key", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["people"] == 200 and [r["number"] for r in facts["releases"]] == [1, 2]
    assert [r["people"]["gone"] for r in facts["releases"]] == [0, 8]
    assert not any(word in Path("ledger").read_bytes() for word in (b"cough", b"gout"))
    assert Path("ledger").stat().st_mode & 0o777 == 0o600


def test_the_certificate_tells_of_all_releases(published):
    together = json.loads(Path("c2.json").read_text())["together"]
    assert together["release"] == 2 and together["candidates"] >= 4
    assert together["ratio"] == pytest.approx(ko_loss("c2.json") / together["alone"])


def ko_loss(path):
    return json.loads(Path(path).read_text())["loss"]["loss"]


def test_the_attack_finds_nobody(published, capsys):
    assert run("risk", "--ledger", "ledger", "--key-file", "key", "--json") == 0
    attacks = json.loads(capsys.readouterr().out)["attacks"]
    assert all(found["below_k"] == found["certain"] == 0 for found in attacks.values())
    assert attacks["by_following"]["highest_certainty"] <= 0.5


def test_the_next_release_is_attacked_before_it_is_made(published, capsys):
    words = ["risk", "3.csv", "--spec", "spec.yaml", "--ledger", "ledger", "--key-file", "key", "--json"]
    assert run(*words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["before"]["attacks"]["by_following"]["below_k"] > 0
    assert facts["after"]["attacks"]["by_following"]["below_k"] == 0


def test_the_releases_are_verified_with_their_files(published, capsys):
    more = ["--earlier", "r1.csv,1.csv,o1.json", "--ledger", "ledger", "--key-file", "key"]
    words = ["verify", "r2.csv", "--spec", "spec.yaml", "--original", "2.csv", "--order-file", "o2.json"]
    assert run(*words, *more, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["together"]["holds"] and all(check["holds"] for check in facts["together"]["checks"])


def test_a_release_that_was_changed_is_found(published, capsys):
    lines = Path("r1.csv").read_text().splitlines()
    lines[1], lines[2] = lines[2], lines[1]
    Path("r1.csv").write_text("\n".join(lines) + "\n")
    more = ["--earlier", "r1.csv,1.csv,o1.json", "--ledger", "ledger", "--key-file", "key"]
    assert run("verify", "r2.csv", "--spec", "spec.yaml", *more) == 1
    assert "file of release 1 is not the one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: [ids[-1], *ids[1:-1], ids[0]], "Somebody is not in the class of release 1"),
        (lambda ids: ids, None),
    ],
)
def test_another_original_is_found(published, capsys, change, message):
    table = pyarrow.csv.read_csv("1.csv")
    changed = table.set_column(0, "id", pa.array(change(table["id"].to_pylist())))
    pyarrow.csv.write_csv(changed, "1.csv")
    more = ["--earlier", "r1.csv,1.csv,o1.json", "--ledger", "ledger", "--key-file", "key"]
    assert run("verify", "r2.csv", "--spec", "spec.yaml", *more) == (0 if message is None else 1)
    assert message is None or message in capsys.readouterr().err


def test_a_place_that_is_passed_on_too_early_is_found(published):
    """The original of the second release is given with those who have left still in it."""
    second = pyarrow.csv.read_csv("2.csv")
    first = pyarrow.csv.read_csv("1.csv").slice(0, 8)
    pyarrow.csv.write_csv(pa.concat_tables([second, first]), "2.csv")
    words = {
        "spec": "spec.yaml",
        "original": "2.csv",
        "order_file": "o2.json",
        "ledger": "ledger",
        "key": KEY,
    }
    verdict = ko.verify("r2.csv", **words, earlier=[("r1.csv",)])
    assert any("a place was passed on although" in reason for reason in verdict.reasons())


def test_the_attack_in_python_is_that_of_the_command_line(published):
    facts = ko.attack_releases("ledger", key=KEY)
    assert facts["releases"] == 2 and facts["attacks"]["by_following"]["below_k"] == 0


def edited(change):
    """Rewrite the files inside the ledger."""
    with zipfile.ZipFile("ledger") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts = change(parts)
    with zipfile.ZipFile("ledger", "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)


def more_people(parts):
    facts = json.loads(parts["1/facts.json"]) | {"published": 7}
    return parts | {"1/facts.json": json.dumps(facts).encode()}


def without_the_first(parts):
    return {name: content for name, content in parts.items() if not name.startswith("1/")}


def swapped(parts):
    other = {"1": "2", "2": "1"}
    return {other.get(name[0], name[0]) + name[1:]: content for name, content in parts.items()}


def without_the_last(parts):
    head = json.loads(parts["head.json"])
    head |= {"releases": 1, "links": head["links"][:1]}
    kept = {name: content for name, content in parts.items() if not name.startswith("2/")}
    return kept | {"head.json": json.dumps(head).encode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (more_people, "what it says of release 1 does not fit the chain"),
        (without_the_first, "release 1 of 2 is missing"),
        (swapped, "release 2 stands where release 1 belongs"),
        (without_the_last, "its head does not fit its seal"),
    ],
)
def test_an_edited_ledger_is_refused(published, capsys, change, message):
    edited(change)
    refused(capsys, message, lambda: publish(3))


def refused(capsys, message, command):
    """A command that ends with exit code 2 and a message, and leaves every file as it was."""
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert command() == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_another_key_is_refused(published, capsys):
    Path("other").write_bytes(b"another secret, as long")
    refused(capsys, "made with another key", lambda: publish(3, key="other"))


def test_a_short_key_is_refused(published, capsys):
    Path("short").write_bytes(b"short")
    refused(capsys, "at least 16 bytes", lambda: publish(3, key="short"))


def test_another_column_of_persons_is_refused(published, capsys):
    Path("spec.yaml").write_text(SPEC.replace("id:", "name:"))
    table = pyarrow.csv.read_csv("3.csv").rename_columns(["name", "age", "sex", "ill"])
    pyarrow.csv.write_csv(table, "3.csv")
    refused(capsys, "knows people by the column 'id', and here 'name'", lambda: publish(3))


def test_a_spec_without_persons_is_refused(published, capsys):
    Path("spec.yaml").write_text(SPEC.replace("role: person", "role: identifier"))
    refused(capsys, "the role person", lambda: publish(3))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("k: 4", "k: 3", "promised k-anonymity with k = 4"),
        (", diversity: {attribute: ill, l: 2}", "", "promised l-diversity of 'ill' with l = 2"),
        ("ill: {role: sensitive}", "ill: {role: identifier}", "sensitive columns 'ill'"),
        ("k: 4", "k: 4, closeness: {attribute: ill, t: 0.5}", "t-closeness as asked is not possible"),
        ("algorithm: mondrian", "algorithm: full-domain", "Choose one of"),
        ("suppression: 0.2", "again: m-invariance", "made with again: history-keeping"),
    ],
)
def test_a_spec_that_promises_less_or_something_else_is_refused(published, capsys, old, new, message):
    spec = SPEC.replace(old, new)
    if "identifier" in new:
        spec = spec.replace(", diversity: {attribute: ill, l: 2}", "")
    Path("spec.yaml").write_text(spec)
    refused(capsys, message, lambda: publish(3))


def test_more_may_be_promised(published):
    Path("spec.yaml").write_text(
        SPEC.replace("suppression: 0.2", "suppression: 0.9").replace("l: 2", "l: 2.5")
    )
    assert publish(3) == 0


def test_several_records_of_a_person_are_refused(published, capsys):
    table = pyarrow.csv.read_csv("3.csv")
    pyarrow.csv.write_csv(pa.concat_tables([table, table.slice(0, 1)]), "3.csv")
    refused(capsys, "everybody has one record", lambda: publish(3))


def test_a_file_that_is_no_ledger_is_refused(folder, capsys):
    Path("ledger").write_text("something else")
    refused(capsys, "is not a ledger", lambda: publish(1))


def test_a_fresh_release_that_gives_people_away_is_not_made(published, capsys):
    assert publish(3, "--again", "fresh") == 1
    assert "left unprotected" in capsys.readouterr().err
    assert not Path("r3.csv").exists()


def test_releases_of_a_ledger_out_of_order_are_refused(published, capsys):
    assert publish(3) == 0
    words = ["verify", "r3.csv", "--spec", "spec.yaml", "--ledger", "ledger", "--key-file", "key"]
    refused(capsys, "out of order", lambda: run(*words, "--earlier", "r2.csv", "--earlier", "r1.csv"))
    refused(capsys, "does not name this file", lambda: run(words[0], "3.csv", *words[2:]))


def test_a_release_is_written_once(folder):
    asked = {"spec": "spec.yaml", "ledger": "ledger", "key": KEY}
    first, same = ko.anonymize("1.csv", **asked), ko.anonymize("1.csv", **asked)
    first.write("a.csv")
    with pytest.raises(ko.InputError, match="has another release by now"):
        first.write("b.csv")
    with pytest.raises(ko.InputError, match="has another release by now"):
        same.write("b.csv")
    assert not Path("b.csv").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
rename, left = Path.replace, [int(sys.argv.pop(1))]
def replace(self, target):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return rename(self, target)
Path.replace = replace
from kohort.cli.app import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no locks that a kill releases")
@pytest.mark.parametrize("renames", [0, 1, 2, 4])
@pytest.mark.processes
def test_a_kill_between_ledger_and_release_leaves_both_old_or_both_new(published, renames):
    """The first rename is that of the journal: after it the next run completes the others."""
    names = ("ledger", "r1.csv", "c1.json", "o1.json")
    before = {name: Path(name).read_bytes() for name in names}
    files = ["--out", "r1.csv", "--certificate", "c1.json", "--order-file", "o1.json"]
    words = ["anonymize", "3.csv", "--spec", "spec.yaml", *files, "--ledger", "ledger", "--key-file", "key"]
    done = subprocess.run([sys.executable, "-c", KILLED, str(renames), *words], capture_output=True)
    assert done.returncode == -9
    assert run("ledger", "show", "ledger", "--key-file", "key", "--quiet") == 0
    now = {name: Path(name).read_bytes() for name in names}
    assert all((now[name] == before[name]) == (renames == 0) for name in names)
    assert [path for path in Path().iterdir() if path.name.startswith(".kohort")] == []

"""Counterfeits on the command line: announced everywhere, verified to the number, and refused where wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

from cli.running import run

SPEC = """
attributes:
  id: {role: person}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  sex: {role: quasi-identifier}
  ill: {role: sensitive}
  ward: {role: insensitive}
privacy: {k: 4, diversity: {attribute: ill, l: 2}}
algorithm: mondrian
suppression: 0.5
again: m-invariance
counterfeits: 20
"""
LEDGER = ("--ledger", "ledger", "--key-file", "key")


def people(numbers):
    """Some of a thousand people, always the same; many of those with gout are among the first."""
    rng = np.random.default_rng(5)
    age, sex, ward = rng.integers(20, 80, 1000), rng.integers(0, 2, 1000), rng.integers(0, 3, 1000)
    ill = rng.integers(0, 4, 1000)
    ill[:30] = 3
    chosen = np.array(list(numbers))
    return pa.table(
        {
            "id": chosen,
            "age": age[chosen],
            "sex": np.array(["f", "m"])[sex[chosen]],
            "ill": np.array(["cold", "cough", "flu", "gout"])[ill[chosen]],
            "ward": np.array(["north", "south", "east"])[ward[chosen]],
        }
    )


def publish(number, *more):
    files = ("--out", f"r{number}.csv", "--order-file", f"o{number}.json", "--certificate", f"c{number}.json")
    return run("anonymize", f"{number}.csv", "--spec", "spec.yaml", *files, *LEDGER, *more)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC)
    Path("key").write_bytes(b"a secret of at least 16 bytes")
    for number, numbers in enumerate([range(120), range(30, 125)], 1):
        pyarrow.csv.write_csv(people(numbers), f"{number}.csv")
    assert publish(1).exit == 0
    return tmp_path


def verify(*more):
    ran = run("verify", "r2.csv", "--spec", "spec.yaml", "--original", "2.csv", "--json", *more)
    facts = json.loads(ran.out) if ran.out else {}
    return ran, {check["check"]: check for check in facts.get("checks", ())}


def test_counterfeits_are_announced_and_verified(folder):
    made = publish(2, "--report", "report.html")
    facts = json.loads(Path("c2.json").read_text())
    number = facts["counterfeits"]
    assert made.exit == 0 and 0 < number <= 20
    assert facts["together"]["counterfeits"] == number
    order = json.loads(Path("o2.json").read_text())["original_records"]
    assert order.count(0) == number and order[-number:] != [0] * number
    assert f"{number} records are counterfeits" in Path("report.html").read_text()
    assert f"{number} counterfeits" in " ".join(run("ledger", "show", "ledger", *LEDGER[2:]).out.split())
    for more in ((), ("--order-file", "o2.json"), ("--certificate", "c2.json")):
        ran, checks = verify(*more)
        assert ran.exit == 0 and checks["counterfeits"]["holds"], ran.err
    everything = ("--order-file", "o2.json", "--certificate", "c2.json", "--earlier", "r1.csv,1.csv,o1.json")
    ran, _ = verify(*everything, *LEDGER)
    assert ran.exit == 0 and all(claim["holds"] is not False for claim in json.loads(ran.out)["claims"])
    found = json.loads(ran.out)["loss"]
    assert all(found[name] <= value * (1 + 1e-9) for name, value in facts["loss"].items())  # rounded up


def test_counterfeits_have_labels_and_values_that_others_have(folder):
    publish(2)
    published = pyarrow.csv.read_csv("r2.csv")
    order = np.array(json.loads(Path("o2.json").read_text())["original_records"])
    false, others = published.filter(pa.array(order == 0)), published.filter(pa.array(order > 0))
    rows = {tuple(row.values()) for row in others.select(["age", "sex"]).to_pylist()}
    assert all(tuple(row.values()) in rows for row in false.select(["age", "sex"]).to_pylist())
    common = {value["values"] for value in others["ward"].value_counts().to_pylist() if value["counts"] >= 4}
    assert set(false["ward"].to_pylist()) <= common


@pytest.mark.parametrize("more", [(), ("--order-file", "o2.json"), ("--certificate", "c2.json")])
def test_one_more_record_without_an_original_is_found(folder, more):
    """A record of a class is added by hand: it is not one of those that were announced."""
    publish(2)
    published = pyarrow.csv.read_csv("r2.csv")
    number = json.loads(Path("c2.json").read_text())["counterfeits"]
    Path("spec.yaml").write_text(SPEC.replace("counterfeits: 20", f"counterfeits: {number}"))
    there = published.filter(pc.equal(published["ward"], "north")).slice(0, 1)
    pyarrow.csv.write_csv(pa.concat_tables([published, *[there] * 120]), "r2.csv")
    order = json.loads(Path("o2.json").read_text())
    order["original_records"] += [0] * 120
    Path("o2.json").write_text(json.dumps(order))
    ran, checks = verify(*more)
    assert ran.exit == 1 and checks["counterfeits"]["holds"] is False


def test_an_order_file_that_hides_a_person_among_the_counterfeits_is_found(folder):
    publish(2)
    order = json.loads(Path("o2.json").read_text())
    order["original_records"][order["original_records"].index(max(order["original_records"]))] = 0
    Path("o2.json").write_text(json.dumps(order))
    ran, checks = verify("--order-file", "o2.json", "--certificate", "c2.json")
    assert ran.exit == 1 and checks["counterfeits"]["holds"] is False


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("counterfeits: 20", "counterfeits: -1", "counterfeits: this must be a whole number from 0"),
        ("counterfeits: 20", "counterfeits: many", "counterfeits: this must be a whole number from 0"),
        ("again: m-invariance", "again: history-keeping", "'counterfeits' are for again: m-invariance"),
        ("counterfeits: 20", "counterfeits: 20\nshuffle: false", "would be recognized in the original order"),
        (
            "  ward: {role: insensitive}",
            "  ward: {role: identifier, treatment: mask}",
            "with the treatment mask",
        ),
        ("k: 4,", "k: 100,", "is that of k = 100 records"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_written(folder, old, new, words):
    assert old in SPEC
    Path("spec.yaml").write_text(SPEC.replace(old, new))
    before = Path("ledger").read_bytes()
    ran = publish(2)
    assert ran.exit == 2 and words in " ".join(ran.err.split()), ran.err
    assert Path("ledger").read_bytes() == before and not Path("r2.csv").exists()


def test_counterfeits_need_a_ledger(folder):
    ran = run("anonymize", "2.csv", "--spec", "spec.yaml", "--out", "r2.csv")
    assert ran.exit == 2 and "name the ledger" in " ".join(ran.err.split())


def test_the_next_release_is_attacked_without_being_made_afresh(folder):
    ran = run("risk", "2.csv", "--spec", "spec.yaml", *LEDGER, "--json")
    assert ran.exit == 0 and set(json.loads(ran.out)) == {"kohort", "after"}

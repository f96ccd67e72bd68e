"""kohort anonymize and verify with people and events: two files in, two files out, or none."""

from __future__ import annotations

import json

import pytest

from cli.running import run

SPEC = """
attributes:
  age: {role: quasi-identifier, hierarchy: {intervals: [10]}}
events:
  key: patient
  attributes:
    ward: {role: quasi-identifier}
    ill: {role: sensitive}
privacy: {k: 2}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = "\n".join(f"p{i},{30 + i}" for i in range(6))
    visits = "\n".join(f"p{i},{'east' if i < 3 else 'west'},flu" for i in range(4))
    (tmp_path / "people.csv").write_text(f"patient,age\n{ages}\n")
    (tmp_path / "visits.csv").write_text(f"patient,ward,ill\n{visits}\n")
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


ANONYMIZE = ["anonymize", "people.csv", "--events", "visits.csv", "--spec", "spec.yaml", "--out", "p.csv"]


def test_two_files_are_written_and_verified_with_their_certificate(folder):
    made = run(*ANONYMIZE, "--events-out", "e.csv", "--certificate", "c.json", "--json")
    assert made.exit == 0, made.out
    facts = json.loads((folder / "c.json").read_text())
    assert facts["events"]["without_events"] == 2
    both = ["verify", "p.csv", "--events", "e.csv"]
    assert run(*both, "--spec", "spec.yaml", "--certificate", "c.json").exit == 0
    assert run(*both, "--certificate", "c.json").exit == 0
    original = ["--original", "people.csv", "--original-events", "visits.csv"]
    assert run(*both, "--spec", "spec.yaml", *original).exit == 0
    (folder / "e.csv").write_text((folder / "e.csv").read_text().replace("flu", "gout", 1))
    found = run(*both, "--spec", "spec.yaml", "--certificate", "c.json")
    assert found.exit == 1
    assert "sha256 of the events" in found.out


@pytest.mark.parametrize(
    ("words", "visits", "message"),
    [
        ([], "patient,ward,ill\np0,east,flu\np1,east,flu\n", "--events-out"),
        (["--events-out", "e.csv"], "patient,ward,ill\np0,east,flu\np9,east,flu\n", "1 event is of people"),
        (["--events-out", "visits.csv"], "patient,ward,ill\np0,east,flu\np1,east,flu\n", "visits.csv"),
        (
            ["--events-out", "e.csv"],
            "patient,age,ill\np0,east,flu\np1,east,flu\n",
            "'age' is a column of both",
        ),
        (["--events-out", "e.csv"], "patient,ward\np0,east\np1,east\n", "no column 'ill'"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(folder, words, visits, message):
    (folder / "visits.csv").write_text(visits)
    before = sorted(folder.iterdir())
    found = run(*ANONYMIZE, *words)
    assert found.exit == 2
    assert message in " ".join(found.err.split())
    assert sorted(folder.iterdir()) == before
    assert (folder / "visits.csv").read_text() == visits


def test_the_risk_is_that_of_both_files(folder):
    found = run("risk", "people.csv", "--events", "visits.csv", "--spec", "spec.yaml", "--json", "-q")
    assert found.exit == 0, found.out
    assert json.loads(found.out)["linkage"]["after"]["maximum"] <= 0.5

"""kohort anonymize --maps and kohort apply, from files to files."""

from __future__ import annotations

import json

import polars as pl
import pytest

from cli.running import run

SPEC = """
attributes:
  name:    {role: identifier}
  age:     {role: quasi-identifier, hierarchy: {intervals: [5, 10]}}
  animal:  {role: quasi-identifier, hierarchy: animals.csv}
  illness: {role: sensitive}
privacy: {k: 2}
algorithm: full-domain
suppression: 0.2
"""
PEOPLE = """name,age,animal,illness
Ann,21,cat,flu
Bob,24,dog,cold
Cid,41,cow,flu
Dot,43,cow,cold
Eve,88,dog,flu
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "animals.csv").write_text("cat;pet;*\ndog;pet;*\ncow;farm;*\npig;farm;*\n")
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "people.csv").write_text(PEOPLE)
    made = run(
        "anonymize", "people.csv", "--spec", "spec.yaml", "--out", "release.csv", "--maps", "maps.json"
    )
    assert made.exit == 0 and "maps.json" in made.out
    return tmp_path


def test_the_same_file_gives_the_same_release(folder):
    result = run("apply", "maps.json", "people.csv", "--out", "again.csv")
    assert result.exit == 0
    assert (folder / "again.csv").read_bytes() == (folder / "release.csv").read_bytes()
    assert "Nothing is promised about this table" in result.err
    assert "5 records, 1 withheld" in result.out


def test_other_formats_and_new_values(folder):
    new = pl.DataFrame(
        {"name": ["Fay", "Gus"], "age": [23, 20], "animal": ["cat", "emu"], "illness": ["flu", "cold"]}
    )
    new.write_parquet(folder / "new.parquet")
    refused = run("apply", "maps.json", "new.parquet", "--out", "new.csv", "--json")
    assert refused.exit == 2 and not (folder / "new.csv").exists()
    message = json.loads(refused.out)["message"]
    assert "'animal' (1 record)" in message and "emu" not in message
    result = run("apply", "maps.json", "new.parquet", "--out", "new.csv", "--unseen", "suppress", "--json")
    facts = json.loads(result.out)
    assert facts["unseen"] == {"animal": 1} and facts["holds"] is None
    assert facts["maps"]["spec_sha256"] is not None and facts["sha256"]["output"] is not None


def test_a_k_is_verified_and_what_fails_is_not_written(folder):
    good = run("apply", "maps.json", "people.csv", "--out", "again.csv", "--k", "2", "--json")
    assert good.exit == 0 and json.loads(good.out)["verdict"]["smallest_class"] == 2
    bad = run("apply", "maps.json", "people.csv", "--out", "bad.csv", "--k", "6")
    assert bad.exit == 1 and not (folder / "bad.csv").exists()
    shown = run("apply", "maps.json", "people.csv", "--out", "again.csv", "-k", "2")
    assert "k-anonymity" in shown.out and "promised" not in shown.err


def test_nothing_is_written_where_there_are_no_maps(folder):
    words = ("--spec", "spec.yaml", "--out", "local.csv", "--maps", "local.json", "--algorithm", "mondrian")
    refused = run("anonymize", "people.csv", *words)
    assert refused.exit == 2 and "full-domain" in refused.err
    assert not (folder / "local.csv").exists() and not (folder / "local.json").exists()


def test_what_is_read_is_not_replaced(folder):
    assert run("apply", "maps.json", "people.csv", "--out", "people.csv").exit == 2
    assert (folder / "people.csv").read_text() == PEOPLE
    assert "not a map file" in run("apply", "people.csv", "people.csv", "--out", "x.csv").err
    assert "There are no maps" in run("apply", "none.json", "people.csv", "--out", "x.csv").err


@pytest.mark.parametrize("k", [(), ("--k", "2")])
def test_there_is_one_number_of_withheld_records(folder, k):
    """Where more records are `*` everywhere than may be withheld, verification takes them for a class."""
    lines = ["An,21,cat,flu", "Bo,24,dog,cold", "Cy,41,cow,flu", "Di,88,cow,cold", "Ed,61,dog,flu"]
    (folder / "others.csv").write_text("name,age,animal,illness\n" + "\n".join(lines) + "\n")
    options = ("others.csv", "--out", "o.csv", "--unseen", "suppress", *k)
    facts = json.loads(run("apply", "maps.json", *options, "--json").out)
    assert (folder / "o.csv").read_text().count("*,*,") == 3
    assert facts["suppressed"] == 0
    assert facts["verdict"] is None or facts["verdict"]["suppressed"] == 0
    assert any("3 records are `*` in every quasi-identifier" in note for note in facts["notes"])
    shown = run("apply", "maps.json", *options).out
    assert "5 records, 0 withheld" in shown and "3 withheld" not in shown

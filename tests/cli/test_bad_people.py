"""Bad input about people on the command line: a clear sentence, exit 2, nothing written, no value shown."""

from __future__ import annotations

import pytest

from cli.running import run

VISITS = {
    "patient": ["Zoe", "Zoe", "Yan", "Yan", "Xia", "Xia"],
    "home": ["h1", "h1", "h1", "h1", "h2", "h2"],
    "year": ["1", "2", "1", "2", "1", "2"],
    "age": ["31", "32", "33", "34", "35", "36"],
}
LINKED = "{role: person, treatment: pseudonym}"


def spec(patient="{role: person}", home="{role: identifier}", year="{role: insensitive}", more=""):
    columns = {"patient": patient, "home": home, "year": year, "age": "{role: quasi-identifier}"}
    lines = "\n".join(f"  {name}: {part}" for name, part in columns.items())
    return f"attributes:\n{lines}\nprivacy: {{k: 2}}\n{more}"


def changed(name, *values):
    return VISITS | {name: list(values)}


@pytest.mark.parametrize(
    ("visits", "asked", "words", "message"),
    [
        (VISITS, spec(), ["--person", "patinet"], "no column 'patinet'"),
        ({n: v for n, v in VISITS.items() if n != "patient"}, spec(), [], "no column 'patient'"),
        (changed("patient", *["Zoe"] * 6), spec(), [], "all 6 records are of one person"),
        (VISITS, spec(), ["--person", "age"], "has two roles: quasi-identifier in the spec, and person"),
        (changed("patient", "Zoe", "", "Yan", "", "Xia", "Xia"), spec(), [], "2 records have no value"),
        (
            changed("year", "1", "1", "1", "2", "1", "2"),
            spec(LINKED, more="history: {slot: year}"),
            [],
            "1 record is in the same slot as another one of the same person",
        ),
        (
            changed("home", "h1", "h2", "h1", "h1", "h2", "h2"),
            spec(home="{role: household}"),
            [],
            "1 person of 'patient' is in more than one household of 'home'",
        ),
        (VISITS, spec(more="history: {slot: year}"), [], "the records of a person are not linked"),
        (VISITS, spec(year="{role: weight}", patient="{role: weight}"), [], "2 columns have the role weight"),
    ],
)
def test_bad_people_are_refused(tmp_path, monkeypatch, visits, asked, words, message):
    monkeypatch.chdir(tmp_path)
    rows = zip(*visits.values())
    lines = [",".join(visits), *(",".join(row) for row in rows)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "spec.yaml").write_text(asked)
    before = sorted(tmp_path.iterdir())
    found = run("anonymize", "visits.csv", "--spec", "spec.yaml", "--out", "out.csv", *words)
    said = " ".join(found.err.split())
    assert found.exit == 2 and message in said
    assert not any(name in said for name in ("Zoe", "Yan", "Xia"))
    assert sorted(tmp_path.iterdir()) == before


def test_fewer_people_than_k_are_named_as_such(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [",".join(VISITS), *(",".join(row) for row in zip(*VISITS.values()))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "spec.yaml").write_text(spec())
    found = run("anonymize", "visits.csv", "--spec", "spec.yaml", "--out", "out.csv", "--k", "4")
    assert found.exit == 1
    assert "the 6 records of the table are of 3 people" in " ".join(found.err.split())
    assert not (tmp_path / "out.csv").exists()


def test_files_of_one_record_each_are_the_same_with_the_role_to_the_last_byte(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"p{i}", "h", "1", str(20 + (7 * i) % 40)) for i in range(60)]
    lines = [",".join(VISITS), *(",".join(row) for row in rows)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    for name, patient in {"with": "{role: person}", "without": "{role: identifier}"}.items():
        (tmp_path / f"{name}.yaml").write_text(spec(patient, more="algorithm: mondrian"))
        assert run("anonymize", "visits.csv", "--spec", f"{name}.yaml", "--out", f"{name}.csv").exit == 0
    assert (tmp_path / "with.csv").read_bytes() == (tmp_path / "without.csv").read_bytes()

"""kohort init: the spec is valid, works unchanged, and stays valid with its options switched on."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from running import run

from kohort.datasets import generate_hospital, load_adult, load_health
from kohort.io.read_spec import read_spec
from kohort.io.tables import read_table, write_table
from kohort.io.write_spec import spec_text
from kohort.profiling.profile import profile
from kohort.statement.from_yaml import from_yaml as parse_spec

TABLES = {
    "adult.csv": lambda: load_adult("test").slice(0, 500),
    "health.csv": lambda: load_health(year=1).slice(0, 500),
    "hospital.parquet": lambda: generate_hospital(500),
}


@pytest.fixture
def hospital(tmp_path):
    path = tmp_path / "hospital.parquet"
    write_table(generate_hospital(300), path)
    return path


def switched_on(text):
    """The spec with every option that is a comment taken as written."""
    lines = []
    for line in text.splitlines():
        blank = line[: len(line) - len(line.lstrip())]
        option = line.lstrip().startswith("#") and line.strip("# ") and not line.lstrip().startswith("# ")
        lines.append(blank + line.lstrip().removeprefix("#") if option else line)
    return "\n".join(lines)


@pytest.mark.parametrize("name", TABLES)
def test_the_spec_works_unchanged(tmp_path, name):
    data, spec, release = tmp_path / name, tmp_path / "spec.yaml", tmp_path / "release.csv"
    table = TABLES[name]()
    write_table(table, data)
    assert run("init", data, "--out", spec).exit == 0
    assert list(read_spec(spec).columns) == table.column_names
    assert run("anonymize", data, "--spec", spec, "--out", release, "--quiet").exit == 0
    assert read_table(release).table.num_rows == table.num_rows


@pytest.mark.parametrize("name", TABLES)
def test_the_spec_works_with_its_options(tmp_path, name):
    data, spec = tmp_path / name, tmp_path / "spec.yaml"
    write_table(TABLES[name](), data)
    run("init", data, "--out", spec)
    text = switched_on(spec.read_text(encoding="utf-8"))
    options = yaml.safe_load(text)
    assert {"k", "diversity", "closeness"} <= set(options["privacy"])
    assert ("alpha" in options["privacy"]) == (name != "adult.csv")  # where one value has most records
    assert {"suppressed", "labels", "nulls", "others", "shuffle", "weights", "time_limit"} < set(options)
    spec.write_text(text, encoding="utf-8")
    out = ("--out", tmp_path / "r.csv", "--time-limit", 0.5)  # not the minute that the spec allows
    assert run("anonymize", data, "--spec", spec, *out, "--quiet").exit == 0


def test_roles_and_hierarchies_are_those_of_the_profile(tmp_path, hospital):
    run("init", hospital, "--out", tmp_path / "spec.yaml", "--k", 7)
    spec = yaml.safe_load((tmp_path / "spec.yaml").read_text(encoding="utf-8"))
    assert spec["privacy"] == {"k": 7}
    for column in profile(generate_hospital(300)).columns:
        found = spec["attributes"][column.name]
        assert found["role"] == ("identifier" if column.role == "items" else column.role)
        assert found.get("hierarchy") == column.hierarchy


def test_it_says_why_and_what_next(tmp_path, hospital):
    spec = tmp_path / "spec.yaml"
    ran = run("init", hospital, "--out", spec)
    text = spec.read_text(encoding="utf-8")
    assert "# Its name points to sex, which others may know about a person. It adds " in text
    assert "% to the unique records." in " ".join(
        text.split("\n  sex:")[0].split("# Its name points to sex")[1].split()
    )
    assert "m, how many items others may know.\n  procedures: {role: identifier}" in text
    assert "  #- {attribute: diagnosis, l: 3, kind: distinct}" in text
    command = f"kohort anonymize {hospital} --spec {spec} --out release.csv"
    assert command in text
    assert command in ran.out
    assert max(map(len, text.replace(command, "").splitlines())) <= 110


def test_the_next_command_reads_the_data_likewise(tmp_path):
    data, spec = tmp_path / "people.txt", tmp_path / "spec.yaml"
    data.write_bytes(b"age|sex\n" + b"30|f\n" * 20)
    ran = run("init", data, "--out", spec, "--delimiter", "|", "--encoding", "cp1252")
    assert "--out release.csv --delimiter '|' --encoding cp1252\n" in ran.out
    assert "--out release.csv --delimiter '|' --encoding cp1252\n" in spec.read_text(encoding="utf-8")


def test_json(tmp_path, hospital):
    facts = json.loads(run("init", hospital, "--out", tmp_path / "spec.yaml", "--json").out)
    assert (facts["spec"], facts["k"], facts["records"]) == (str(tmp_path / "spec.yaml"), 10, 300)
    assert facts["attributes"]["procedures"]["role"] == "identifier"
    assert facts["attributes"]["postcode"]["hierarchy"] == {"mask": "right"}


def test_quiet(tmp_path, hospital):
    assert run("init", hospital, "--out", tmp_path / "spec.yaml", "--quiet") == (0, "", "")


def test_it_overwrites_only_by_force(tmp_path, hospital):
    spec = tmp_path / "spec.yaml"
    spec.write_text("mine", encoding="utf-8")
    ran = run("init", hospital, "--out", spec)
    assert ran.exit == 2
    assert "--force" in ran.err
    assert spec.read_text(encoding="utf-8") == "mine"
    assert run("init", hospital, "--out", spec, "--force").exit == 0
    assert "attributes:" in spec.read_text(encoding="utf-8")


def test_it_never_replaces_the_data(hospital):
    before = hospital.read_bytes()
    assert run("init", hospital, "--out", hospital, "--force").exit == 2
    assert hospital.read_bytes() == before


@pytest.mark.parametrize(("k", "code"), [(0, 2), (-1, 2), (301, 1), ("ten", 2)])
def test_an_impossible_k(tmp_path, hospital, k, code):
    ran = run("init", hospital, "--out", tmp_path / "spec.yaml", "--k", k)
    assert ran.exit == code
    assert not (tmp_path / "spec.yaml").exists()


@pytest.mark.parametrize("out", [".", "no/such/folder/spec.yaml"])
def test_an_output_that_cannot_be_written(tmp_path, hospital, out):
    assert run("init", hospital, "--out", tmp_path / out).exit == 2
    assert sorted(tmp_path.iterdir()) == [hospital]


def test_missing_data_and_missing_out(tmp_path, hospital):
    assert run("init", tmp_path / "nobody.csv", "--out", tmp_path / "spec.yaml").exit == 2
    assert run("init", hospital).exit == 2


def test_a_table_without_quasi_identifiers_is_told(tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("name\n" + "".join(f"person {i}\n" for i in range(20)), encoding="utf-8")
    ran = run("init", data, "--out", tmp_path / "spec.yaml")
    assert ran.exit == 0
    assert "No column looks like a quasi-identifier" in ran.err
    assert read_spec(tmp_path / "spec.yaml").columns["name"].role == "identifier"


def test_no_value_gets_into_the_spec(tmp_path):
    data, spec = tmp_path / "people.csv", tmp_path / "spec.yaml"
    data.write_text("city,salary\n" + "Xanadu,47110815\n" * 20 + "Utopia,3000\n" * 20, encoding="utf-8")
    ran = run("init", data, "--out", spec)
    for value in ("Xanadu", "Utopia", "47110815"):
        assert value not in spec.read_text(encoding="utf-8") + ran.out + ran.err


def test_help_has_an_example():
    assert "Example: kohort init people.csv --out spec.yaml --k 10" in run("init", "--help").out


@pytest.mark.processes
def test_the_installed_program(tmp_path):
    data = tmp_path / "people & co.csv"
    data.write_text("age,sex\n" + "30,f\n" * 10 + "40,m\n" * 10, encoding="utf-8")
    program = Path(sys.executable).with_name("kohort")
    done = subprocess.run(
        [program, "init", data, "--out", tmp_path / "s.yaml"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"kohort anonymize '{data}' --spec" in done.stdout


# -- names -----------------------------------------------------------------------------------------

ODD_NAMES = (
    "yes",
    "no",
    "on",
    "1",
    "1.5",
    "null",
    "~",
    "a: b",
    "# c",
    'it\'s "odd"',
    "größe 年齢 😀",
    "<<",
    "=",
)
ODDER_NAMES = (
    "[x]",
    "{y",
    "- z",
    "2024-01-01",
    " lead",
    "a\tb",
    "a\nb",
    "a\x85b",
    "a\u2028b",
    "&a",
    "*",
    "!t",
    "x" * 200,
)


def test_odd_names_survive(tmp_path):
    names = [*ODD_NAMES, *ODDER_NAMES]
    data, spec = tmp_path / "odd.parquet", tmp_path / "spec.yaml"
    rng = np.random.default_rng(0)
    write_table(pa.table({name: [f"v{i}" for i in rng.integers(0, 3, 60)] for name in names}), data)
    assert run("init", data, "--out", spec).exit == 0
    assert list(read_spec(spec).columns) == names
    assert run("anonymize", data, "--spec", spec, "--out", tmp_path / "r.parquet", "--quiet").exit == 0
    assert read_table(tmp_path / "r.parquet").table.column_names == names


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_any_name_survives(names):
    sensitive = [f"diagnosis {name}" for name in names]
    found = profile(pa.table({name: ["a", "b"] * 15 for name in [*dict.fromkeys([*names, *sensitive])]}))
    text = spec_text(found, data="data \x1b\n.csv", command="kohort \x1b\n", k=3)
    for spec in (text, switched_on(text)):
        assert list(parse_spec(yaml.safe_load(spec)).columns) == [c.name for c in found.columns]

"""kohort profile: what it prints, as text and as JSON, and that it shows no value unasked."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from running import run

from kohort.datasets import generate_hospital, load_adult
from kohort.io.tables import read_table, write_table
from kohort.profiling.profile import profile

SECRETS = ("Xanadu", "Utopia", "4711")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "hospital.parquet"
    write_table(generate_hospital(500), path)
    return path


@pytest.fixture
def secrets(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("city,age\n" + "Xanadu,4711\n" * 25 + "Utopia,30\n" * 15, encoding="utf-8")
    return path


def test_the_story(hospital):
    ran = run("profile", hospital)
    assert (ran.exit, ran.err) == (0, "")
    for words in ("500 records, 11 columns", "postcode", "quasi-identifier", "Its name points to age"):
        assert words in ran.out
    for words in (
        "are the only ones with their",
        "What each adds",
        "Prosecutor risk: 100.0% at worst",
        "age + postcode",
    ):
        assert words in ran.out
    assert f"kohort init {hospital} --out spec.yaml" in ran.out


def test_json_is_the_profile(hospital):
    ran = run("profile", hospital, "--json")
    assert ran.exit == 0
    assert json.loads(ran.out) == json.loads(json.dumps(profile(read_table(hospital).table).to_dict()))


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_no_value_unless_asked_for(secrets, options):
    shown = run("profile", secrets, *options).out
    assert not any(value in shown for value in SECRETS)
    assert "Xanadu" in run("profile", secrets, "--show-values", *options).out


def test_quiet(hospital):
    assert run("profile", hospital, "--quiet") == (0, "", "")


def test_delimiter_encoding_and_sheet(tmp_path):
    text = tmp_path / "people.txt"
    text.write_bytes("Größe|Ort\n180|Köln\n170|Bonn\n".encode("cp1252"))
    facts = json.loads(run("profile", text, "--delimiter", "|", "--encoding", "cp1252", "--json").out)
    assert [column["name"] for column in facts["columns"]] == ["Größe", "Ort"]
    book = tmp_path / "people.xlsx"
    write_table(load_adult("test").slice(0, 30), book)
    assert run("profile", book, "--sheet", "no such sheet").exit == 2


def test_names_that_look_like_markup(tmp_path):
    path = tmp_path / "people.parquet"
    write_table(pa.table({"[red]age": [1, 2, 3] * 10, "[/]": ["a"] * 30}), path)
    ran = run("profile", path)
    assert ran.exit == 0
    assert "[red]age" in ran.out
    assert "[/]" in ran.out


def test_a_table_without_quasi_identifiers(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name\nAnn\nBob\n", encoding="utf-8")
    assert "No column looks like something that others know" in run("profile", path).out


def test_combinations_of_a_sample_say_so(tmp_path):
    path = tmp_path / "many.parquet"
    numbers = pa.array(range(100_001))
    write_table(pa.table({"age": numbers, "sex": ["f"] * 100_001}), path)
    assert "100,000 records drawn at random" in run("profile", path).out


@pytest.mark.parametrize("name", ["missing.csv", "empty.csv", "folder.csv", "people.doc", "broken.parquet"])
def test_bad_files(tmp_path, name):
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "people.doc").write_bytes(b"Xanadu")
    (tmp_path / "broken.parquet").write_bytes(b"Xanadu 4711")
    ran = run("profile", tmp_path / name, "--json")
    assert ran.exit == 2
    assert ran.err.startswith("Error: ")
    assert json.loads(ran.out)["exit"] == 2
    assert not any(value in ran.out + ran.err for value in SECRETS)


def test_help_has_an_example():
    assert "Example: kohort profile people.csv" in run("profile", "--help").out


@pytest.mark.processes
def test_the_installed_program(secrets):
    program = Path(sys.executable).with_name("kohort")
    done = subprocess.run([program, "profile", secrets, "--json"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["records"] == 40

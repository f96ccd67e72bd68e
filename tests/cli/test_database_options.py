"""Databases on the command line: sources, targets, and bad input that exits with 2 and writes nothing."""

import builtins
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from database_places import PASSWORD, DuckdbPlace, SqlitePlace

HOSPITAL = ko.datasets.generate_hospital(300).select(["name", "sex", "age", "diagnosis"])
SPEC = """
attributes:
  name: {role: identifier}
  sex: {role: quasi-identifier}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  diagnosis: {role: sensitive}
privacy: {k: 5}
algorithm: mondrian
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC)
    return tmp_path


@pytest.fixture
def sqlite(folder):
    pytest.importorskip("adbc_driver_sqlite", reason="kohort[database] is not installed")
    place = SqlitePlace(folder)
    place.load("people", HOSPITAL)
    return place


@pytest.fixture
def place(database_place, folder):
    database_place.load("people", HOSPITAL)
    return database_place


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_whole_job(place):
    known = ("--table", "people")
    assert run("profile", place.url, *known, "--json").exit == 0
    made = run("init", place.url, *known, "--out", "started.yaml", "--k", "5")
    assert made.exit == 0
    assert f"kohort anonymize {place.url} --spec started.yaml --out release.csv --table people" in made.out
    target = ("--out", place.url, "--out-table", "release", "--certificate", "c.json")
    done = run("anonymize", place.url, *known, "--spec", "spec.yaml", *target)
    assert done.exit == 0, done.err
    assert f"Written:tablereleaseof{place.url},c.json" in "".join(done.out.split())
    checked = ("verify", place.url, "--table", "release", "--spec", "spec.yaml")
    originals = ("--original", place.url, "--original-query", "select * from people")
    assert run(*checked, "--certificate", "c.json").exit == 0
    assert run(*checked, *originals).exit == 0
    assert run(*checked, "--k", "200").exit == 1


def test_nothing_that_is_written_shows_the_password(postgresql, folder):
    postgresql.load("people", HOSPITAL)
    source = (postgresql.url, "--table", "people", "--spec", "spec.yaml")
    also = ("--certificate", "c.json", "--report", "r.html", "--json")
    done = run("anonymize", *source, "--out", postgresql.url, "--out-table", "release", *also)
    assert done.exit == 0, done.err
    texts = [done.out, done.err, *(Path(name).read_text() for name in ("c.json", "r.html"))]
    assert not [text for text in texts if PASSWORD in text]
    assert postgresql.url in Path("r.html").read_text()


def test_other_commands_read_tables(sqlite):
    source = (sqlite.url, "--table", "people", "--spec", "spec.yaml")
    assert run("risk", *source, "--json").exit == 0
    swept = ("--k", "5", "--algorithm", "mondrian", "--queries", "20")
    assert run("frontier", *source, *swept).exit == 0


def test_hierarchies_for_a_column_of_a_database(sqlite):
    source = (sqlite.url, "--table", "people")
    made = run(
        "hierarchy",
        "build",
        sqlite.url,
        "age",
        "--table",
        "people",
        "--intervals",
        "5,10",
        "--out",
        "age.csv",
    )
    assert made.exit == 0, made.err
    for command in ("check", "show"):
        done = run("hierarchy", command, "age.csv", "--data", *source, "--column", "age")
        assert done.exit == 0, done.err


def test_a_certificate_is_of_the_records_and_not_of_their_order(place):
    words = ("anonymize", place.url, "--table", "people", "--spec", "spec.yaml", "--certificate", "c.json")
    assert run(*words, "--out", place.url, "--out-table", "release").exit == 0
    place.run('create table turned as select * from "release" order by age desc, diagnosis')
    checked = ("--spec", "spec.yaml", "--certificate", "c.json")
    assert run("verify", place.url, "--table", "turned", *checked).exit == 0
    place.run("update turned set diagnosis = 'other' where age in (select min(age) from turned)")
    broken = run("verify", place.url, "--table", "turned", *checked)
    assert broken.exit == 1
    assert "sha256" in broken.err


def test_maps_are_applied_to_a_table(sqlite):
    words = ("anonymize", sqlite.url, "--table", "people", "--spec", "spec.yaml", "--out", "release.csv")
    assert run(*words, "--algorithm", "full-domain", "--maps", "maps.json").exit == 0
    assert run("apply", "maps.json", sqlite.url, "--table", "people", "--out", "again.csv").exit == 0
    assert sorted(Path("again.csv").read_text()) == sorted(Path("release.csv").read_text())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "name one with --table"),
        (["--table", "people", "--query", "select 1"], "not both"),
        (["--table", "missing"], "no such table: missing"),
        (["--table", "people; drop table people"], "no such table"),
        (["--query", "delete from people"], "would write"),
        (["--query", "select * from people; drop table people"], "syntax error"),
        (["--query", "select * from people where 1 = 0"], "has no records"),
        (["--query", "select name, age, age from people"], "several columns are called 'age'"),
        (["--query", "select name, age, sex from people"], "'diagnosis'"),
        (["--query", "select *, 1 as extra from people"], "'extra'"),
        (["--table", "people", "--sheet", "one"], "sheet: this is for files"),
        (["--table", "people", "--no-header"], "header: this is for files"),
    ],
)
def test_bad_sources(sqlite, folder, given, words):
    before = files(folder)
    done = run("anonymize", sqlite.url, *given, "--spec", "spec.yaml", "--out", "release.csv")
    assert (done.exit, words in done.err) == (2, True), done.err
    assert files(folder) == before
    assert sqlite.rows("select count(*) from people") == [(300,)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--out", "URL"], "with --out-table"),
        (["--out", "release.csv", "--out-table", "release"], "--out-table is for a database"),
        (["--out", "URL", "--out-table", "people"], "this run reads"),
        (["--out", "URL", "--out-table", "a.b"], "no schema"),
        (["--out", "duckdb://", "--out-table", "release"], "in memory"),
        (["--out", "sqlite:///no/where.db", "--out-table", "release"], "does not exist"),
        (["--out", "mysql://ann@localhost/x", "--out-table", "release"], "MySQLdb"),
        (["--out", "URL", "--out-table", "everybody"], "is a view"),
        (["--out", "release.csv", "--certificate", "people.db"], "this run reads"),
    ],
)
def test_bad_targets(sqlite, folder, given, words):
    sqlite.run("create view everybody as select * from people")
    before = files(folder)
    out = [sqlite.url if word == "URL" else word for word in given]
    done = run("anonymize", sqlite.url, "--table", "people", "--spec", "spec.yaml", *out)
    assert (done.exit, words in done.err) == (2, True), done.err
    assert files(folder) == before
    assert sqlite.tables() == ["people"]


def test_files_have_no_tables(folder):
    Path("people.csv").write_text("a,b\n1,2\n")
    for word in ("--table", "--query"):
        done = run("profile", "people.csv", word, "people")
        assert (done.exit, "is a file" in done.err) == (2, True)


@pytest.mark.parametrize("command", ["profile", "anonymize", "verify", "init"])
def test_a_password_in_a_url_is_refused_and_not_shown(folder, command):
    url = "postgresql://ann:s3cr3t@localhost:1/clinic"
    more = {
        "profile": [],
        "init": ["--out", "new.yaml"],
        "anonymize": ["--spec", "spec.yaml", "--out", url, "--out-table", "release"],
        "verify": ["--spec", "spec.yaml", "--original", url, "--original-table", "people"],
    }[command]
    done = run(command, url, "--table", "people", *more, "--json")
    assert done.exit == 2
    assert "PGPASSWORD" in done.err
    assert "s3cr3t" not in done.out + done.err
    assert files(folder) == ["spec.yaml"]


def test_no_server(folder):
    pytest.importorskip("adbc_driver_postgresql", reason="kohort[database] is not installed")
    done = run("profile", "postgresql://ann@127.0.0.1:1/clinic", "--table", "people")
    assert (done.exit, "Connection refused" in done.err) == (2, True)


def test_a_wrong_password(shared_postgresql, monkeypatch, folder):
    monkeypatch.setenv("PGPASSWORD", "wr0ng")
    words = ("anonymize", shared_postgresql.url, "--table", "people", "--spec", "spec.yaml", "--out", "r.csv")
    done = run(*words, "--json")
    assert (done.exit, "refused the user or the password" in done.err) == (2, True)
    assert "wr0ng" not in done.out + done.err
    assert json.loads(done.out)["exit"] == 2
    assert files(folder) == ["spec.yaml"]


@pytest.mark.parametrize(
    ("url", "package"),
    [
        ("postgresql://ann@localhost/x", "adbc_driver_postgresql.dbapi"),
        ("sqlite:///people.db", "adbc_driver_sqlite.dbapi"),
        ("duckdb:///people.duckdb", "duckdb"),
        ("mysql://ann@localhost/x", "sqlalchemy"),
    ],
)
def test_no_driver(folder, monkeypatch, url, package):
    for name in ("people.db", "people.duckdb"):
        Path(name).write_bytes(b"something")
    imported = builtins.__import__

    def importing(name, *given, **more):
        if name == package:
            raise ImportError(name)
        return imported(name, *given, **more)

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(builtins, "__import__", importing)
    done = run("profile", url, "--table", "people")
    assert (done.exit, "[database]'" in done.err) == (2, True), done.err


def test_a_file_that_is_no_database(folder):
    for place, name in ((SqlitePlace, "people.db"), (DuckdbPlace, "people.duckdb")):
        pytest.importorskip("duckdb", reason="kohort[database] is not installed")
        Path(name).write_bytes(b"this is no database" * 100)
        done = run("profile", place(folder).url, "--table", "people")
        assert done.exit == 2
        assert "this is no database" not in done.err


def test_queries_over_files(folder):
    pytest.importorskip("duckdb", reason="kohort[database] is not installed")
    import pyarrow.parquet as pq

    pq.write_table(HOSPITAL, "people.parquet")
    query = "select * from 'people.parquet' where age > 30"
    words = ("--query", query, "--spec", "spec.yaml", "--out", "release.csv")
    assert run("anonymize", "duckdb://", *words).exit == 0
    older = sum(age > 30 for age in HOSPITAL["age"].to_pylist())
    assert len(Path("release.csv").read_text().splitlines()) == older + 1


def test_other_databases_by_sqlalchemy(sqlite, folder):
    pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")
    url = sqlite.url.replace("sqlite:", "sqlite+pysqlite:")
    words = ("--table", "people", "--spec", "spec.yaml", "--out")
    assert run("anonymize", url, *words, "one.csv").exit == 0
    assert run("anonymize", sqlite.url, *words, "other.csv").exit == 0
    assert Path("one.csv").read_text() == Path("other.csv").read_text()
    assert run("anonymize", url, *words, "one.csv", "--certificate", "people.db").exit == 2


@pytest.mark.processes
def test_drivers_are_loaded_only_when_they_are_used():
    names = "('adbc_driver_manager', 'duckdb', 'sqlalchemy')"
    code = f"import sys, kohort, kohort.api; print([n for n in {names} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_python_says_how_a_url_is_read(sqlite):
    for call in (ko.profile, lambda url: ko.anonymize(url, quasi_identifiers=["age"], k=2)):
        with pytest.raises(ko.InputError, match=r"ko\.database"):
            call(sqlite.url)
    found = ko.profile(ko.database(sqlite.url, table="people"))
    assert found.records == 300
    assert isinstance(
        ko.anonymize(
            ko.database(sqlite.url, table="people"), quasi_identifiers=["age"], others="drop", k=2
        ).table,
        pa.Table,
    )


def test_people_and_events_become_two_tables(sqlite):
    Path("people.csv").write_text("id,age\n1,20\n2,20\n3,30\n4,30\n")
    Path("visits.csv").write_text("id,illness\n1,a\n2,b\n3,a\n4,b\n")
    Path("two.yaml").write_text(
        "attributes: {age: {role: quasi-identifier}}\n"
        "events: {key: id, attributes: {illness: {role: sensitive}}}\nprivacy: {k: 2}\n"
    )
    words = ("anonymize", "people.csv", "--events", "visits.csv", "--spec", "two.yaml", "--out", sqlite.url)
    both = ("--out-table", "release", "--events-out-table", "release_visits")
    done = run(*words, *both)
    assert done.exit == 0, done.err
    assert {"release", "release_visits"} <= set(sqlite.tables())
    assert sqlite.rows("select count(*) from release_visits") == [(4,)]
    refused = run(*words, *both, "--events-out", "other.csv")
    assert refused.exit == 2 and "give one of them" in refused.err
    refused = run(*words[:-1], "people_release.csv", "--events-out-table", "visits")
    assert refused.exit == 2 and "is for a database" in refused.err

"""Releases into databases by SQLAlchemy: names, types, passwords, and databases that commit by themselves."""

from __future__ import annotations

import datetime
import decimal
import time
from contextlib import closing

import pyarrow as pa
import pytest

import kohort as ko
from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import sqlalchemy_databases
from kohort.io.databases.dialect import open_writing
from kohort.io.databases.sqlalchemy_databases import AnyDatabase
from publication.test_into_databases import ASKED, HOSPITAL, records, table_in
from reading_databases import read_database

pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")

EVIL = [
    "people; drop table people; --",
    'a" (x int); drop table people; --',
    "b` (x int); drop table people; --",
    "c'; drop table people; --",
    "50 % of %s and %(x)s",
    ":value1 ::int \\: \\",
    "$1 {0} [x] (y)",
    "values (%s",
    "Ünïcödé \u00a0 日本",
]


BY_SQLALCHEMY = ["postgresql+psycopg", "sqlite+pysqlite", "mysql+pymysql"]
everywhere = pytest.mark.parametrize("database_place", BY_SQLALCHEMY, indirect=True)


@pytest.fixture
def place(database_place):
    database_place.load("people", HOSPITAL)
    return database_place


@everywhere
@pytest.mark.parametrize("name", EVIL)
def test_a_name_is_a_name(place, name) -> None:
    """Whatever the name of a table or a column says, it is no statement and no parameter."""
    quasi = {f"{name} {place}": None for place in range(2)}
    table = pa.table({column: ["x", "x", "y", "y"] for column in quasi} | {name: ["a", "b", "c", "d"]})
    release = ko.anonymize(table, quasi_identifiers=quasi, sensitive=[name], k=2)
    target = ko.database(place.url, table='"' + name.replace('"', '""') + '"')
    release.write(target)
    release.write(target)
    found, _ = read_database(target)
    assert found.column_names == table.column_names
    assert records(found) == records(release.arrow)
    assert sorted(place.tables()) == sorted(["people", name])
    assert table_in(place, "people").num_rows == 400


@everywhere
def test_types_are_kept(place) -> None:
    values = {
        "age": [20, 20],
        "small": pa.array([1, None], pa.int16()),
        "large": pa.array([2**64 - 1, 0], pa.uint64()),
        "share": [0.1, 1e-300],
        "single": pa.array([0.5, None], pa.float32()),
        "price": pa.array([decimal.Decimal("12.50"), decimal.Decimal("-0.01")], pa.decimal128(10, 2)),
        "day": [datetime.date(1999, 12, 31), None],
        "at": [datetime.time(23, 59, 59, 999999), datetime.time(0, 0)],
        "moment": [datetime.datetime(2020, 2, 29, 1, 2, 3, 4), None],
        "zoned": pa.array([1_600_000_000_123_456, None], pa.timestamp("us", "Europe/Paris")),
        "word": ["Zoë 🐘", ""],
        "encoded": pa.array(["x", None]).dictionary_encode(),
        "bytes": pa.array([b"\x00\xff'", None]),
        "long": ["x" * 100_000, "y"],
    }
    table = pa.table(values)
    release = ko.anonymize(table, quasi_identifiers=["age"], others="keep", k=2, shuffle=False)
    facts = release.write(target := ko.database(place.url, table="release"))
    found, sha256 = read_database(target)
    assert sha256 == facts["sha256"]["output"]
    if place.kind == "sqlite":  # it has numbers, text and bytes
        assert found["large"].to_pylist() == ["18446744073709551615", "0"]
        assert found["price"].to_pylist() == ["12.50", "-0.01"]
        return
    for name in ("small", "share", "single", "price", "day", "at", "moment", "word", "bytes", "long"):
        assert found[name].to_pylist() == table[name].to_pylist(), name
    assert [int(number) for number in found["large"].to_pylist()] == [2**64 - 1, 0]
    zone = "UTC" if place.kind == "postgresql" else None
    assert found["zoned"].type == pa.timestamp("us", zone)
    assert found["zoned"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist() == [
        1_600_000_000_123_456,
        None,
    ]


ODD = [
    (pa.array([[1], [2]]), "does not write to|'odd'", BY_SQLALCHEMY[1:]),
    (pa.array([1, 2], pa.duration("s")), "'odd'", BY_SQLALCHEMY),
    (pa.array([1, 2], pa.timestamp("ns")), "'odd' has values that do not fit", BY_SQLALCHEMY[::2]),
    (pa.array([float("nan"), 1.0]), "not finite", ["mysql+pymysql"]),
]


@pytest.mark.parametrize(
    ("database_place", "column", "words"),
    [(database, column, words) for column, words, databases in ODD for database in databases],
    indirect=["database_place"],
)
def test_other_types_are_refused_by_name(place, column, words) -> None:
    table = pa.table({"age": [20, 20], "odd": column})
    release = ko.anonymize(table, quasi_identifiers=["age"], others="keep", k=2)
    with pytest.raises(UnsupportedError, match=words):
        release.write(ko.database(place.url, table="release"))
    assert place.tables() == ["people"]


@pytest.mark.parametrize("database_place", BY_SQLALCHEMY[::2], indirect=True)
def test_a_wrong_password_is_not_shown(place, monkeypatch) -> None:
    monkeypatch.setenv("KOHORT_DATABASE_PASSWORD", "wrong-Passw0rd")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with pytest.raises(InputError, match="refused the user or the password") as caught:
        ko.anonymize(HOSPITAL, **ASKED).write(ko.database(place.url, table="release"))
    assert "wrong-Passw0rd" not in str(caught.value)
    url = place.url.replace("steward@", "steward:wrong-Passw0rd@")
    monkeypatch.delenv("KOHORT_DATABASE_PASSWORD")
    with pytest.raises(InputError, match="refused the user") as caught:
        ko.anonymize(HOSPITAL, **ASKED).write(ko.database(url, table="release"))
    assert "wrong-Passw0rd" not in str(caught.value)


@everywhere
def test_views_and_schemas_are_refused(place) -> None:
    place.run("create view seen as select * from people")
    release = ko.anonymize(HOSPITAL, **ASKED)
    with pytest.raises(InputError, match=r"is a view|not a plain table"):
        release.write(ko.database(place.url, table="seen"))
    with pytest.raises(InputError, match=r"no more|no schema"):
        release.write(ko.database(place.url, table="a.b.c"))
    with pytest.raises(InputError):
        release.write(ko.database(place.url, table="nowhere.release"))


def test_a_database_in_memory_is_refused() -> None:
    release = ko.anonymize(HOSPITAL, **ASKED)
    for url in ("sqlite+pysqlite://", "sqlite+pysqlite:///:memory:"):
        with pytest.raises(InputError, match="in memory"):
            release.write(ko.database(url, table="release"))


# -- databases that commit whenever a table is created -------------------------------------------------


@pytest.fixture
def unknown(tmp_path):
    """A database of which nothing is known: a file of SQLite by another name."""
    from sqlalchemy.dialects import registry

    from database_places import SqlitePlace

    registry.register("unheardof", "sqlalchemy.dialects.sqlite.pysqlite", "SQLiteDialect_pysqlite")
    place = SqlitePlace(tmp_path)
    place.url = place.url.replace("sqlite:", "unheardof:", 1)
    place.load("people", HOSPITAL)
    return place


def test_an_unknown_database_gets_a_new_table(unknown) -> None:
    release = ko.anonymize(ko.database(unknown.url, table="people"), **ASKED)
    release.write(ko.database(unknown.url, table="release"))
    assert records(table_in(unknown)) == records(release.arrow)
    with pytest.raises(InputError, match="exists"):
        release.write(ko.database(unknown.url, table="release"))
    assert sorted(unknown.tables()) == ["people", "release"]


def fail(*_given, **_named):
    raise InputError("the end")


@pytest.mark.parametrize("step", ["read_back", "put_in_place", "_renaming"])
def test_a_failure_drops_the_draft(unknown, monkeypatch, step) -> None:
    release = ko.anonymize(ko.database(unknown.url, table="people"), **ASKED)
    monkeypatch.setattr(sqlalchemy_databases.NewTableWriting, step, fail)
    with pytest.raises(InputError, match="the end"):
        release.write(ko.database(unknown.url, table="release"))
    assert unknown.tables() == ["people"]


def test_a_draft_of_a_running_process_is_left_alone(mysql) -> None:
    mysql.load("people", HOSPITAL)
    release = ko.anonymize(HOSPITAL, **ASKED)
    with closing(open_writing(ko.database(mysql.url, table="other"))) as running:
        running.fill(pa.schema([("a", pa.int64())]), iter([pa.table({"a": [1]})]))
        release.write(ko.database(mysql.url, table="release"))
        assert len(mysql.tables()) == 3
    assert sorted(mysql.tables()) == ["people", "release"]


def test_a_connection_that_is_ended(mysql, tmp_path, monkeypatch) -> None:
    """Before the rename: the old table stays, and the draft goes, over a new connection."""
    mysql.load("people", HOSPITAL)
    mysql.load("release", pa.table({"old": [1, 2, 3]}))
    renaming = sqlalchemy_databases.MysqlWriting._renaming

    def ended(self):
        (number,) = self._database.rows("select connection_id()")[0]
        mysql.run(f"kill {number}")
        time.sleep(0.1)
        return renaming(self)

    monkeypatch.setattr(sqlalchemy_databases.MysqlWriting, "_renaming", ended)
    release = ko.anonymize(ko.database(mysql.url, table="people"), **ASKED)
    with pytest.raises(InputError, match="connection"):
        release.write(ko.database(mysql.url, table="release"), certificate=tmp_path / "c.json")
    assert table_in(mysql).to_pydict() == {"old": [1, 2, 3]}
    assert sorted(mysql.tables()) == ["people", "release"]
    assert not list(tmp_path.iterdir())


def test_a_rename_whose_answer_is_lost(mysql, tmp_path, monkeypatch) -> None:
    mysql.load("people", HOSPITAL)
    run = AnyDatabase.run

    def lost(self, statement, **how):
        run(self, statement, **how)
        if statement.startswith("rename table"):
            raise InputError("the connection was lost")

    monkeypatch.setattr(AnyDatabase, "run", lost)
    release = ko.anonymize(ko.database(mysql.url, table="people"), **ASKED)
    release.write(ko.database(mysql.url, table="release"), certificate=tmp_path / "c.json")
    assert table_in(mysql).num_rows == 400
    assert (tmp_path / "c.json").exists()


def test_a_table_that_others_refer_to_is_not_replaced(mysql) -> None:
    mysql.run(
        "create table `release` (i int primary key)",
        "create table other (i int, foreign key (i) references `release` (i))",
    )
    with pytest.raises(InputError, match="foreign keys"):
        ko.anonymize(HOSPITAL, **ASKED).write(ko.database(mysql.url, table="release"))


def test_grants_stay_with_the_name(mysql) -> None:
    mysql.load("people", HOSPITAL)
    mysql.load("release", pa.table({"old": [1]}))
    mysql.run("create user if not exists reader@'%'", "grant select on `release` to reader@'%'")
    ko.anonymize(HOSPITAL, **ASKED).write(ko.database(mysql.url, table="release"))
    shown = [line for (line,) in mysql.rows("show grants for reader@'%'")]
    assert any('"own"."release"' in line for line in shown), shown

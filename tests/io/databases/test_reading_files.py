"""SQLite, DuckDB and SQLAlchemy as sources: types, snapshots, statements that are refused."""

import datetime
import decimal
import sqlite3
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

from database_places import DuckdbPlace, SqlitePlace
from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import database
from kohort.io.databases.dialect import open_writing, storable
from kohort.io.databases.records import DatabaseBatches
from reading_databases import content_hash, read_database


@pytest.fixture
def sqlite(tmp_path):
    pytest.importorskip("adbc_driver_sqlite", reason="kohort[database] is not installed")
    place = SqlitePlace(tmp_path)
    place.run("create table people (name text, age integer)", "insert into people values ('Ann', 40)")
    return place


@pytest.fixture
def duckdb(tmp_path):
    pytest.importorskip("duckdb", reason="kohort[database] is not installed")
    place = DuckdbPlace(tmp_path)
    place.run("create table people (name text, age integer)", "insert into people values ('Ann', 40)")
    return place


def published(table, target):
    """The table as it is read back inside the transaction, which is then committed."""
    stored = storable(table, target)
    assert storable(table.schema.empty_table(), target).schema == stored.schema
    writing = open_writing(target)
    try:
        writing.fill(stored.schema, iter([stored]))
        back = writing.read_back()
        found = pa.Table.from_batches(list(back.batches()), back.schema)
        assert content_hash(found) == content_hash(stored)
        writing.put_in_place()
        writing.commit()
    finally:
        writing.close()
    return read_database(target)[0]


# -- SQLite ------------------------------------------------------------------------------------------


def test_cells_of_several_types_become_text_in_sqlite(sqlite):
    sqlite.run(
        "create table odd (whole, mixed, rough, late, bytes, absent)",
        "insert into odd values (1, 1, 1, null, x'01', null), (2, 'two', 1.5, 'x', null, null)",
    )
    table, _ = read_database(database(sqlite.url, table="odd"))
    assert [str(kind) for kind in table.schema.types] == [
        "int64",
        "string",
        "double",
        "string",
        "binary",
        "string",
    ]
    assert table.to_pylist()[1] == {
        "whole": 2,
        "mixed": "two",
        "rough": 1.5,
        "late": "x",
        "bytes": None,
        "absent": None,
    }


def test_text_after_many_nulls_in_sqlite(sqlite):
    with sqlite3.connect(sqlite.path) as connection:
        connection.execute("create table late (words text)")
        connection.executemany("insert into late values (?)", [(None,)] * 70_000 + [("x",)])
    connection.close()
    table, _ = read_database(database(sqlite.url, table="late"))
    assert (table.num_rows, table["words"].null_count, table["words"][-1].as_py()) == (70_001, 70_000, "x")


def test_bytes_beside_text_are_refused_in_sqlite(sqlite):
    with pytest.raises(UnsupportedError, match="Column 'a'"):
        read_database(database(sqlite.url, query="select x'01' as a union all select 'b'"))


def test_a_snapshot_of_sqlite(sqlite):
    with sqlite3.connect(sqlite.path) as connection:
        connection.execute("pragma journal_mode = wal")
    connection.close()
    batches = DatabaseBatches(database(sqlite.url, table="people"))
    first = batches.whole()
    sqlite.run("insert into people values ('Bob', 50)")
    assert batches.whole() == first
    batches.close()
    with pytest.raises(InputError, match="1 records and now has 2"):
        batches.whole()


@pytest.mark.processes
def test_a_journal_that_a_killed_program_left_is_undone(sqlite):
    killed = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("pragma cache_size = 1")
connection.execute("update people set age = 1")
connection.executemany("insert into people values (?, 2)", [("x" * 500,)] * 5000)
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", killed, str(sqlite.path)])
    assert sqlite.path.with_name("people.db-journal").exists()
    assert read_database(database(sqlite.url, table="people"))[0].to_pylist() == [{"name": "Ann", "age": 40}]


def test_types_that_sqlite_has(sqlite):
    table = pa.table(
        {
            "yes": [True, None],
            "rough": [float("nan"), 1.5],
            "day": [datetime.date(2020, 1, 2), None],
            "moment": [datetime.datetime(2020, 1, 2, 3, 4), None],
            "zoned": pa.array([0, None], pa.timestamp("us", "UTC")),
            "clock": pa.array([1, None], pa.time32("s")),
            "price": [Decimal("1.50"), None],
            "label": pa.array(["[20, 30)", None]).dictionary_encode(),
        }
    )
    assert published(table, database(sqlite.url, table="kept")).to_pylist()[0] == {
        "yes": 1,
        "rough": None,
        "day": "2020-01-02",
        "moment": "2020-01-02 03:04:00.000000",
        "zoned": "1970-01-01 00:00:00.000000Z",
        "clock": "00:00:01",
        "price": "1.50",
        "label": "[20, 30)",
    }
    for column in (pa.array([[1]]), pa.array([datetime.timedelta(1)])):
        with pytest.raises(UnsupportedError, match="Column 'odd'"):
            storable(pa.table({"odd": column}), database(sqlite.url, table="x"))


# -- DuckDB ------------------------------------------------------------------------------------------


ODD = {
    "tiny": ("tinyint", 1),
    "huge": ("hugeint", Decimal(2)),
    "price": ("decimal(10,3)", Decimal("12.340")),
    "day": ("date", datetime.date(2020, 1, 2)),
    "moment": ("timestamp", datetime.datetime(2020, 1, 2, 3)),
    "zoned": ("timestamptz", datetime.datetime(2020, 1, 2, 3, tzinfo=datetime.timezone.utc)),
    "clock": ("time", datetime.time(3, 4)),
    "lasting": ("interval", "1 day"),
    "numbers": ("integer[]", [1, 2]),
    "code": ("uuid", "57684cdf-0569-4ba5-9e07-29ff54af1eee"),
    "object": ("json", '{"a":1}'),
    "bytes": ("blob", b"a"),
    "yes": ("boolean", True),
    "words": ("varchar", "x'y\"z"),
}


def test_types_of_duckdb_are_kept(duckdb):
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _) in ODD.items())
    cells = ", ".join("'" + str("a" if v == b"a" else v).replace("'", "''") + "'" for _, v in ODD.values())
    duckdb.run(f"create table odd ({columns})", f"insert into odd values ({cells})")
    table, sha256 = read_database(database(duckdb.url, table="odd"))
    assert table.to_pylist() == [{name: value for name, (_, value) in ODD.items()}]
    assert content_hash(published(table, database(duckdb.url, table="copy"))) == sha256
    types = "select column_name, data_type from information_schema.columns where table_name = "
    assert duckdb.rows(f"{types} 'odd'") == duckdb.rows(f"{types} 'copy'")


def test_labels_of_an_enum_are_not_published(duckdb):
    duckdb.run("create table moods as select 'sad'::enum('sad', 'secret') as mood")
    table, _ = read_database(database(duckdb.url, table="moods"))
    assert "secret" not in str(table.schema.to_string())
    published(table, database(duckdb.url, table="copy"))
    assert duckdb.rows("select data_type from duckdb_columns() where table_name = 'copy'") == [("VARCHAR",)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select map {'a': 1} as odd", "Column 'odd' has the type MAP"),
        ("select 1; drop table people", "not one statement"),
        ("select * from people; delete from people", "not one statement"),
        ("select * from nobody", "nobody does not exist"),
        ("select 1 as a, 2 as a", "several columns"),
        ("select name::int as x from people", "ConversionException"),
    ],
)
def test_queries_that_duckdb_refuses(duckdb, query, words):
    with pytest.raises((InputError, UnsupportedError), match=words) as refused:
        read_database(database(duckdb.url, query=query))
    assert "Ann" not in str(refused.value)
    assert duckdb.rows("select name from people") == [("Ann",)]


@pytest.mark.parametrize("url", ["postgresql://host/x", "duckdb:///people.duckdb"])
def test_times_that_would_lose_a_part_are_refused(url):
    table = pa.table({"clock": pa.array([1], pa.time64("ns"))})
    with pytest.raises(UnsupportedError, match="Column 'clock'"):
        storable(table, database(url, table="x"))


def test_names_are_names_in_files(sqlite, duckdb):
    name = '"x""; drop table people; --"'
    table = pa.table({"a\"b'; drop table people; --": [1]})
    for place in (sqlite, duckdb):
        assert published(table, database(place.url, table=name)) == table
        assert sorted(place.tables()) == ["people", 'x"; drop table people; --']


# -- SQLAlchemy --------------------------------------------------------------------------------------


@pytest.fixture
def alchemy(sqlite):
    pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")
    from sqlalchemy.dialects import registry

    registry.register("unheardof", "sqlalchemy.dialects.sqlite.pysqlite", "SQLiteDialect_pysqlite")
    return sqlite.url.replace("sqlite:", "unheardof:")


def test_types_by_sqlalchemy(alchemy, sqlite):
    sqlite.run(
        "create table odd (a, b, c, d)", "insert into odd values (1, 1.5, 'x', null), (2, 2, ':y', x'01')"
    )
    table, _ = read_database(database(alchemy, query="select *, ':z' as e from odd"))
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", "string", "binary", "string"]
    assert table.to_pylist()[1] == {"a": 2, "b": 2.0, "c": ":y", "d": b"\x01", "e": ":z"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select 1 as a union all select 'x'", "Column 'a' holds values of several types"),
        ("select 1; drop table people", "syntax error"),
        ("select * from nobody", "no such table"),
        ("select 1 as a where 1 = 0", "no records"),
    ],
)
def test_queries_that_are_refused_by_sqlalchemy(alchemy, query, words):
    with pytest.raises(InputError, match=words):
        read_database(database(alchemy, query=query))


def test_databases_that_sqlalchemy_does_not_know():
    pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")
    with pytest.raises(InputError, match="nothing"):
        read_database(database("nothing://ann@host/x", table="people"))


def test_decimals_of_several_parts():
    pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")
    from kohort.io.databases.sqlalchemy_databases import _joined, _type

    one = _type("a", {decimal.Decimal}, (Decimal("1.50"), None))
    other = _type("a", {decimal.Decimal}, (Decimal("1000"),))
    assert (one, other) == (pa.decimal128(3, 2), pa.decimal128(4, 0))
    assert _joined("a", one, other) == pa.decimal128(6, 2)
    assert _type("a", {decimal.Decimal}, (Decimal("NaN"),)) == pa.string()
    with pytest.raises(UnsupportedError, match="'a' has the type dict"):
        _type("a", {dict}, ({},))

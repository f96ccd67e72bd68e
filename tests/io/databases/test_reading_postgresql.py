"""PostgreSQL as a source: types, snapshots, statements that are refused."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from database_places import PASSWORD, PostgresqlPlace
from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import database
from kohort.io.databases.dialect import DATABASE_TYPE, open_reading, open_writing, storable
from kohort.io.databases.records import DatabaseBatches
from reading_databases import content_hash, read_database

ODD = {
    "small": ("int2", 1),
    "whole": ("int4", 2),
    "large": ("int8", 3),
    "rough": ("float4", 1.5),
    "fine": ("float8", 2.5),
    "price": ("numeric(10,3)", Decimal("12.340")),
    "vast": ("numeric", "1" + "0" * 40),
    "words": ("text", "x'y\"z"),
    "short": ("varchar(5)", "abc"),
    "padded": ("char(3)", "z"),
    "yes": ("boolean", True),
    "day": ("date", datetime.date(2020, 1, 2)),
    "moment": ("timestamp", datetime.datetime(2020, 1, 2, 3, 4)),
    "zoned": ("timestamptz", datetime.datetime(2020, 1, 2, 2, 4, tzinfo=datetime.timezone.utc)),
    "clock": ("time", datetime.time(3, 4)),
    "zoned_clock": ("timetz", "03:04:00+01"),
    "lasting": ("interval", "1 day 02:00:00"),
    "numbers": ("int[]", [1, 2]),
    "words_list": ("text[]", ["a", "b,c"]),
    "prices": ("numeric[]", ["1.50"]),
    "mood": ("mood", "sad"),
    "code": ("uuid", "57684cdf-0569-4ba5-9e07-29ff54af1eee"),
    "object": ("jsonb", '{"a": 1}'),
    "plain_object": ("json", '{"a":1}'),
    "bytes": ("bytea", b"\x01\xff"),
    "place": ("inet", "127.0.0.1/32"),
    "bits": ("bit(3)", "101"),
    "money": ("money", "$5.00"),
    "range": ("int4range", "[1,3)"),
    "nothing": ("text", None),
}


def sql_name(name):
    return '"' + name.replace('"', '""') + '"'


def literal(kind, value):
    if value is None:
        return f"null::{kind}"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'::{kind}"
    if isinstance(value, list):
        return f"array[{', '.join(map(repr, value))}]::{kind}"
    text = str(value).replace("'", "''")
    return f"'{text}'::{kind}"


@pytest.fixture
def odd(postgresql) -> PostgresqlPlace:
    """A table with a column of each type, and a record of nulls."""
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _) in ODD.items())
    cells = ", ".join(literal(*cell) for cell in ODD.values())
    postgresql.run(
        "create type mood as enum ('sad', 'glad')",
        f"create table odd ({columns})",
        f"insert into odd values ({cells})",
        'insert into odd ("nothing") values (null)',
    )
    return postgresql


def test_odd_types_are_read(odd):
    table, _ = read_database(database(odd.url, table="public.odd"))
    first, second = table.to_pylist()
    assert first == {name: value for name, (_, value) in ODD.items()}
    assert set(second.values()) == {None}
    assert table.schema.field("price").type == pa.decimal128(10, 3)


def test_odd_types_are_kept_in_a_new_table(odd):
    table, sha256 = read_database(database(odd.url, table="odd"))
    target = database(odd.url, table="copy")
    stored = storable(table, target)
    writing = open_writing(target)
    writing.fill(stored.schema, iter([stored]))
    back = writing.read_back()
    assert content_hash(pa.Table.from_batches(list(back.batches()), back.schema)) == sha256
    writing.put_in_place()
    writing.commit()
    writing.close()
    types = (
        "select attname, format_type(atttypid, atttypmod) from pg_attribute where attnum > 0 and attrelid = "
    )
    before, after = (dict(odd.rows(f"{types} '{name}'::regclass")) for name in ("odd", "copy"))
    longer = {"short": "text", "padded": "text", "bits": "bit varying"}  # a query does not tell their length
    assert after == before | longer
    assert odd.rows(
        "select count(*) from copy c join odd o on to_jsonb(c) - 'padded' = to_jsonb(o) - 'padded'"
    ) == [(2,)]


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("select (1, 2) as pair", "pair"),
        ("select array[[1, 2], [3, 4]] as matrix", "matrix"),
        ("select 'infinity'::date as day", "day"),
        ("select '-infinity'::timestamptz as moment", "moment"),
        ("select '20000-01-01'::date as day", "day"),
        ("select 'nan'::numeric(5, 2) as price", "price"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(shared_postgresql, query, column):
    with pytest.raises((InputError, UnsupportedError), match=f"Column '{column}'"):
        read_database(database(shared_postgresql.url, query=query))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select 1; drop table people", "syntax error"),
        ("select 1) as x; commit; drop table people; --", "syntax error"),
        ("with gone as (delete from people returning *) select * from gone", "WITH clause"),
        ("select nextval('counter')", "would write"),
        ("select set_config('transaction_read_only', 'off', false) as x", "would write"),
        ("selec 1", "syntax error"),
        ("select * from missing", 'relation "missing" does not exist'),
        ("select nobody from people", 'column "nobody" does not exist'),
        ("select 1 as a, 2 as a", "several columns are called 'a'"),
        ("select name::int as x from people", "cannot be converted"),
        ("select 1 as a where false", "has no records"),
        ("select", "has no columns"),
    ],
)
def test_only_queries_that_read_are_run(shared_postgresql, query, words):
    with pytest.raises(InputError, match=words) as refused:
        read_database(database(shared_postgresql.url, query=query))
    assert "Ann" not in str(refused.value)
    assert shared_postgresql.rows("select * from people") == [("Ann",)]


def test_all_readings_are_of_one_snapshot(postgresql):
    postgresql.run("create table people as select i, i % 7 as town from generate_series(1, 20000) i")
    batches = DatabaseBatches(database(postgresql.url, table="people"))
    first = batches.whole()
    postgresql.run("update people set town = 8 where i < 100", "insert into people values (0, 0)")
    assert batches.whole() == first
    batches.close()
    with pytest.raises(InputError, match=r"20,000 records and now has 20,001"):
        batches.whole()


def test_changed_columns_and_changed_order_are_refused(postgresql):
    postgresql.run("create table people as select i from generate_series(1, 50) i")
    batches = DatabaseBatches(database(postgresql.url, table="people"))
    batches.whole()
    batches.close()
    postgresql.run("alter table people add town text")
    with pytest.raises(InputError, match="its columns are others"):
        batches.whole()
    random = DatabaseBatches(database(postgresql.url, query="select i from people order by random()"))
    random.whole()
    with pytest.raises(InputError, match="order by"):
        random.whole()


def test_a_reading_may_stop_early(postgresql):
    postgresql.run("create table people as select i, repeat('x', 200) as t from generate_series(1, 200000) i")
    batches = DatabaseBatches(database(postgresql.url, table="people"))
    assert batches.whole_if(lambda size: size < 1_000_000) is None
    assert sum(len(batch) for batch in batches.read(["i"])) == 200_000


def test_names_are_names_and_nothing_else(postgresql):
    column, table = "a\"b'; drop table people; --", 'x"; drop table people; --'
    quoted = sql_name(table)
    postgresql.run("create table people (i int)", f"create table {quoted} as select 1 as i")
    assert read_database(database(postgresql.url, table=quoted))[0].to_pylist() == [{"i": 1}]
    query = f"select i as {sql_name(column)} from {quoted}"
    read, _ = read_database(database(postgresql.url, query=query))
    target = database(postgresql.url, table=quoted)
    writing = open_writing(target)
    stored = storable(read, target)
    writing.fill(stored.schema, iter([stored]))
    writing.put_in_place()
    writing.commit()
    writing.close()
    assert read_database(target)[0].column_names == [column]
    assert sorted(postgresql.tables()) == sorted(["people", table])


@pytest.mark.parametrize("name", ["missing", "people; drop table people", "other.people", '"people"" --"'])
def test_tables_that_are_not_there(shared_postgresql, name):
    with pytest.raises(InputError, match="does not exist"):
        read_database(database(shared_postgresql.url, table=name))
    assert shared_postgresql.tables() == ["people"]


def test_connections_that_fail(postgresql, monkeypatch):
    url = postgresql.url
    port = f":{postgresql.server.port}"
    with pytest.raises(InputError, match="Connection refused"):
        open_reading(database(url.replace(port, ":1"), table="people"))
    with pytest.raises(InputError, match="does not exist"):
        open_reading(database(postgresql.server.url(name="nowhere"), table="people"))
    monkeypatch.setenv("PGPASSWORD", "wrong-one")
    with pytest.raises(InputError, match="refused the user or the password") as refused:
        open_reading(database(url, table="people"))
    assert "wrong-one" not in str(refused.value)
    with pytest.raises(InputError, match="refused the user or the password") as refused:
        open_reading(database(url.replace("@", ":another-one@"), table="people"))
    assert "another-one" not in str(refused.value)


def test_the_password_may_be_in_pgpass(postgresql, monkeypatch, tmp_path):
    postgresql.run("create table people as select 1 as i")
    monkeypatch.delenv("PGPASSWORD")
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:{postgresql.server.port}:*:steward:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    assert read_database(database(postgresql.url, table="people"))[0].num_rows == 1
    with_password = postgresql.url.replace("@", f":{PASSWORD}@")
    passwords.unlink()
    assert read_database(database(with_password, table="people"))[0].num_rows == 1


def test_a_lost_connection(postgresql):
    postgresql.run("create table people as select i from generate_series(1, 100) i")
    batches = DatabaseBatches(database(postgresql.url, table="people"))
    postgresql.rows("select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in%'")
    with pytest.raises(InputError, match="connection"):
        batches.whole()


def test_the_types_are_noted(odd):
    reading = open_reading(database(odd.url, query="select price, mood from odd"))
    noted = [field.metadata[DATABASE_TYPE] for field in reading.schema]
    reading.close()
    assert noted == [b"postgresql numeric(10,3)", b"postgresql mood"]

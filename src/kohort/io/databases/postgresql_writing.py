"""Types of PostgreSQL: which come as they are, which as text, and what a column of a release becomes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import (
    DATABASE_TYPE,
    AdbcConnection,
    Reading,
    not_written,
    plain_type,
    quoted,
    stored_as,
)
from kohort.io.databases.database_table import DatabaseTable

_AS_THEY_ARE = {
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "text",
    "character varying",
    "date",
    "time without time zone",
    "timestamp without time zone",
    "timestamp with time zone",
    "bytea",
}
_TEXTS = ("character", "name", '"char"')
_ENDLESS = {"bit": "bit varying", "bit[]": "bit varying[]"}  # without a length, bit has one digit
_LARGEST_DECIMAL = 38
_TIMES = {pa.date32(): (-719_162, 2_932_896)}
_MICROSECONDS = (-62_135_596_800_000_000, 253_402_300_799_999_999)  # of the years 1 to 9999


@dataclass(frozen=True)
class SelectedColumn:
    """How a column is selected, and the field that it becomes."""

    expression: str
    field: pa.Field


def selected_columns(schema: pa.Schema, types: Sequence[str]) -> list[SelectedColumn]:
    """How each column of a query is read; `types` are their types as SQL has them, without modifiers."""
    return [_selected(field, kind) for field, kind in zip(schema, types)]


def _selected(field: pa.Field, kind: str) -> SelectedColumn:
    own = quoted(field.name)
    if kind.removesuffix("[]") in _AS_THEY_ARE:
        return SelectedColumn(own, pa.field(field.name, _plain_list(field.type)))
    if kind in _TEXTS:
        return SelectedColumn(f"{own}::text as {own}", pa.field(field.name, pa.string()))
    if kind in ("record", "void", "unknown", "record[]") or kind.startswith("any"):
        raise UnsupportedError(
            f"Column {field.name!r} has the type {kind}, which no table can hold. Leave it out, or cast it "
            "in the query."
        )
    modified, arrow = _numeric(field) if kind == "numeric" else (kind, pa.string())
    told = {DATABASE_TYPE: b"postgresql " + _ENDLESS.get(modified, modified).encode()}
    if kind.endswith("[]"):
        return SelectedColumn(
            f"{own}::text[] as {own}", pa.field(field.name, pa.list_(pa.string()), metadata=told)
        )
    return SelectedColumn(f"{own}::text as {own}", pa.field(field.name, arrow, metadata=told))


def _numeric(field: pa.Field) -> tuple[str, pa.DataType]:
    """The type of a column of decimal numbers: text where it says nothing about their digits."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
    precision, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF
    if modifier < 0 or precision > _LARGEST_DECIMAL or scale > precision:
        return "numeric", pa.string()
    return f"numeric({precision},{scale})", pa.decimal128(precision, scale)


def _plain_list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind


def refuse_endless_times(batch: pa.RecordBatch) -> None:
    """Refuse dates and times outside of the years 1 to 9999, infinity among them."""
    for field, column in zip(batch.schema, batch.columns):
        if pa.types.is_timestamp(field.type):
            least, most = _MICROSECONDS
            numbers = column.cast(pa.int64())
        elif pa.types.is_date32(field.type):
            least, most = _TIMES[field.type]
            numbers = column.cast(pa.int32())
        else:
            continue
        found = pc.min_max(numbers).as_py()
        if found["min"] is not None and not least <= found["min"] <= found["max"] <= most:
            raise InputError(
                f"Column {field.name!r} has dates or times outside of the years 1 to 9999, such as infinity. "
                "Replace them in the query, for example by null."
            )


# -- writing -----------------------------------------------------------------------------------------


_PLAIN: list[tuple[Any, str]] = [
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_string, "text"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_date32, "date"),
    (pa.types.is_time64, "time"),
]
_WIDER: list[tuple[Any, pa.DataType]] = [
    (pa.types.is_int8, pa.int16()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
    (pa.types.is_null, pa.string()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
]


def storable_column(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
    """A column in a type that PostgreSQL has; decimals are text on their way to it."""
    note = (field.metadata or {}).get(DATABASE_TYPE, b"")
    kept = {DATABASE_TYPE: note} if note.startswith(b"postgresql ") else {}
    kind = plain_type(field.type)
    kind = next((wide for test, wide in _WIDER if test(kind)), kind)
    column = stored_as(field, column, kind)
    if pa.types.is_timestamp(kind):
        column = stored_as(field, column, pa.timestamp("us", None if kind.tz is None else "UTC"))
    elif pa.types.is_decimal(kind):
        kept = kept or {DATABASE_TYPE: f"postgresql numeric({kind.precision},{kind.scale})".encode()}
        column = column.cast(pa.string())
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        column = stored_as(field, column, pa.list_(_element(field, kind.value_type)))
    elif not any(test(kind) for test, _ in _PLAIN):
        raise not_written(field, "PostgreSQL")
    return pa.field(field.name, column.type, metadata=kept or None), column


def _element(field: pa.Field, kind: pa.DataType) -> pa.DataType:
    kind = plain_type(kind)
    kind = next((wide for test, wide in _WIDER if test(kind)), kind)
    if not any(test(kind) for test, _ in _PLAIN):
        raise not_written(field, "PostgreSQL")
    return kind


def column_type(kind: pa.DataType) -> str:
    """The type of a column as SQL has it, for a type that `storable_column` gives."""
    if pa.types.is_list(kind):
        return f"{column_type(kind.value_type)}[]"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with time zone"
    return next(name for test, name in _PLAIN if test(kind))


# PostgreSQL as a place to publish: the table is created, filled, checked and named in one transaction.


_LONGEST_NAME = 63  # bytes; PostgreSQL would cut off the rest
_SETTINGS = (
    "set local lock_timeout = '30s'",
    "set local synchronize_seqscans = off",
    "set local max_parallel_workers_per_gather = 0",
)
_SCHEMA = (
    "select n.oid::int8, has_schema_privilege(n.oid, 'CREATE') from pg_namespace n "
    "where n.nspname = coalesce($1, current_schema())"
)
_TABLE = (
    "select c.oid::int8, c.relkind::text, c.relrowsecurity, pg_has_role(c.relowner, 'USAGE') from pg_class c "
    "where c.relname = $1 and c.relnamespace::int8 = $2"
)
_GRANTS = (
    "select a.privilege_type, case when a.grantee = 0 then null else pg_get_userbyid(a.grantee) end, "
    "a.is_grantable from pg_class c, aclexplode(c.relacl) a where c.oid::int8 = $1 "
    "and a.grantee <> c.relowner"
)


def open_writing(target: DatabaseTable) -> PostgresqlWriting:
    """Begin a transaction that publishes a table."""
    from kohort.io.databases.postgresql import connect

    assert target.table is not None
    connection = connect(target.address)
    try:
        return PostgresqlWriting(connection, target.table)
    except BaseException:
        connection.close()
        raise


class PostgresqlTable:
    """The place of a table that is published: an old one of its name is found, and refused if it must stay.

    connection  by whichever driver, with an open transaction
    """

    def __init__(self, connection: Any, table: tuple[str, ...]) -> None:
        self._connection = connection
        for setting in _SETTINGS:
            connection.run(setting)
        *above, self._name = table
        if len(above) > 1:
            raise InputError(f"{'.'.join(table)}: a table of PostgreSQL has a schema and a name, no more.")
        if len(self._name.encode()) > _LONGEST_NAME:
            raise InputError(
                f"The name of the table is too long: PostgreSQL has {_LONGEST_NAME} bytes for it."
            )
        self._above = above
        self._old = self._found()

    def _found(self) -> int | None:
        """The number of the table that will be replaced; None for a new one."""
        where = self._connection.rows(_SCHEMA, self._above[0] if self._above else None)
        if not where:
            raise InputError(f"{self._connection.address}: there is no schema {'.'.join(self._above)!r}.")
        number, may_create = where[0]
        if not may_create:
            raise InputError(
                f"{self._connection.address}: the user may not create tables in the schema. Ask for CREATE "
                "on it, or choose another schema."
            )
        found = self._connection.rows(_TABLE, self._name, number)
        if not found:
            return None
        oid, kind, has_policies, is_owner = found[0]
        if kind != "r" or has_policies or not is_owner:
            why = (
                "it is not a plain table"
                if kind != "r"
                else "it has row security, which the new one would lack"
                if has_policies
                else "it belongs to another user"
            )
            raise InputError(f"Table {self._name!r} exists and is not replaced: {why}. Choose another name.")
        return oid

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        from kohort.io.databases.postgresql import identity

        place = identity(self._connection)
        if self._old is not None and (*place, self._old) in relations:
            raise InputError(f"Table {self._name!r} is one that this run reads. Choose another output.")

    def put_in_place(self, draft: str) -> None:
        """Give a table its name, in the place of the old one and with the grants of that."""
        old, new = quoted(*self._above, self._name), quoted(*self._above, draft)
        grants = [] if self._old is None else self._connection.rows(_GRANTS, self._old)
        if self._old is not None:
            self._connection.run(f"drop table {old}")
        self._connection.run(f"alter table {new} rename to {quoted(self._name)}")
        for privilege, grantee, grantable in grants:
            to = "public" if grantee is None else quoted(grantee)
            self._connection.run(
                f"grant {privilege} on {old} to {to}{' with grant option' if grantable else ''}"
            )

    def commit(self, connect: Callable[[], Any]) -> None:
        """Commit; where the connection is lost meanwhile, the server is asked what came of it."""
        (number,) = self._connection.rows("select txid_current()")[0]
        try:
            self._connection.commit()
        except InputError as error:
            outcome = self._outcome(number, connect)
            if outcome is None:
                raise InputError(
                    f"{self._connection.address}: the connection was lost while the table was published, and "
                    "the server cannot be asked whether it was. Look at the table before you run this again."
                ) from None
            if outcome != "committed":
                raise error

    def _outcome(self, number: int, connect: Callable[[], Any]) -> str | None:
        """What became of a transaction: committed, aborted; None if the server does not say."""
        try:
            asking = connect()
        except InputError:
            return None
        try:
            return asking.rows("select txid_status($1)", number)[0][0]
        except InputError:
            return None
        finally:
            asking.close()


class PostgresqlWriting:
    """A table that is about to be published, by ADBC."""

    def __init__(self, connection: AdbcConnection, table: tuple[str, ...]) -> None:
        self._connection, self._above = connection, table[:-1]
        self._table = PostgresqlTable(connection, table)
        self._new = f"kohort_{secrets.token_hex(8)}"

    def beside(self, target: DatabaseTable) -> PostgresqlWriting:
        assert target.table is not None
        return PostgresqlWriting(self._connection, target.table)

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        self._table.refuse_reads(relations)

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        new = quoted(*self._above, self._new)
        columns = ", ".join(f"{quoted(field.name)} {column_type(field.type)}" for field in schema)
        self._connection.run(f"create table {new} ({columns})", tells=True)
        batches = (batch for table in tables for batch in table.to_batches())
        where = {"db_schema_name": self._above[0]} if self._above else {}
        self._connection.append(self._new, pa.RecordBatchReader.from_batches(schema, batches), **where)
        if changes := [change for field in schema if (change := self._own_type(field)) is not None]:
            self._connection.run(f"alter table {new} {', '.join(changes)}")

    def _own_type(self, field: pa.Field) -> str | None:
        """How a column gets the type that it had in its original; None where that is not known here."""
        note = (field.metadata or {}).get(DATABASE_TYPE, b"").decode()
        kind = note.removeprefix("postgresql ")
        if not kind or self._connection.rows("select to_regtype($1)::text", kind)[0][0] is None:
            return None
        name = quoted(field.name)
        return f"alter column {name} type {kind} using {name}::{kind}"

    def read_back(self) -> Reading:
        from kohort.io.databases.postgresql import PostgresqlReading

        statement = f"select * from {quoted(*self._above, self._new)}"
        return PostgresqlReading(self._connection, statement, owns=False)

    def put_in_place(self) -> None:
        self._table.put_in_place(self._new)

    def commit(self) -> None:
        from kohort.io.databases.postgresql import connect

        self._table.commit(lambda: connect(self._connection.address))

    def close(self) -> None:
        self._connection.close()


def storable(table: pa.Table) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    pairs = [storable_column(field, column) for field, column in zip(table.schema, table.columns)]
    return pa.Table.from_arrays(
        [column for _, column in pairs], schema=pa.schema([field for field, _ in pairs])
    )

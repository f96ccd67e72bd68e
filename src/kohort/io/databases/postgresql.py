"""PostgreSQL through ADBC: read in one repeatable-read, read-only transaction, and written in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import AdbcConnection, quoted
from kohort.io.databases.database_table import Address, DatabaseTable
from kohort.io.databases.dialect import (
    DATABASE_TYPE,
    Dialect,
    Reading,
    Stored,
    Writing,
    plain_type,
    stored_as,
    stored_type,
)
from kohort.io.formats.fitting import refuse_doubles

# one order of records for all readings: scans start at the first page, and nothing runs side by side
_STEADY = (
    "set local synchronize_seqscans = off",
    "set local max_parallel_workers_per_gather = 0",
)
_TO_READ = (
    "set transaction isolation level repeatable read, read only",
    "set local idle_in_transaction_session_timeout = 0",
    *_STEADY,
)
_TO_WRITE = ("set local lock_timeout = '30s'", *_STEADY)
_RELATIONS = (
    "select distinct l.relation::int8 from pg_locks l where l.pid = pg_backend_pid() "
    "and l.relation is not null and l.relation >= 16384"
)
_STARTED = "pg_postmaster_start_time()::text"
_DATABASE = "(select oid::int8 from pg_database where datname = current_database())"


def _connect(address: Address, *, to_write: bool) -> AdbcConnection:
    """A connection; libpq finds the password in PGPASSWORD, ~/.pgpass or a service file."""
    connection = AdbcConnection(
        address, "adbc_driver_postgresql.dbapi", "PostgreSQL", address.without_driver()
    )
    try:
        for setting in _TO_WRITE if to_write else _TO_READ:
            connection.run(setting)
    except BaseException:
        connection.close()
        raise
    return connection


def _identity(connection: Any) -> tuple[str, int]:
    """Which database it is, whatever name leads to it: the number of the server, and that of the database."""
    may_ask = connection.rows("select has_function_privilege('pg_control_system()', 'execute')")[0][0]
    server = "(select system_identifier::text from pg_control_system())" if may_ask else _STARTED
    return connection.rows(f"select {server}, {_DATABASE}")[0]


class PostgresqlReading(Reading):
    """The records of a statement, with types that Arrow does not have as text."""

    def _looked_at(self) -> tuple[pa.Schema, str]:
        connection, source = self._connection, f"(\n{self._statement}\n) as kohort_source"
        found = connection.schema(f"select * from {source}")
        raw = connection.schema(self._statement)  # there, doubles are not refused by the server
        refuse_doubles(raw.names, str(connection.address))
        columns = [_selected(field, kind) for field, kind in zip(found, self._types(found.names))]
        schema = pa.schema([field for _, field in columns])
        self._refuse_matrices(schema, source)
        return schema, f"select {', '.join(cell for cell, _ in columns)} from {source}"

    def _types(self, names: list[str]) -> list[str]:
        """The types of the columns as SQL has them; the join gives a row of nulls, without any record."""
        asked = ", ".join(f"pg_typeof(s.{quoted(name)})::text" for name in names)
        joined = f"(select 1) as one left join (\n{self._statement}\n) as s on false"
        return list(self._connection.rows(f"select {asked} from {joined}")[0])

    def _refuse_matrices(self, schema: pa.Schema, source: str) -> None:
        """Refuse arrays of several dimensions: the driver would hand them on as flat ones."""
        for name in [field.name for field in schema if pa.types.is_list(field.type)]:
            deep = f"select 1 from {source} where array_ndims({quoted(name)}) > 1 limit 1"
            if self._connection.rows(deep):
                raise UnsupportedError(
                    f"Column {name!r} holds arrays of several dimensions, which Kohort does not "
                    "read. Leave it out, or cast it to text in the query."
                )

    def _parts(self) -> Iterator[pa.RecordBatch]:
        for batch in super()._parts():
            _refuse_endless_times(batch)
            yield batch

    def _relations(self, source: DatabaseTable) -> frozenset[Any]:
        """The tables that the transaction has read so far, which it has locked."""
        place = _identity(self._connection)
        return frozenset((*place, number) for (number,) in self._connection.rows(_RELATIONS))


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
_DAYS = (-719_162, 2_932_896)  # of the years 1 to 9999
_MICROSECONDS = (-62_135_596_800_000_000, 253_402_300_799_999_999)


def _selected(field: pa.Field, kind: str) -> tuple[str, pa.Field]:
    """How a column is selected, and the field that it becomes; `kind` is its type as SQL has it."""
    own = quoted(field.name)
    if kind.removesuffix("[]") in _AS_THEY_ARE:
        plain = pa.list_(field.type.value_type) if pa.types.is_list(field.type) else field.type
        return own, pa.field(field.name, plain)
    if kind in _TEXTS:
        return f"{own}::text as {own}", pa.field(field.name, pa.string())
    if kind in ("record", "void", "unknown", "record[]") or kind.startswith("any"):
        raise UnsupportedError(
            f"Column {field.name!r} has the type {kind}, which no table can hold. Leave it out, or cast it "
            "in the query."
        )
    modified, arrow = _numeric(field) if kind == "numeric" else (kind, pa.string())
    told = {DATABASE_TYPE: b"postgresql " + _ENDLESS.get(modified, modified).encode()}
    if kind.endswith("[]"):
        return f"{own}::text[] as {own}", pa.field(field.name, pa.list_(pa.string()), metadata=told)
    return f"{own}::text as {own}", pa.field(field.name, arrow, metadata=told)


def _numeric(field: pa.Field) -> tuple[str, pa.DataType]:
    """The type of a column of decimal numbers: text where it says nothing about their digits."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
    precision, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF
    if modifier < 0 or precision > _LARGEST_DECIMAL or scale > precision:
        return "numeric", pa.string()
    return f"numeric({precision},{scale})", pa.decimal128(precision, scale)


def _refuse_endless_times(batch: pa.RecordBatch) -> None:
    """Refuse dates and times outside of the years 1 to 9999, infinity among them."""
    for field, column in zip(batch.schema, batch.columns):
        if pa.types.is_timestamp(field.type):
            (least, most), numbers = _MICROSECONDS, column.cast(pa.int64())
        elif pa.types.is_date32(field.type):
            (least, most), numbers = _DAYS, column.cast(pa.int32())
        else:
            continue
        found = pc.min_max(numbers).as_py()
        if found["min"] is not None and not least <= found["min"] <= found["max"] <= most:
            raise InputError(
                f"Column {field.name!r} has dates or times outside of the years 1 to 9999, such as infinity. "
                "Replace them in the query, for example by null."
            )


# PostgreSQL as a place to publish: the table is created, filled, checked and named in one transaction.


_LONGEST_NAME = 63  # bytes; PostgreSQL would cut off the rest
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


class PostgresqlWriting(Writing):
    """A table that is about to be published; an old one is known by its number, and hands on its grants."""

    reading = PostgresqlReading

    def _found(self) -> int | None:
        if len(self._name.encode()) > _LONGEST_NAME:
            raise InputError(
                f"The name of the table is too long: PostgreSQL has {_LONGEST_NAME} bytes for it."
            )
        address = self._connection.address
        where = self._connection.rows(_SCHEMA, self._above[0] if self._above else None)
        if not where:
            raise InputError(f"{address}: there is no schema {'.'.join(self._above)!r}.")
        number, may_create = where[0]
        if not may_create:
            raise InputError(
                f"{address}: the user may not create tables in the schema. Ask for CREATE "
                "on it, or choose another schema."
            )
        found = self._connection.rows(_TABLE, self._name, number)
        if not found:
            return None
        oid, kind, has_policies, is_owner = found[0]
        if kind != "r":
            raise self._refused("it is not a plain table")
        if has_policies:
            raise self._refused("it has row security, which the new one would lack")
        if not is_owner:
            raise self._refused("it belongs to another user")
        return oid

    def _own_relations(self) -> frozenset[Any]:
        return frozenset([(*_identity(self._connection), self._old)])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        new = self._quoted(self._new)
        columns = ", ".join(f"{quoted(field.name)} {_column_type(field.type)}" for field in schema)
        self._connection.run(f"create table {new} ({columns})", tells=True)
        where = {"db_schema_name": self._above[0]} if self._above else {}
        self._connection.append(self._new, schema, tables, **where)
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

    def put_in_place(self) -> None:
        grants = [] if self._old is None else self._connection.rows(_GRANTS, self._old)
        super().put_in_place()
        for privilege, grantee, grantable in grants:
            to = "public" if grantee is None else quoted(grantee)
            self._connection.run(
                f"grant {privilege} on {self._quoted(self._name)} to {to}"
                f"{' with grant option' if grantable else ''}"
            )

    def commit(self) -> None:
        """Commit; where the connection is lost meanwhile, the server is asked what came of it."""
        (number,) = self._connection.rows("select txid_current()")[0]
        try:
            self._connection.commit()
        except InputError as error:
            outcome = self._outcome(number)
            if outcome is None:
                raise self._lost() from None
            if outcome != "committed":
                raise error

    def _outcome(self, number: int) -> str | None:
        """What became of a transaction: committed, aborted; None if the server does not say."""
        try:
            asking = _connect(self._connection.address, to_write=False)
        except InputError:
            return None
        try:
            return asking.rows("select txid_status($1)", number)[0][0]
        except InputError:
            return None
        finally:
            asking.close()


_COLUMN_TYPES = {
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.binary(): "bytea",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamp with time zone",
}
_STORED: Stored = [
    (pa.types.is_boolean, pa.bool_()),
    (pa.types.is_int8, pa.int16()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_int16, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_int32, pa.int32()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_float64, pa.float64()),
    (pa.types.is_floating, pa.float32()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_string, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_binary, pa.binary()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
]


def _stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
    """A column in a type that PostgreSQL has; decimals are text on their way to it."""
    note = (field.metadata or {}).get(DATABASE_TYPE, b"")
    kept = {DATABASE_TYPE: note} if note.startswith(b"postgresql ") else {}
    kind = plain_type(field.type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = pa.list_(stored_type(field, kind.value_type, _STORED, "PostgreSQL"))
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", None if kind.tz is None else "UTC")
    elif not pa.types.is_decimal(kind):
        kind = stored_type(field, kind, _STORED, "PostgreSQL")
    column = stored_as(field, column, kind)
    if pa.types.is_decimal(kind):
        kept = kept or {DATABASE_TYPE: f"postgresql numeric({kind.precision},{kind.scale})".encode()}
        column = column.cast(pa.string())
    return pa.field(field.name, column.type, metadata=kept or None), column


def _column_type(kind: pa.DataType) -> str:
    """The type of a column as SQL has it, for a type that `_stored` gives."""
    return f"{_column_type(kind.value_type)}[]" if pa.types.is_list(kind) else _COLUMN_TYPES[kind]


DIALECT = Dialect(_connect, PostgresqlReading, PostgresqlWriting, _stored)

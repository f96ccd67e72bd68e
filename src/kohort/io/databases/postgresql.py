"""PostgreSQL through ADBC: read in one repeatable-read, read-only transaction, and written in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import Address, DatabaseTable, dialect
from kohort.io.formats.fitting import has_distant_dates, refuse_doubles

# one order of records for all readings: scans start at the first page, and nothing runs side by side
_STEADY = ("set local synchronize_seqscans = off", "set local max_parallel_workers_per_gather = 0")
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


class PostgresqlWriting(dialect.Writing):
    """A table that is about to be published; an old one is known by its number, and hands on its grants."""

    def _found(self) -> int | None:
        if len(self._name.encode()) > _LONGEST_NAME:
            raise InputError(
                f"The name of the table is too long: PostgreSQL has {_LONGEST_NAME} bytes for it."
            )
        address = self._database.address
        where = self._database.rows(_SCHEMA, self._above[0] if self._above else None)
        if not where:
            raise InputError(f"{address}: there is no schema {'.'.join(self._above)!r}.")
        number, may_create = where[0]
        if not may_create:
            raise InputError(
                f"{address}: the user may not create tables in the schema. Ask for CREATE "
                "on it, or choose another schema."
            )
        found = self._database.rows(_TABLE, self._name, number)
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
        return frozenset([(*self._database.identity, self._old)])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        new = self._quoted(self._new)
        columns = ", ".join(f"{dialect.quoted(field.name)} {_column_type(field.type)}" for field in schema)
        self._database.run(f"create table {new} ({columns})", tells=True)
        where = {"db_schema_name": self._above[0]} if self._above else {}
        self._database.append(self._new, schema, tables, **where)
        if changes := [change for field in schema if (change := self._own_type(field))]:
            self._database.run(f"alter table {new} {', '.join(changes)}")

    def _own_type(self, field: pa.Field) -> str:
        """How a column gets the type that it had in its original; empty where that is not known here."""
        kind = (field.metadata or {}).get(dialect.DATABASE_TYPE, b"").decode().removeprefix("postgresql ")
        if not kind or not self._database.rows("select to_regtype($1)::text", kind)[0][0]:
            return ""
        name = dialect.quoted(field.name)
        return f"alter column {name} type {kind} using {name}::{kind}"

    def put_in_place(self) -> None:
        grants = [] if self._old is None else self._database.rows(_GRANTS, self._old)
        super().put_in_place()
        for privilege, grantee, grantable in grants:
            to = "public" if grantee is None else dialect.quoted(grantee)
            option = " with grant option" if grantable else ""
            self._database.run(f"grant {privilege} on {self._quoted(self._name)} to {to}{option}")

    def commit(self) -> None:
        """Commit; where the connection is lost meanwhile, the server is asked what came of it."""
        (number,) = self._database.rows("select txid_current()")[0]
        try:
            self._database.commit()
        except InputError:
            outcome = ""
            with suppress(InputError), closing(Postgresql(self._database.address, to_write=False)) as asking:
                outcome = asking.rows("select txid_status($1)", number)[0][0] or ""
            if not outcome:
                raise self._lost() from None
            if outcome != "committed":
                raise


class Postgresql(dialect.AdbcDatabase):
    """A database of PostgreSQL's; types that Arrow does not have come as text."""

    writing = PostgresqlWriting

    def __init__(self, address: Address, *, to_write: bool) -> None:
        super().__init__(address, "adbc_driver_postgresql.dbapi", "PostgreSQL", address.without_driver())
        try:
            for setting in _TO_WRITE if to_write else _TO_READ:
                self.run(setting)
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> tuple[str, int]:
        """Which database it is, whatever name leads to it: the numbers of the server and of the database."""
        may_ask = self.rows("select has_function_privilege('pg_control_system()', 'execute')")[0][0]
        server = "(select system_identifier::text from pg_control_system())" if may_ask else _STARTED
        return self.rows(f"select {server}, {_DATABASE}")[0]

    def looked_at(self, statement: str, source: DatabaseTable | None) -> tuple[pa.Schema, str]:
        asked = f"(\n{statement}\n) as kohort_source"
        found = self._schema(f"select * from {asked}")
        refuse_doubles(self._schema(statement).names, str(self.address))  # there, the server refuses none
        columns = [_selected(field, kind) for field, kind in zip(found, self._types(statement, found.names))]
        schema = pa.schema([field for _, field in columns])
        self._refuse_matrices(schema, asked)
        return schema, f"select {', '.join(cell for cell, _ in columns)} from {asked}"

    def _schema(self, statement: str) -> pa.Schema:
        with self._cursor(tells=True) as cursor:
            return cursor.adbc_execute_schema(statement)

    def _types(self, statement: str, names: list[str]) -> list[str]:
        """The types of the columns as SQL has them; the join gives a row of nulls, without any record."""
        asked = ", ".join(f"pg_typeof(s.{dialect.quoted(name)})::text" for name in names)
        joined = f"(select 1) as one left join (\n{statement}\n) as s on false"
        return list(self.rows(f"select {asked} from {joined}")[0])

    def _refuse_matrices(self, schema: pa.Schema, source: str) -> None:
        """Refuse arrays of several dimensions: the driver would hand them on as flat ones."""
        for name in [field.name for field in schema if pa.types.is_list(field.type)]:
            if self.rows(f"select 1 from {source} where array_ndims({dialect.quoted(name)}) > 1 limit 1"):
                raise UnsupportedError(
                    f"Column {name!r} holds arrays of several dimensions, which Kohort does not "
                    "read. Leave it out, or cast it to text in the query."
                )

    def parts(self, select: str, schema: pa.Schema, **options: Any) -> Iterator[pa.RecordBatch]:
        for batch in super().parts(select, schema, **options):
            for field, column in zip(batch.schema, batch.columns):
                if has_distant_dates(column):
                    raise InputError(
                        f"Column {field.name!r} has dates or times outside of the years 1 to 9999, such as "
                        "infinity. Replace them in the query, for example by null."
                    )
            yield batch

    def relations(self, statement: str, source: DatabaseTable) -> frozenset[Any]:
        """The tables that the transaction has read so far, which it has locked."""
        place = self.identity
        return frozenset((*place, number) for (number,) in self.rows(_RELATIONS))

    @staticmethod
    def stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
        """A column in a type that PostgreSQL has; decimals are text on their way to it."""
        note = (field.metadata or {}).get(dialect.DATABASE_TYPE, b"")
        kept = {dialect.DATABASE_TYPE: note} if note.startswith(b"postgresql ") else {}
        kind = dialect.plain_type(field.type)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            kind = pa.list_(dialect.stored_type(field, kind.value_type, _STORED, "PostgreSQL"))
        elif pa.types.is_timestamp(kind):
            kind = pa.timestamp("us", None if kind.tz is None else "UTC")
        elif not pa.types.is_decimal(kind):
            kind = dialect.stored_type(field, kind, _STORED, "PostgreSQL")
        column = dialect.stored_as(field, column, kind)
        if pa.types.is_decimal(kind):
            kept = kept or {
                dialect.DATABASE_TYPE: f"postgresql numeric({kind.precision},{kind.scale})".encode()
            }
            column = column.cast(pa.string())
        return pa.field(field.name, column.type, metadata=kept or None), column


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
    pa.time64("us"): "time without time zone",
    pa.timestamp("us"): "timestamp without time zone",
    pa.timestamp("us", "UTC"): "timestamp with time zone",
}
_AS_THEY_ARE = {*_COLUMN_TYPES.values(), "character varying"}
_TEXTS = ("character", "name", '"char"')
_ENDLESS = {"bit": "bit varying", "bit[]": "bit varying[]"}  # without a length, bit has one digit
_LARGEST_DECIMAL = 38


def _selected(field: pa.Field, kind: str) -> tuple[str, pa.Field]:
    """How a column is selected, and the field that it becomes; `kind` is its type as SQL has it."""
    own = dialect.quoted(field.name)
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
    told = {dialect.DATABASE_TYPE: b"postgresql " + _ENDLESS.get(modified, modified).encode()}
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


_STORED: dialect.Stored = [
    (pa.types.is_boolean, pa.bool_()),
    (pa.types.is_int8, pa.int16()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_int16, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_int32, pa.int32()),
    *dialect.USUAL,
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_float64, pa.float64()),
    (pa.types.is_floating, pa.float32()),
]


def _column_type(kind: pa.DataType) -> str:
    """The type of a column as SQL has it, for a type that `stored` gives."""
    return f"{_column_type(kind.value_type)}[]" if pa.types.is_list(kind) else _COLUMN_TYPES[kind]

"""DuckDB: files that are databases, and queries over other files."""

from __future__ import annotations

import json
import secrets
from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import (
    DATABASE_TYPE,
    NewFile,
    Reading,
    explained,
    load_package,
    not_written,
    plain_type,
    quoted,
    refuse_file_reads,
    relations_of,
    stored_as,
)
from kohort.io.databases.database_table import Address, DatabaseTable
from kohort.io.formats.fitting import refuse_doubles

_ROWS = 1 << 17
_AS_TEXT = ("UUID", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "BIGNUM", "VARINT", "UHUGEINT", "GEOMETRY")
_KEPT = ("UUID", "JSON", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "HUGEINT", "UHUGEINT")
_STORED: list[tuple[Any, pa.DataType]] = [
    (pa.types.is_null, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
    (pa.types.is_float16, pa.float32()),
]
_REFUSED = ("UNION", "VARIANT", "MAP")


class _Connection:
    """A connection to a file, with errors in our words."""

    def __init__(self, address: Address, *, read_only: bool) -> None:
        duckdb = load_package("duckdb", "DuckDB")
        self.address, self.errors = address, (duckdb.Error, OSError, pa.ArrowException)
        self._select = duckdb.StatementType.SELECT
        with explained(address, self.errors, tells=True):
            place = ":memory:" if address.file is None else str(address.file)
            self.native = duckdb.connect(place, read_only=read_only and address.file is not None)
            self.native.execute("set threads = 1")  # one order of records for all readings
            self.native.execute("set TimeZone = 'UTC'")

    def run(self, statement: str, *, tells: bool = False) -> None:
        with explained(self.address, self.errors, tells=tells):
            self.native.execute(statement)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        with explained(self.address, self.errors, tells=tells):
            return self.native.execute(statement, list(values)).fetchall()

    def refuse_other_than_query(self, statement: str) -> None:
        with explained(self.address, self.errors, tells=True):
            found = self.native.extract_statements(statement)
        if len(found) != 1 or found[0].type != self._select:
            raise InputError("The query is not one statement that reads. Only such statements are run.")

    def tables_read(self, statement: str) -> list[str]:
        """The tables that a statement reads, as its plan names them."""
        plan = json.loads(self.rows(f"explain (format json) {statement}", tells=True)[0][1])
        return _tables_in(plan)

    def batches(self, statement: str) -> Generator[pa.RecordBatch, None, None]:
        with explained(self.address, self.errors, tells=False):
            relation = self.native.sql(statement)
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield from reader(_ROWS)

    def close(self) -> None:
        self.native.close()


def _tables_in(steps: list[dict[str, Any]]) -> list[str]:
    found = []
    for step in steps:
        named = step.get("extra_info") or {}
        found += [named["Table"]] if isinstance(named, dict) and "Table" in named else []
        found += _tables_in(step.get("children") or [])
    return found


def open_reading(source: DatabaseTable) -> DuckdbReading:
    """Begin to read a table or query; the file is opened for reading only."""
    if source.file is not None and not source.file.is_file():
        raise InputError(f"{source.file} does not exist. Check the URL: {source.address}.")
    connection = _Connection(source.address, read_only=True)
    try:
        connection.run("begin transaction read only")
        statement = f"select * from {quoted(*source.table)}" if source.table else source.query or ""
        reading = DuckdbReading(connection, statement)
        if source.file is not None:
            reading.relations = relations_of(source.file, connection.tables_read(statement))
        return reading
    except BaseException:
        connection.close()
        raise


class DuckdbReading:
    """The records of a statement; types that Arrow has not, or not quite, come as text."""

    def __init__(self, connection: _Connection, statement: str, *, owns: bool = True) -> None:
        self._connection, self._owns = connection, owns
        self.relations: frozenset[Any] = frozenset()
        connection.refuse_other_than_query(statement)
        described = connection.rows(f"describe {statement}", tells=True)
        refuse_doubles([name for name, *_ in described], str(connection.address))
        cells = ", ".join(_cell(name, kind) for name, kind, *_ in described)
        self._select = f"select {cells} from (\n{statement}\n) as kohort_source"
        self.schema = self._schema({name: kind for name, kind, *_ in described})

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        for batch in self._connection.batches(self._select):
            yield pa.RecordBatch.from_arrays(
                [column.cast(field.type) for field, column in zip(self.schema, batch.columns)],
                schema=self.schema,
            )

    def close(self) -> None:
        if self._owns:
            self._connection.close()

    def _schema(self, types: dict[str, str]) -> pa.Schema:
        found = next(iter(self._connection.batches(f"{self._select}\nlimit 1")), None)
        if found is None:
            found = pa.RecordBatch.from_pylist([], schema=self._empty_schema())
        return pa.schema([_field(field, types[field.name]) for field in found.schema])

    def _empty_schema(self) -> pa.Schema:
        relation = self._connection.native.sql(f"{self._select}\nlimit 0")
        reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        return reader(1).schema


def _cell(name: str, kind: str) -> str:
    own = quoted(name)
    if kind.startswith(_REFUSED):
        raise UnsupportedError(
            f"Column {name!r} has the type {kind.partition('(')[0]}, which Kohort does not read. Leave it "
            "out, or cast it to varchar in the query."
        )
    return f"{own}::varchar as {own}" if kind in _AS_TEXT or kind.startswith("ENUM") else own


def _field(field: pa.Field, kind: str) -> pa.Field:
    """The field of a column with the type to give it again; labels of an enum stay where they are."""
    arrow = field.type
    if pa.types.is_list(arrow):
        arrow = pa.list_(arrow.value_type)
    if pa.types.is_timestamp(arrow) and arrow.tz is not None:
        arrow = pa.timestamp(arrow.unit, "UTC")
    if pa.types.is_null(arrow):
        arrow = pa.string()
    told = {DATABASE_TYPE: b"duckdb " + kind.encode()} if kind in _KEPT else None
    return pa.field(field.name, arrow, metadata=told)


# -- writing -----------------------------------------------------------------------------------------


def open_writing(target: DatabaseTable) -> DuckdbWriting:
    """Begin a transaction that publishes a table; the file is made if there is none."""
    if target.file is None:
        raise InputError(f"{target.address} is a database in memory. Name a file: duckdb:///release.duckdb.")
    made = NewFile(target.file)
    connection = None
    try:
        connection = _Connection(target.address, read_only=False)
        connection.run("begin transaction")
        return DuckdbWriting(connection, target, made)
    except BaseException:
        if connection is not None:
            connection.close()
        made.remove()
        raise


class DuckdbWriting:
    """A table that is about to be published in a file of DuckDB."""

    def __init__(self, connection: _Connection, target: DatabaseTable, made: NewFile) -> None:
        assert target.table is not None
        self._connection, self._target, self._made = connection, target, made
        *self._above, self._name = target.table
        if len(self._above) > 1:
            raise InputError(f"{target.name}: name a schema and a table, no more.")
        self._new = f"kohort_{secrets.token_hex(8)}"
        found = connection.rows(
            "select table_type from information_schema.tables where lower(table_name) = lower(?) and "
            "table_schema = ? and table_catalog = current_database()",
            self._name,
            self._above[0] if self._above else "main",
        )
        self._replaces = bool(found)
        if found and found[0][0] != "BASE TABLE":
            raise InputError(f"{self._name!r} is a view, which is not replaced. Choose another name.")

    def beside(self, target: DatabaseTable) -> DuckdbWriting:
        return DuckdbWriting(self._connection, target, self._made)

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        schema = self._above[0] if self._above else "main"
        catalog = self._connection.rows("select current_database()")[0][0]
        refuse_file_reads(self._target, relations, [self._name, f"{catalog}.{schema}.{self._name}"])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        new, native = quoted(*self._above, self._new), self._connection.native
        batches = (batch for table in tables for batch in table.to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        cells = ", ".join(_own_type(field) for field in schema)
        with explained(self._connection.address, self._connection.errors, tells=True):
            native.register("kohort_slices", reader)
            try:
                native.execute(f"create table {new} as select {cells} from kohort_slices")
            finally:
                native.unregister("kohort_slices")

    def read_back(self) -> Reading:
        statement = f"select * from {quoted(*self._above, self._new)}"
        return DuckdbReading(self._connection, statement, owns=False)

    def put_in_place(self) -> None:
        if self._replaces:
            self._connection.run(f"drop table {quoted(*self._above, self._name)}")
        self._connection.run(f"alter table {quoted(*self._above, self._new)} rename to {quoted(self._name)}")

    def commit(self) -> None:
        self._connection.run("commit")
        self._made.keep()

    def close(self) -> None:
        self._connection.close()
        self._made.remove()


def _storable(field: pa.Field) -> pa.Field:
    kind = plain_type(field.type)
    if pa.types.is_duration(kind) or pa.types.is_map(kind) or pa.types.is_union(kind):
        raise not_written(field, "DuckDB")
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        kind = pa.timestamp("us", "UTC")
    return field.with_type(next((other for test, other in _STORED if test(kind)), kind))


def _own_type(field: pa.Field) -> str:
    """A column in the type that it had in its original, if that was in DuckDB."""
    note = (field.metadata or {}).get(DATABASE_TYPE, b"").decode()
    own, kind = quoted(field.name), note.removeprefix("duckdb ")
    return f"{own}::{kind} as {own}" if note.startswith("duckdb ") and kind in _KEPT else own


def storable(table: pa.Table) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    fields = [_storable(field) for field in table.schema]
    columns = [stored_as(field, column, field.type) for field, column in zip(fields, table.columns)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))

"""Databases that are files: DuckDB, also for queries over other files, and SQLite through ADBC."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import is_bytes
from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import Address, DatabaseTable, dialect
from kohort.io.formats.fitting import refuse_doubles

_DUCKDB_ROWS, _SQLITE_ROWS = 1 << 17, 1 << 16
_AS_TEXT = ("UUID", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "BIGNUM", "VARINT", "UHUGEINT", "GEOMETRY")
_KEPT = ("UUID", "JSON", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "HUGEINT", "UHUGEINT")
_UNKNOWN = (pa.types.is_duration, pa.types.is_map, pa.types.is_union)
_WITHOUT_TEXT = (pa.types.is_nested, pa.types.is_duration, pa.types.is_interval)
_REFUSED = ("UNION", "VARIANT", "MAP")


class DuckdbWriting(dialect.Writing):
    """A table that is about to be published in a file of DuckDB."""

    @property
    def _schema(self) -> str:
        return self._above[0] if self._above else "main"

    def _found(self) -> str | None:
        found = self._database.rows(
            "select table_type from information_schema.tables where lower(table_name) = lower(?) and "
            "table_schema = ? and table_catalog = current_database()",
            self._name,
            self._schema,
        )
        self._refuse_view(bool(found) and found[0][0] != "BASE TABLE")
        return self._name if found else None

    def _own_relations(self) -> frozenset[Any]:
        catalog = self._database.rows("select current_database()")[0][0]
        return dialect.relations_of(self._target.file, [self._name, f"{catalog}.{self._schema}.{self._name}"])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        native = self._database.native
        batches = (batch for table in tables for batch in table.to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        cells = ", ".join(_own_type(field) for field in schema)
        with self._database.explained(tells=True):
            native.register("kohort_slices", reader)
            try:
                native.execute(f"create table {self._quoted(self._new)} as select {cells} from kohort_slices")
            finally:
                native.unregister("kohort_slices")


class Duckdb(dialect.Database):
    """A file of DuckDB, or none for queries over other files; types that Arrow has not come as text."""

    writing = DuckdbWriting

    def __init__(self, address: Address, *, to_write: bool) -> None:
        duckdb = dialect.load_package("duckdb", "DuckDB")
        super().__init__(address, duckdb.Error)
        if to_write and address.file is None:
            raise InputError(f"{address} is a database in memory. Name a file: duckdb:///release.duckdb.")
        self._query = duckdb.StatementType.SELECT
        with self.explained(tells=True):
            place = ":memory:" if address.file is None else str(address.file)
            self.native = duckdb.connect(place, read_only=not to_write and address.file is not None)
            self.native.execute("set threads = 1")  # one order of records for all readings
            self.native.execute("set TimeZone = 'UTC'")
            self.native.execute("begin transaction" if to_write else "begin transaction read only")

    def run(self, statement: str, *, tells: bool = False) -> None:
        with self.explained(tells=tells):
            self.native.execute(statement)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        with self.explained(tells=tells):
            return self.native.execute(statement, list(values)).fetchall()

    def looked_at(self, statement: str, source: DatabaseTable | None) -> tuple[pa.Schema, str]:
        with self.explained(tells=True):
            found = self.native.extract_statements(statement)
        if len(found) != 1 or found[0].type != self._query:
            raise InputError("The query is not one statement that reads. Only such statements are run.")
        described = self.rows(f"describe {statement}", tells=True)
        types = {name: kind for name, kind, *_ in described}
        refuse_doubles([name for name, *_ in described], str(self.address))
        cells = ", ".join(_cell(name, kind) for name, kind in types.items())
        select = f"select {cells} from (\n{statement}\n) as kohort_source"
        with self.explained(tells=False):
            schema = self._reader(f"{select}\nlimit 0").schema
        return pa.schema([_field(field, types[field.name]) for field in schema]), select

    def parts(self, select: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self.explained(tells=False):
            yield from self._reader(select)

    def _reader(self, statement: str) -> pa.RecordBatchReader:
        relation = self.native.sql(statement)
        return (getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader)(_DUCKDB_ROWS)

    def relations(self, statement: str, source: DatabaseTable) -> frozenset[Any]:
        """The tables that the plan of the statement names."""
        plan = self.rows(f"explain (format json) {statement}", tells=True)[0][1]
        return dialect.relations_of(source.file, _tables_in(json.loads(plan)))

    @staticmethod
    def stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
        """A column in a type of DuckDB's, which are nearly those of Arrow."""
        plain = dialect.plain_type(field.type)
        kind = dialect.stored_type(
            field,
            plain,
            [*_DUCKDB_STORED, (lambda kind: not any(test(kind) for test in _UNKNOWN), plain)],
            "DuckDB",
        )
        return field.with_type(kind), dialect.stored_as(field, column, kind)

    def commit(self) -> None:
        self.run("commit")

    def close(self) -> None:
        self.native.close()


def _tables_in(steps: list[dict[str, Any]]) -> list[str]:
    found = []
    for step in steps:
        named = step.get("extra_info") or {}
        found += [named["Table"]] if isinstance(named, dict) and "Table" in named else []
        found += _tables_in(step.get("children") or [])
    return found


def _cell(name: str, kind: str) -> str:
    own = dialect.quoted(name)
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
    told = {dialect.DATABASE_TYPE: b"duckdb " + kind.encode()} if kind in _KEPT else None
    return pa.field(field.name, arrow, metadata=told)


def _own_type(field: pa.Field) -> str:
    """A column in the type that it had in its original, if that was in DuckDB."""
    note = (field.metadata or {}).get(dialect.DATABASE_TYPE, b"").decode()
    own, kind = dialect.quoted(field.name), note.removeprefix("duckdb ")
    return f"{own}::{kind} as {own}" if note.startswith("duckdb ") and kind in _KEPT else own


_DUCKDB_STORED: dialect.Stored = [
    (pa.types.is_null, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (is_bytes, pa.binary()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
    (pa.types.is_float16, pa.float32()),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, pa.timestamp("us", "UTC")),
]


# SQLite: a column has a type for each cell, so the types of all cells are asked for first.
_FIRST = {pa.int64(): "0", pa.float64(): "0.0", pa.string(): "''", pa.binary(): "x''"}
_NAMES = {pa.int64(): "integer", pa.float64(): "real", pa.string(): "text", pa.binary(): "blob"}


class SqliteWriting(dialect.Writing):
    """A table that is about to be published in a file of SQLite."""

    most_schemas = 0

    def _found(self) -> str | None:
        found = self._database.rows(
            "select type, name from sqlite_schema where lower(name) = lower(?) and type in ('table', 'view')",
            self._name,
        )
        self._refuse_view(bool(found) and found[0][0] == "view")
        return found[0][1] if found else None

    def _own_relations(self) -> frozenset[Any]:
        return dialect.relations_of(self._target.file, [self._name])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        columns = ", ".join(f"{dialect.quoted(field.name)} {_NAMES[field.type]}" for field in schema)
        self._database.run(f"create table {dialect.quoted(self._new)} ({columns})", tells=True)
        self._database.append(self._new, schema, tables)


class Sqlite(dialect.AdbcDatabase):
    """A file of SQLite; columns whose cells are of several types become text, or are refused."""

    writing = SqliteWriting

    def __init__(self, address: Address, *, to_write: bool) -> None:
        """Open the file: made if there is none and it is to be written, else for queries only."""
        path = str(address.file)
        # a run that was killed may have left a journal, which whoever opens the file for writing undoes
        mode = "rwc" if to_write else "rw" if os.access(path, os.W_OK) else "ro"
        place = f"file:{quote(str(Path(path).absolute()))}?mode={mode}"
        super().__init__(address, "adbc_driver_sqlite.dbapi", "SQLite", place)
        if not to_write:
            self.run("pragma query_only = 1", tells=True)

    def looked_at(self, statement: str, source: DatabaseTable | None) -> tuple[pa.Schema, str]:
        self.run(f"select * from (\n{statement}\n) limit 0", tells=True)  # refuses what is no query
        names = self._names(statement)
        refuse_doubles(names, str(self.address))
        asked = ", ".join(f"group_concat(distinct typeof({dialect.quoted(name)}))" for name in names)
        row = self.rows(f"select {asked} from (\n{statement}\n)")[0]
        types = {name: _type(name, set((found or "").split(","))) for name, found in zip(names, row)}
        first = ", ".join(f"{_FIRST[kind]} as {dialect.quoted(name)}" for name, kind in types.items())
        cells = ", ".join(_cast_cell(name, kind) for name, kind in types.items())
        # the driver takes the types of the first record for those of all: one of the right types comes first
        select = f"select {first} union all select {cells} from (\n{statement}\n)"
        return pa.schema(list(types.items())), select

    def _names(self, statement: str) -> list[str]:
        with self._cursor(tells=True) as cursor:
            cursor.execute(statement)
            return [column[0] for column in cursor.description]

    def parts(self, select: str, schema: pa.Schema, **options: Any) -> Iterator[pa.RecordBatch]:
        options = {"adbc.sqlite.query.batch_rows": _SQLITE_ROWS}
        for number, batch in enumerate(super().parts(select, schema, **options)):
            yield batch.slice(1) if number == 0 else batch

    def relations(self, statement: str, source: DatabaseTable) -> frozenset[Any]:
        """The tables whose pages the program of the statement opens."""
        pages = {row[3] for row in self.rows(f"explain {statement}") if row[1] in ("OpenRead", "ReopenIdx")}
        found = self.rows("select tbl_name, rootpage from sqlite_schema")
        return dialect.relations_of(source.file, [table for table, page in found if page in pages])

    @staticmethod
    def stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
        """A column as whole numbers, floats, text or bytes: SQLite has nothing else."""
        kind = dialect.stored_type(field, field.type, _SQLITE_STORED, "SQLite")
        column = dialect.stored_as(field, column, dialect.plain_type(field.type)).cast(kind)
        if kind == pa.float64():  # SQLite has no NaN, and keeps no sign of zero: 0.0 is added to -0.0
            column = pc.add(column, 0.0)
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        return pa.field(field.name, kind), column


_SQLITE_STORED: dialect.Stored = [
    (pa.types.is_boolean, pa.int64()),
    (pa.types.is_uint64, pa.string()),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (is_bytes, pa.binary()),
    (lambda kind: not any(test(kind) for test in _WITHOUT_TEXT), pa.string()),
]


def _type(name: str, found: set[str]) -> pa.DataType:
    found = found - {"null", ""}
    if "blob" in found and len(found) > 1:
        raise UnsupportedError(
            f"Column {name!r} holds bytes in some records and {', '.join(sorted(found - {'blob'}))} in "
            "others. Cast it in a query."
        )
    if found == {"blob"}:
        return pa.binary()
    if found == {"integer"}:
        return pa.int64()
    return pa.float64() if found and found <= {"integer", "real"} else pa.string()


def _cast_cell(name: str, kind: pa.DataType) -> str:
    own = dialect.quoted(name)
    if kind == pa.string():
        return f"cast({own} as text)"
    return f"cast({own} as real)" if kind == pa.float64() else own

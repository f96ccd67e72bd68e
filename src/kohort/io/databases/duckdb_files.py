"""DuckDB: files that are databases, and queries over other files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import Address, DatabaseTable
from kohort.io.databases.dialect import (
    DATABASE_TYPE,
    Database,
    Stored,
    Writing,
    load_package,
    plain_type,
    quoted,
    relations_of,
    stored_as,
    stored_type,
)
from kohort.io.formats.fitting import is_bytes, refuse_doubles

_ROWS = 1 << 17
_AS_TEXT = ("UUID", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "BIGNUM", "VARINT", "UHUGEINT", "GEOMETRY")
_KEPT = ("UUID", "JSON", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "HUGEINT", "UHUGEINT")
_REFUSED = ("UNION", "VARIANT", "MAP")


class Duckdb(Database):
    """A file of DuckDB, or none for queries over other files; types that Arrow has not come as text."""

    def __init__(self, address: Address, *, to_write: bool) -> None:
        duckdb = load_package("duckdb", "DuckDB")
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

    @property
    def writing(self) -> type[Writing]:
        return DuckdbWriting

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
        return (getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader)(_ROWS)

    def relations(self, statement: str, source: DatabaseTable) -> frozenset[Any]:
        """The tables that the plan of the statement names."""
        plan = self.rows(f"explain (format json) {statement}", tells=True)[0][1]
        return relations_of(source.file, _tables_in(json.loads(plan)))

    @staticmethod
    def stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
        """A column in a type of DuckDB's, which are nearly those of Arrow."""
        plain = plain_type(field.type)
        as_it_is: Stored = [(lambda kind: not _is_unknown(kind), plain)]
        kind = stored_type(field, plain, [*_OTHERS, *as_it_is], "DuckDB")
        return field.with_type(kind), stored_as(field, column, kind)

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


class DuckdbWriting(Writing):
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
        return relations_of(self._target.file, [self._name, f"{catalog}.{self._schema}.{self._name}"])

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


def _own_type(field: pa.Field) -> str:
    """A column in the type that it had in its original, if that was in DuckDB."""
    note = (field.metadata or {}).get(DATABASE_TYPE, b"").decode()
    own, kind = quoted(field.name), note.removeprefix("duckdb ")
    return f"{own}::{kind} as {own}" if note.startswith("duckdb ") and kind in _KEPT else own


def _is_unknown(kind: pa.DataType) -> bool:
    return pa.types.is_duration(kind) or pa.types.is_map(kind) or pa.types.is_union(kind)


_OTHERS: Stored = [
    (pa.types.is_null, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (is_bytes, pa.binary()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
    (pa.types.is_float16, pa.float32()),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, pa.timestamp("us", "UTC")),
]

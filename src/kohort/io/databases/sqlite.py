"""SQLite through ADBC: a column has a type for each cell, so the types of all cells are asked for first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import UnsupportedError
from kohort.io.databases import Address, DatabaseTable
from kohort.io.databases.dialect import (
    AdbcDatabase,
    Stored,
    Writing,
    plain_type,
    quoted,
    relations_of,
    stored_as,
    stored_type,
)
from kohort.io.formats.fitting import is_bytes, refuse_doubles

_ROWS = 1 << 16
_FIRST = {pa.int64(): "0", pa.float64(): "0.0", pa.string(): "''", pa.binary(): "x''"}
_NAMES = {pa.int64(): "integer", pa.float64(): "real", pa.string(): "text", pa.binary(): "blob"}


class Sqlite(AdbcDatabase):
    """A file of SQLite; columns whose cells are of several types become text, or are refused."""

    def __init__(self, address: Address, *, to_write: bool) -> None:
        """Open the file: made if there is none and it is to be written, else for queries only."""
        path = str(address.file)
        # a run that was killed may have left a journal, which whoever opens the file for writing undoes
        mode = "rwc" if to_write else "rw" if os.access(path, os.W_OK) else "ro"
        place = f"file:{quote(str(Path(path).absolute()))}?mode={mode}"
        super().__init__(address, "adbc_driver_sqlite.dbapi", "SQLite", place)
        if not to_write:
            self.run("pragma query_only = 1", tells=True)

    @property
    def writing(self) -> type[Writing]:
        return SqliteWriting

    def looked_at(self, statement: str, source: DatabaseTable | None) -> tuple[pa.Schema, str]:
        self.run(f"select * from (\n{statement}\n) limit 0", tells=True)  # refuses what is no query
        names = self._names(statement)
        refuse_doubles(names, str(self.address))
        asked = ", ".join(f"group_concat(distinct typeof({quoted(name)}))" for name in names)
        row = self.rows(f"select {asked} from (\n{statement}\n)")[0]
        types = {name: _type(name, set((found or "").split(","))) for name, found in zip(names, row)}
        first = ", ".join(f"{_FIRST[kind]} as {quoted(name)}" for name, kind in types.items())
        cells = ", ".join(_cell(name, kind) for name, kind in types.items())
        # the driver takes the types of the first record for those of all: one of the right types comes first
        select = f"select {first} union all select {cells} from (\n{statement}\n)"
        return pa.schema(list(types.items())), select

    def _names(self, statement: str) -> list[str]:
        """The names of the columns that a statement gives, doubles among them."""
        with self._cursor(tells=True) as cursor:
            cursor.execute(statement)
            return [column[0] for column in cursor.description]

    def parts(self, select: str, schema: pa.Schema, **options: Any) -> Iterator[pa.RecordBatch]:
        options = {"adbc.sqlite.query.batch_rows": _ROWS}
        for number, batch in enumerate(super().parts(select, schema, **options)):
            yield batch.slice(1) if number == 0 else batch

    def relations(self, statement: str, source: DatabaseTable) -> frozenset[Any]:
        """The tables whose pages the program of the statement opens."""
        pages = {row[3] for row in self.rows(f"explain {statement}") if row[1] in ("OpenRead", "ReopenIdx")}
        found = self.rows("select tbl_name, rootpage from sqlite_schema")
        return relations_of(source.file, [table for table, page in found if page in pages])

    @staticmethod
    def stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
        """A column as whole numbers, floats, text or bytes: SQLite has nothing else."""
        kind = stored_type(field, field.type, _STORED, "SQLite")
        column = stored_as(field, column, plain_type(field.type)).cast(kind)
        if kind == pa.float64():  # SQLite has no NaN, and keeps no sign of zero: 0.0 is added to -0.0
            column = pc.add(column, 0.0)
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        return pa.field(field.name, kind), column


def _has_text(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind))


_STORED: Stored = [
    (pa.types.is_boolean, pa.int64()),
    (pa.types.is_uint64, pa.string()),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (is_bytes, pa.binary()),
    (_has_text, pa.string()),
]


def _type(name: str, found: set[str]) -> pa.DataType:
    """The type for cells of these types."""
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


def _cell(name: str, kind: pa.DataType) -> str:
    own = quoted(name)
    if kind == pa.string():
        return f"cast({own} as text)"
    return f"cast({own} as real)" if kind == pa.float64() else own


class SqliteWriting(Writing):
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
        return relations_of(self._target.file, [self._name])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        columns = ", ".join(f"{quoted(field.name)} {_NAMES[field.type]}" for field in schema)
        self._database.run(f"create table {quoted(self._new)} ({columns})", tells=True)
        self._database.append(self._new, schema, tables)

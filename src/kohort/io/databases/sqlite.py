"""SQLite through ADBC: a column has a type for each cell, so the types of all cells are asked for first."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterator
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import (
    AdbcConnection,
    NewFile,
    Reading,
    not_written,
    plain_type,
    quoted,
    refuse_file_reads,
    relations_of,
    stored_as,
)
from kohort.io.databases.database_table import Address, DatabaseTable
from kohort.io.formats.fitting import refuse_doubles

_ROWS = 1 << 16
_FIRST = {pa.int64(): "0", pa.float64(): "0.0", pa.string(): "''", pa.binary(): "x''"}


def _connect(address: Address, mode: str) -> AdbcConnection:
    assert address.file is not None
    place = f"file:{quote(str(address.file.absolute()))}?mode={mode}"
    return AdbcConnection(address, "adbc_driver_sqlite.dbapi", "SQLite", place)


def open_reading(source: DatabaseTable) -> SqliteReading:
    """Begin to read a table or query; nothing is written to the file."""
    path = source.file
    assert path is not None
    if not path.is_file():
        raise InputError(f"{path} does not exist. Check the URL: {source.address}.")
    # a run that was killed may have left a journal, which whoever opens the file for writing undoes
    connection = _connect(source.address, "rw" if os.access(path, os.W_OK) else "ro")
    try:
        connection.run("pragma query_only = 1", tells=True)
        statement = f"select * from {quoted(*source.table)}" if source.table else source.query or ""
        reading = SqliteReading(connection, statement)
        reading.relations = relations_of(path, tables_read(connection, statement))
        return reading
    except BaseException:
        connection.close()
        raise


def tables_read(connection: Any, statement: str) -> list[str]:
    """The tables that a statement reads: those whose pages its program opens."""
    program = connection.rows(f"explain {statement}")
    pages = {row[3] for row in program if row[1] in ("OpenRead", "ReopenIdx")}
    found = connection.rows("select tbl_name, rootpage from sqlite_schema")
    return [table for table, page in found if page in pages]


class SqliteReading:
    """The records of a statement; columns whose cells are of several types become text, or are refused."""

    def __init__(self, connection: AdbcConnection, statement: str, *, owns: bool = True) -> None:
        self._connection, self._owns = connection, owns
        self.relations: frozenset[Any] = frozenset()
        names = self._names(statement)
        refuse_doubles(names, str(connection.address))
        types = self._types(statement, names)
        self.schema = pa.schema(list(types.items()))
        first = ", ".join(f"{_FIRST[kind]} as {quoted(name)}" for name, kind in types.items())
        cells = ", ".join(_cell(name, kind) for name, kind in types.items())
        # the driver takes the types of the first record for those of all: one of the right types comes first
        self._select = f"select {first} union all select {cells} from (\n{statement}\n)"

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        rows: dict[str, Any] = {"adbc.sqlite.query.batch_rows": _ROWS}
        skip = 1
        for batch in self._connection.batches(self._select, **rows):
            part = batch.slice(skip)
            skip = 0
            yield pa.RecordBatch.from_arrays(
                [column.cast(field.type) for field, column in zip(self.schema, part.columns)],
                schema=self.schema,
            )

    def close(self) -> None:
        if self._owns:
            self._connection.close()

    def _names(self, statement: str) -> list[str]:
        """The names of the columns; a statement that is no query is refused before it is run."""
        self._connection.run(f"select * from (\n{statement}\n) limit 0", tells=True)
        return self._connection.names(statement)

    def _types(self, statement: str, names: list[str]) -> dict[str, pa.DataType]:
        asked = ", ".join(f"group_concat(distinct typeof({quoted(name)}))" for name in names)
        row = self._connection.rows(f"select {asked} from (\n{statement}\n)")[0]
        return {name: _type(name, set((found or "").split(","))) for name, found in zip(names, row)}


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


# -- writing -----------------------------------------------------------------------------------------


def open_writing(target: DatabaseTable) -> SqliteWriting:
    """Begin a transaction that publishes a table; the file is made if there is none."""
    assert target.file is not None
    made = NewFile(target.file)
    connection = _connect(target.address, "rwc")
    try:
        return SqliteWriting(connection, target, made)
    except BaseException:
        connection.close()
        made.remove()
        raise


class SqliteWriting:
    """A table that is about to be published in a file of SQLite."""

    def __init__(self, connection: AdbcConnection, target: DatabaseTable, made: NewFile) -> None:
        assert target.table is not None
        if len(target.table) > 1:
            raise InputError(f"{target.name}: a table of SQLite has a name and no schema.")
        self._connection, self._target, self._made = connection, target, made
        self._name = target.table[0]
        self._new = f"kohort_{secrets.token_hex(8)}"
        found = connection.rows(
            "select type, name from sqlite_schema where lower(name) = lower(?) and type in ('table', 'view')",
            self._name,
        )
        self._old = found[0][1] if found else None
        if found and found[0][0] != "table":
            raise InputError(f"{self._name!r} is a view, which is not replaced. Choose another name.")

    def beside(self, target: DatabaseTable) -> SqliteWriting:
        return SqliteWriting(self._connection, target, self._made)

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        refuse_file_reads(self._target, relations, [self._name])

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        kinds = {pa.int64(): "integer", pa.float64(): "real", pa.string(): "text", pa.binary(): "blob"}
        columns = ", ".join(f"{quoted(field.name)} {kinds[field.type]}" for field in schema)
        self._connection.run(f"create table {quoted(self._new)} ({columns})", tells=True)
        batches = (batch for table in tables for batch in table.to_batches())
        self._connection.append(self._new, pa.RecordBatchReader.from_batches(schema, batches))

    def read_back(self) -> Reading:
        statement = f"select * from {quoted(self._new)}"
        return SqliteReading(self._connection, statement, owns=False)

    def put_in_place(self) -> None:
        if self._old is not None:
            self._connection.run(f"drop table {quoted(self._old)}")
        self._connection.run(f"alter table {quoted(self._new)} rename to {quoted(self._name)}")

    def commit(self) -> None:
        self._connection.commit()
        self._made.keep()

    def close(self) -> None:
        self._connection.close()
        self._made.remove()


def _storable(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as whole numbers, floats, text or bytes: SQLite has nothing else."""
    kind = plain_type(field.type)
    column = stored_as(field, column, kind)
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.uint64()):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        plain = pc.add(
            column.cast(pa.float64()), 0.0
        )  # which makes 0.0 of -0.0: SQLite keeps no sign of zero
        return pc.if_else(pc.is_nan(plain), pa.scalar(None, pa.float64()), plain)  # SQLite has no NaN
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        raise not_written(field, "SQLite")
    return column.cast(pa.string())


def storable(table: pa.Table) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    columns = [_storable(field, column) for field, column in zip(table.schema, table.columns)]
    return pa.table(dict(zip(table.column_names, columns)))

"""All other databases: any URL that SQLAlchemy knows, and that its driver is installed for."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Generator
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.sqlalchemy_connection import SqlalchemyConnection, relations_read
from kohort.io.databases.sqlalchemy_writing import open_writing, storable
from kohort.io.formats.fitting import refuse_doubles

__all__ = ["SqlalchemyReading", "open_reading", "open_writing", "storable"]

_A_DAY = datetime.timedelta(days=1)
_ARROW: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.date: pa.date32(),
    datetime.time: pa.time64("us"),
    uuid.UUID: pa.string(),
}
_LARGEST_DECIMAL = 38


def open_reading(source: DatabaseTable) -> SqlalchemyReading:
    """Begin to read a table or query in a transaction that is never committed."""
    connection = SqlalchemyConnection(source.address, snapshot=True)
    try:
        if source.table is None:
            statement = f"select * from (\n{source.query}\n) kohort_source"
        else:
            statement = f"select * from {connection.quoted(*source.table)}"
        return SqlalchemyReading(connection, statement, source)
    except BaseException:
        connection.close()
        raise


class SqlalchemyReading:
    """The records of a statement; a reading of its own finds the types of the columns.

    source  what is read, to find the tables that it reads; None for a table that was just written
    """

    def __init__(
        self, connection: SqlalchemyConnection, statement: str, source: DatabaseTable | None = None
    ) -> None:
        self._connection, self._statement, self._source = connection, statement, source
        self.relations: frozenset[Any] = frozenset()
        self.schema = self._schema()

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        for _, columns in self._connection.parts(self._statement, tells=False):
            arrays = [_array(field, column) for field, column in zip(self.schema, columns)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        if self._source is not None:
            self.relations = relations_read(self._connection, self._statement, self._source)

    def close(self) -> None:
        if self._source is not None:
            self._connection.close()

    def _schema(self) -> pa.Schema:
        found: dict[int, pa.DataType | None] = {}
        names: list[str] = []
        for names, columns in self._connection.parts(self._statement, tells=True):
            for place, column in enumerate(columns):
                kinds = {type(cell) for cell in column if cell is not None}
                found[place] = _joined(names[place], found.get(place), _type(names[place], kinds, column))
        refuse_doubles(names, str(self._connection.address))
        return pa.schema([(name, found[place] or pa.string()) for place, name in enumerate(names)])


def _type(name: str, kinds: set[type], column: tuple[Any, ...]) -> pa.DataType | None:
    """The type of some cells; None where all are missing."""
    if not kinds:
        return None
    if kinds <= {int, float} and len(kinds) == 2:
        return pa.float64()
    kind = next(iter(kinds))
    if len(kinds) > 1:
        raise _several(name)
    if issubclass(kind, datetime.datetime):
        zoned = any(cell is not None and cell.tzinfo is not None for cell in column)
        return pa.timestamp("us", "UTC" if zoned else None)
    if issubclass(kind, decimal.Decimal):
        return _decimal(column)
    if kind is datetime.timedelta and all(
        cell is None or datetime.timedelta() <= cell < _A_DAY for cell in column
    ):
        return pa.time64("us")  # the time of the day, as drivers of MySQL give it
    if kind not in _ARROW:
        raise UnsupportedError(
            f"Column {name!r} has the type {kind.__name__}, which Kohort does not read. Leave it out, or "
            "cast it to text in the query."
        )
    return _ARROW[kind]


def _decimal(column: tuple[Any, ...]) -> pa.DataType:
    """A type for decimal numbers; text where they have too many digits, or are not finite."""
    parts = [cell.as_tuple() for cell in column if cell is not None]
    if any(not isinstance(part.exponent, int) for part in parts):
        return pa.string()
    scale = max(max(-part.exponent, 0) for part in parts)
    whole = max(max(len(part.digits) + part.exponent, 0) for part in parts)
    precision = max(whole + scale, 1)
    return pa.decimal128(precision, scale) if precision <= _LARGEST_DECIMAL else pa.string()


def _joined(name: str, one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """One type for the cells of two parts."""
    if one is None or other is None or one == other:
        return one if other is None else other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        scale = max(one.scale, other.scale)
        precision = scale + max(one.precision - one.scale, other.precision - other.scale)
        return pa.decimal128(precision, scale) if precision <= _LARGEST_DECIMAL else pa.string()
    if pa.string() in (one, other) and (pa.types.is_decimal(one) or pa.types.is_decimal(other)):
        return pa.string()
    raise _several(name)


def _several(name: str) -> InputError:
    return InputError(f"Column {name!r} holds values of several types. Cast it to one in a query.")


def _array(field: pa.Field, column: tuple[Any, ...]) -> pa.Array:
    cells: Any = column
    if field.type == pa.string():
        cells = [None if cell is None else str(cell) for cell in column]
    if pa.types.is_time64(field.type):
        cells = [
            cell if not isinstance(cell, datetime.timedelta) else (datetime.datetime.min + cell).time()
            for cell in column
        ]
    try:
        return pa.array(cells, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # their messages show values
        raise _several(field.name) from None

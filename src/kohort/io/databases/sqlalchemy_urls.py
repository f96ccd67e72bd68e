"""All other databases, as sources: any URL that SQLAlchemy knows, and that its driver is installed for."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import load_package
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.failures import explained
from kohort.io.tables import refuse_doubles

__all__ = ["SqlalchemyReading", "open_reading"]

_ROWS = 1 << 15
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
    return SqlalchemyReading(source)


class SqlalchemyReading:
    """The records of a statement; a reading of its own finds the types of the columns."""

    def __init__(self, source: DatabaseTable) -> None:
        self.relations: frozenset[Any] = frozenset()
        self.address = source.address
        self._alchemy = load_package("sqlalchemy", "A database by SQLAlchemy")
        self._errors = (self._alchemy.exc.SQLAlchemyError, ImportError, OSError)
        with explained(self.address, self._errors, tells=True):
            self._engine = self._alchemy.create_engine(self.address.with_password())
            self._connection = self._connected()
        try:
            self._statement = self._text(source)
            self.schema = self._schema()
        except BaseException:
            self.close()
            raise

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        for columns in self._parts(tells=False):
            arrays = [_array(field, column) for field, column in zip(self.schema, columns)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def close(self) -> None:
        with suppress(Exception):
            self._connection.rollback()
            self._connection.close()
        self._engine.dispose()

    def _connected(self) -> Any:
        """A connection whose transaction keeps one snapshot, where the database has such transactions."""
        connection = self._engine.connect()
        levels = self._engine.dialect.get_isolation_level_values(connection.connection.dbapi_connection)
        level = next(
            (known for known in ("SNAPSHOT", "REPEATABLE READ", "SERIALIZABLE") if known in levels), None
        )
        if level is not None:
            connection = connection.execution_options(isolation_level=level)
        return connection

    def _text(self, source: DatabaseTable) -> str:
        if source.query is not None:
            return f"select * from (\n{source.query}\n) kohort_source"
        assert source.table is not None
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        return f"select * from {'.'.join(map(quote, source.table))}"

    def _parts(self, *, tells: bool) -> Generator[list[tuple[Any, ...]], None, None]:
        with explained(self.address, self._errors, tells=tells):
            options = {"stream_results": True, "yield_per": _ROWS}
            with self._connection.execute(
                self._alchemy.text(self._statement.replace(":", r"\:")), execution_options=options
            ) as result:
                self._names = list(result.keys())
                for rows in result.partitions():
                    yield list(zip(*(tuple(row) for row in rows)))

    def _schema(self) -> pa.Schema:
        found: list[pa.DataType | None] = []
        for columns in self._parts(tells=True):
            found = found or [None] * len(columns)
            for place, column in enumerate(columns):
                kinds = {type(cell) for cell in column if cell is not None}
                found[place] = _joined(
                    self._names[place], found[place], _type(self._names[place], kinds, column)
                )
        refuse_doubles(self._names, str(self.address))
        types = [kind or pa.string() for kind in found or [None] * len(self._names)]
        return pa.schema(list(zip(self._names, types)))


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
    try:
        return pa.array(cells, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # their messages show values
        raise _several(field.name) from None

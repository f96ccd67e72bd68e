"""Records of all other databases by SQLAlchemy: any URL that it knows, and that a driver is installed for."""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import Connection, load_package
from kohort.io.databases.database_table import Address, DatabaseTable
from kohort.io.databases.dialect import Reading
from kohort.io.formats.fitting import refuse_doubles

_ROWS = 1 << 15
_SNAPSHOTS = ("SNAPSHOT", "REPEATABLE READ", "SERIALIZABLE")
_PLACES = re.compile(r"\$(\d+)")
_PERCENT = "\0"  # stands for a percent sign while a name is quoted: no name has it


class SqlalchemyConnection(Connection):
    """A connection in a transaction; one to read from sees a snapshot, where the database has such."""

    def __init__(self, address: Address, *, to_write: bool) -> None:
        self.alchemy = load_package("sqlalchemy", "A database by SQLAlchemy")
        super().__init__(address, self.alchemy.exc.SQLAlchemyError, ImportError)
        with self.explained(tells=True):
            self._engine = self.alchemy.create_engine(
                address.with_password(), poolclass=self.alchemy.pool.NullPool, hide_parameters=True
            )
            self.native = self._engine.connect()
            if not to_write:
                self._take_snapshot()

    @property
    def is_mysql(self) -> bool:
        """Whether it is MySQL or MariaDB."""
        return self._engine.dialect.name in ("mysql", "mariadb")

    def _take_snapshot(self) -> None:
        levels = self._engine.dialect.get_isolation_level_values(self.native.connection.dbapi_connection)
        level = next((known for known in _SNAPSHOTS if known in levels), None)
        if level is not None:
            self.native = self.native.execution_options(isolation_level=level)

    def quoted(self, *parts: str) -> str:
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        return ".".join(quote(part.replace("%", _PERCENT)).replace(_PERCENT, "%") for part in parts)

    def run(self, statement: str, *, tells: bool = False) -> None:
        self.execute(self._text(statement), tells=tells)

    def execute(self, statement: Any, rows: Any = None, *, tells: bool = False) -> None:
        """Run a statement that SQLAlchemy has made, once or for each of the rows."""
        with self.explained(tells=tells):
            self.native.execute(statement, rows)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a small result; `values` take the places of $1, $2, ..."""
        text = self._text(statement, places=bool(values))
        given = {f"value{place}": value for place, value in enumerate(values, start=1)}
        with self.explained(tells=tells):
            return [tuple(row) for row in self.native.execute(text, given)]

    def parts(
        self, statement: str, *, tells: bool
    ) -> Generator[tuple[list[str], list[tuple[Any, ...]]], None, None]:
        """A large result a part at a time: the names of its columns, and the cells of each of them."""
        with self.explained(tells=tells):
            options = {"stream_results": True, "yield_per": _ROWS}
            with self.native.execute(self._text(statement), execution_options=options) as result:
                names, found = list(result.keys()), False
                for rows in result.partitions():
                    found = True
                    yield names, list(zip(*(tuple(row) for row in rows)))
                if not found:
                    yield names, [() for _ in names]

    def tables(self, schema: str | None) -> list[str]:
        """The names of all tables of a schema."""
        with self.explained(tells=True):
            return self.alchemy.inspect(self.native).get_table_names(schema=schema)

    def views(self, schema: str | None) -> list[str]:
        """The names of all views of a schema."""
        with self.explained(tells=True):
            return self.alchemy.inspect(self.native).get_view_names(schema=schema)

    def commit(self) -> None:
        with self.explained(tells=False):
            self.native.commit()

    def close(self) -> None:
        with suppress(Exception):
            self.native.rollback()
        with suppress(Exception):
            self.native.close()
        self._engine.dispose()

    def _text(self, statement: str, *, places: bool = False) -> Any:
        """A statement in which nothing is taken for a parameter but $1, $2, ... where there are values."""
        plain = statement.replace(":", r"\:")
        return self.alchemy.text(_PLACES.sub(r":value\1", plain) if places else plain)


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
UNKNOWN = "unknown"
"""Stands for whatever a query or a view reads in a database that does not say so."""


class SqlalchemyReading(Reading):
    """The records of a statement; a reading of its own finds the types of the columns."""

    def _looked_at(self) -> tuple[pa.Schema, str]:
        source, select = self._source, self._statement
        if source is not None and source.table is None:
            select = f"select * from (\n{select}\n) kohort_source"
        found: dict[int, pa.DataType | None] = {}
        names: list[str] = []
        for names, columns in self._connection.parts(select, tells=True):
            for place, column in enumerate(columns):
                kinds = {type(cell) for cell in column if cell is not None}
                found[place] = _joined(names[place], found.get(place), _type(names[place], kinds, column))
        refuse_doubles(names, str(self._connection.address))
        return pa.schema([(name, found[place] or pa.string()) for place, name in enumerate(names)]), select

    def _parts(self) -> Iterator[pa.RecordBatch]:
        for _, columns in self._connection.parts(self._select, tells=False):
            arrays = [_array(field, column) for field, column in zip(self.schema, columns)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _relations(self, source: DatabaseTable) -> frozenset[Any]:
        """The table of MySQL that is read; queries, views and other databases do not say what they read."""
        if self._connection.is_mysql and source.table is not None:
            *schema, name = source.table
            if name not in self._connection.views(schema[0] if schema else None):
                return frozenset([mysql_relation(self._connection, source.table)])
        return frozenset([UNKNOWN])


def mysql_relation(connection: SqlalchemyConnection, table: tuple[str, ...]) -> tuple[Any, ...]:
    """A table of MySQL or MariaDB, whatever name leads to its server."""
    place = connection.rows("select @@hostname, @@port, @@datadir, database()")[0]
    schema = table[0] if len(table) > 1 else place[-1]
    return (*place[:-1], str(schema).lower(), table[-1].lower())


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

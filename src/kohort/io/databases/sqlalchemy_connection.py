"""A connection by SQLAlchemy, with errors in our words and names quoted as the database quotes them."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import UnsupportedError
from kohort.io.databases import sqlite
from kohort.io.databases.connection import (
    explained,
    load_package,
    not_written,
    plain_type,
    relations_of,
    stored_as,
)
from kohort.io.databases.database_table import Address, DatabaseTable
from kohort.io.databases.postgresql import identity, relations_locked
from kohort.io.databases.sqlite import tables_read

_ROWS = 1 << 15
_SNAPSHOTS = ("SNAPSHOT", "REPEATABLE READ", "SERIALIZABLE")
_PLACES = re.compile(r"\$(\d+)")
_PERCENT = "\0"  # stands for a percent sign while a name is quoted: no name has it


class SqlalchemyConnection:
    """A connection to any database that SQLAlchemy knows, in a transaction from the first statement on.

    snapshot  whether all statements see one state of the database, where it has such transactions
    """

    def __init__(self, address: Address, *, snapshot: bool = False) -> None:
        self.address = address
        self.alchemy = load_package("sqlalchemy", "A database by SQLAlchemy")
        self._errors = (self.alchemy.exc.SQLAlchemyError, ImportError, OSError)
        with explained(address, self._errors, tells=True):
            self._engine = self.alchemy.create_engine(
                address.with_password(), poolclass=self.alchemy.pool.NullPool, hide_parameters=True
            )
            self.native = self._engine.connect()
            if snapshot:
                self._take_snapshot()

    @property
    def dialect(self) -> str:
        """What SQLAlchemy calls the kind of database; MariaDB and MySQL are one."""
        name = self._engine.dialect.name
        return "mysql" if name == "mariadb" else name

    def _take_snapshot(self) -> None:
        levels = self._engine.dialect.get_isolation_level_values(self.native.connection.dbapi_connection)
        level = next((known for known in _SNAPSHOTS if known in levels), None)
        if level is not None:
            self.native = self.native.execution_options(isolation_level=level)

    def quoted(self, *parts: str) -> str:
        """A name by the rules of the database: whatever is in it, it is a name and nothing else."""
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        return ".".join(quote(part.replace("%", _PERCENT)).replace(_PERCENT, "%") for part in parts)

    def run(self, statement: str, *, tells: bool = False) -> None:
        """Run a statement that gives nothing."""
        with explained(self.address, self._errors, tells=tells):
            self.native.execute(self._text(statement))

    def execute(self, statement: Any, rows: Any = None, *, tells: bool = False) -> None:
        """Run a statement that SQLAlchemy has made, once or for each of the rows."""
        with explained(self.address, self._errors, tells=tells):
            self.native.execute(statement, rows)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a small result; `values` take the places of $1, $2, ..."""
        text = self._text(statement, places=bool(values))
        given = {f"value{place}": value for place, value in enumerate(values, start=1)}
        with explained(self.address, self._errors, tells=tells):
            return [tuple(row) for row in self.native.execute(text, given)]

    def parts(
        self, statement: str, *, tells: bool
    ) -> Generator[tuple[list[str], list[tuple[Any, ...]]], None, None]:
        """A large result a part at a time: the names of its columns, and the cells of each of them."""
        with explained(self.address, self._errors, tells=tells):
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
        with explained(self.address, self._errors, tells=True):
            return self.alchemy.inspect(self.native).get_table_names(schema=schema)

    def views(self, schema: str | None) -> list[str]:
        """The names of all views of a schema."""
        with explained(self.address, self._errors, tells=True):
            return self.alchemy.inspect(self.native).get_view_names(schema=schema)

    def commit(self) -> None:
        with explained(self.address, self._errors, tells=False):
            self.native.commit()

    def close(self) -> None:
        """End the connection; what was not committed is undone."""
        with suppress(Exception):
            self.native.rollback()
        with suppress(Exception):
            self.native.close()
        self._engine.dispose()

    def _text(self, statement: str, *, places: bool = False) -> Any:
        """A statement in which nothing is taken for a parameter but $1, $2, ... where there are values."""
        plain = statement.replace(":", r"\:")
        return self.alchemy.text(_PLACES.sub(r":value\1", plain) if places else plain)


# Which tables a statement reads by SQLAlchemy, as far as the database says: none of them is replaced.


UNKNOWN = "unknown"
"""Stands for whatever a query or a view reads in a database that does not say so."""


def relations_read(connection: SqlalchemyConnection, statement: str, source: DatabaseTable) -> frozenset[Any]:
    """The tables that a statement reads, as those who write to such a database name them; see `Reading`."""
    if connection.dialect == "sqlite" and source.file is not None:
        return relations_of(source.file, tables_read(connection, statement))
    if connection.dialect == "postgresql":
        place = identity(connection)
        return frozenset((*place, number) for number in relations_locked(connection))
    if connection.dialect == "mysql" and source.table is not None:
        *schema, name = source.table
        if name not in connection.views(schema[0] if schema else None):
            return frozenset([mysql_relation(connection, source.table)])
    return frozenset([UNKNOWN])


def mysql_relation(connection: SqlalchemyConnection, table: tuple[str, ...]) -> tuple[Any, ...]:
    """A table of MySQL or MariaDB, whatever name leads to its server."""
    place = connection.rows("select @@hostname, @@port, @@datadir, database()")[0]
    schema = table[0] if len(table) > 1 else place[-1]
    return (*place[:-1], str(schema).lower(), table[-1].lower())


# Columns on their way into a database by SQLAlchemy: types of Arrow, and what a table has for them.


_MOST_DIGITS_OF_64_BITS = 20
_STORED: list[tuple[Any, pa.DataType]] = [
    (pa.types.is_null, pa.string()),
    (pa.types.is_string, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_binary, pa.binary()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_uint64, pa.decimal128(_MOST_DIGITS_OF_64_BITS, 0)),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
]


def storable(table: pa.Table, dialect: str) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    if dialect == "sqlite":
        return sqlite.storable(table)
    pairs = [_storable(field, column, dialect) for field, column in zip(table.schema, table.columns)]
    return pa.table(dict(zip(table.column_names, pairs)))


def _storable(field: pa.Field, column: pa.ChunkedArray, dialect: str) -> pa.ChunkedArray:
    kind = _stored_type(field, dialect)
    plain = stored_as(field, column, plain_type(field.type))
    if pa.types.is_timestamp(kind) and kind.tz is None and plain.type.tz is not None:
        plain = plain.cast(pa.timestamp(plain.type.unit, "UTC")).cast(pa.timestamp(plain.type.unit))
    stored = stored_as(field, plain, kind)
    if kind == pa.float64() and dialect != "postgresql" and pc.any(pc.invert(pc.is_finite(stored))).as_py():
        raise UnsupportedError(
            f"Column {field.name!r} has numbers that are not finite, such as NaN, which the database "
            "does not have. Replace them, or write Parquet (.parquet)."
        )
    return stored


def _stored_type(field: pa.Field, dialect: str) -> pa.DataType:
    """What a column is stored as: truth values and zones of times only where the database has them."""
    kind = plain_type(field.type)
    has_them = dialect == "postgresql"
    if pa.types.is_boolean(kind):
        return pa.bool_() if has_them else pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if has_them and kind.tz is not None else None)
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return kind
    found = next((stored for test, stored in _STORED if test(kind)), None)
    if found is None:
        raise not_written(field, "this database")
    return found


def column_type(alchemy: Any, kind: pa.DataType) -> Any:
    """The type of SQLAlchemy's for a column; MySQL's usual ones would be too short, or cut off fractions."""
    from sqlalchemy.dialects import mysql

    if pa.types.is_decimal(kind):
        return alchemy.Numeric(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        zoned = alchemy.DateTime(timezone=kind.tz is not None)
        return zoned.with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return {
        pa.bool_(): alchemy.Boolean(),
        pa.int64(): alchemy.BigInteger(),
        pa.float64(): alchemy.Double(),
        pa.date32(): alchemy.Date(),
        pa.string(): alchemy.Text().with_variant(text, "mysql", "mariadb"),
        pa.binary(): alchemy.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"),
        pa.time64("us"): alchemy.Time().with_variant(mysql.TIME(fsp=6), "mysql", "mariadb"),
    }[kind]

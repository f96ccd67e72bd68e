"""Databases that commit whatever was done when a table is created: a draft is renamed at the end.

A table with a name of its own is filled, read back and verified, and takes the name of the release by one
statement, which is the commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, KohortError, UnsupportedError
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.dialect import (
    Dialect,
    NewFile,
    Stored,
    Writing,
    plain_type,
    stored_as,
    stored_type,
)
from kohort.io.databases.sqlalchemy_reading import (
    UNKNOWN,
    SqlalchemyConnection,
    SqlalchemyReading,
    mysql_relation,
)

_ROWS = 1 << 14


class NewTableWriting(Writing):
    """A database of which nothing is known: the draft takes a name that no table has, by one statement."""

    reading = SqlalchemyReading
    _filled = False

    @property
    def _schema(self) -> str | None:
        return self._above[0] if self._above else None

    def _found(self) -> str | None:
        if self._exists():
            raise InputError(
                f"Table {self._name!r} exists. In this database it cannot be replaced by one step: choose a "
                "new name, or drop it first."
            )
        return None

    def _exists(self) -> bool:
        """Whether there is a table of this name; a view is refused."""
        self._refuse_view(self._name in self._connection.views(self._schema))
        return self._name in self._connection.tables(self._schema)

    def beside(self, target: DatabaseTable) -> Writing:
        raise UnsupportedError(
            f"{self._target.address}: people and events are two tables, which cannot be published by one "
            "step in this database. Write files, and load them."
        )

    def _own_relations(self) -> frozenset[Any]:
        return frozenset()  # nothing is replaced

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        self._filled = True
        alchemy = self._connection.alchemy
        quoted = alchemy.sql.quoted_name
        columns = [
            alchemy.Column(quoted(field.name, True), _column_type(alchemy, field.type)) for field in schema
        ]
        above = None if self._schema is None else quoted(self._schema, True)
        table = alchemy.Table(quoted(self._new, True), alchemy.MetaData(), *columns, schema=above)
        self._connection.execute(alchemy.schema.CreateTable(table), tells=True)
        places = [f"cell{place}" for place in range(len(columns))]
        values = {column: alchemy.bindparam(place) for column, place in zip(columns, places)}
        insert = alchemy.insert(table).values(values)
        for part in tables:
            for batch in part.to_batches(max_chunksize=_ROWS):
                cells = zip(*(column.to_pylist() for column in batch.columns))
                self._connection.execute(insert, [dict(zip(places, row)) for row in cells])
                self._connection.commit()

    def put_in_place(self) -> None:
        """The commit does it: nothing could undo it."""

    def commit(self) -> None:
        """Give the draft its name; where the connection is lost meanwhile, the server is asked about it."""
        try:
            self._connection.run(self._renaming())
            self._connection.commit()
        except InputError as error:
            if self._is_still_there():
                raise error
        self._filled = False
        self._made.keep()

    def _is_still_there(self) -> bool:
        """Whether the draft still has its own name, so that nothing was published."""
        try:
            asking = SqlalchemyConnection(self._target.address, to_write=True)
        except InputError:
            raise self._lost() from None
        try:
            return self._new in asking.tables(self._schema)
        finally:
            asking.close()

    def close(self) -> None:
        if self._filled:
            self._drop(self._new)
        super().close()

    def _drop(self, name: str) -> None:
        """Drop a table of Kohort's own, also over a new connection where this one is lost."""
        anew = lambda: SqlalchemyConnection(self._target.address, to_write=True)  # noqa: E731
        for reach in (lambda: self._connection, anew):
            with suppress(KohortError):
                connection = reach()
                with suppress(Exception):
                    connection.native.rollback()
                connection.run(f"drop table if exists {self._quoted(name)}")
                connection.commit()
                return


class MysqlWriting(NewTableWriting):
    """MySQL and MariaDB: one statement renames the old table and gives the draft the name of the release.

    While a run lasts it holds a lock of the server's with the name of its draft. A draft whose lock can be
    taken is left over from a run that was killed, and the next one drops it.
    """

    _OWN = re.compile(r"(kohort_[0-9a-f]{16})(_old)?")

    def __init__(self, connection: Any, target: DatabaseTable, made: NewFile) -> None:
        self._others: list[MysqlWriting] = []
        super().__init__(connection, target, made)

    def _found(self) -> str | None:
        exists = self._exists()
        if exists and self._is_referred_to():
            raise self._refused("others refer to it by foreign keys")
        self._remove_abandoned()
        self._lock(self._new)
        return self._name if exists else None

    def _is_referred_to(self) -> bool:
        return bool(
            self._connection.rows(
                "select 1 from information_schema.key_column_usage where referenced_table_name = $1 and "
                "referenced_table_schema = coalesce($2, database()) limit 1",
                self._name,
                self._schema,
            )
        )

    def _lock(self, name: str) -> bool:
        """Take a lock that nobody has; this connection may hold others already."""
        if not self._connection.rows("select is_free_lock($1)", name)[0][0]:
            return False
        return self._connection.rows("select get_lock($1, 0)", name)[0][0] == 1

    def _remove_abandoned(self) -> None:
        for name in self._connection.tables(self._schema):
            found = self._OWN.fullmatch(name)
            if found and self._lock(found[1]):
                self._drop(name)
                self._connection.rows("select release_lock($1)", found[1])

    def beside(self, target: DatabaseTable) -> Writing:
        self._others.append(type(self)(self._connection, target, self._made))
        return self._others[-1]

    def _own_relations(self) -> frozenset[Any]:
        assert self._target.table is not None
        return frozenset([mysql_relation(self._connection, self._target.table)])

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        super().refuse_reads(relations)
        if self._old is not None and UNKNOWN in relations:
            raise InputError(
                f"Table {self._name!r} exists and is not replaced: it may be one that this run reads, since "
                "the database does not say which tables a query or a view reads. Choose a new name, or read "
                "a table."
            )

    def _renaming(self) -> str:
        renames = [rename for each in (self, *self._others) for rename in each._renames()]
        return f"rename table {', '.join(renames)}"

    def _renames(self) -> list[str]:
        new, name, old = map(self._quoted, (self._new, self._name, f"{self._new}_old"))
        return [*([f"{name} to {old}"] if self._old is not None else []), f"{new} to {name}"]

    def commit(self) -> None:
        super().commit()
        for each in (self, *self._others):
            each._filled = False
            if each._old is not None:
                each._drop(f"{each._new}_old")

    def close(self) -> None:
        for other in self._others:
            if other._filled:
                other._drop(other._new)
        super().close()


# Columns on their way into a database: types of Arrow, and what a table has for them.


_STORED: Stored = [
    (pa.types.is_boolean, pa.int64()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_string, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_binary, pa.binary()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
    (pa.types.is_timestamp, pa.timestamp("us")),
]


def _stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
    """A column without truth values and zones of times, which not every database has."""
    plain = plain_type(field.type)
    is_short = pa.types.is_decimal128(plain) and plain.scale >= 0
    kind = plain if is_short else stored_type(field, plain, _STORED, "this database")
    column = stored_as(field, column, plain)
    if pa.types.is_timestamp(plain) and plain.tz is not None:
        column = column.cast(pa.timestamp(plain.unit, "UTC")).cast(pa.timestamp(plain.unit))
    column = stored_as(field, column, kind)
    if kind == pa.float64() and pc.any(pc.invert(pc.is_finite(column))).as_py():
        raise UnsupportedError(
            f"Column {field.name!r} has numbers that are not finite, such as NaN, which the database "
            "does not have. Replace them, or write Parquet (.parquet)."
        )
    return pa.field(field.name, kind), column


def _column_type(alchemy: Any, kind: pa.DataType) -> Any:
    """The type of SQLAlchemy's for a column; MySQL's usual ones would be too short, or cut off fractions."""
    from sqlalchemy.dialects import mysql

    if pa.types.is_decimal(kind):
        return alchemy.Numeric(kind.precision, kind.scale)
    text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    plain, of_mysql = {
        pa.int64(): (alchemy.BigInteger(), mysql.BIGINT()),
        pa.float64(): (alchemy.Double(), mysql.DOUBLE()),
        pa.date32(): (alchemy.Date(), mysql.DATE()),
        pa.string(): (alchemy.Text(), text),
        pa.binary(): (alchemy.LargeBinary(), mysql.LONGBLOB()),
        pa.time64("us"): (alchemy.Time(), mysql.TIME(fsp=6)),
        pa.timestamp("us"): (alchemy.DateTime(), mysql.DATETIME(fsp=6)),
    }[kind]
    return plain.with_variant(of_mysql, "mysql", "mariadb")


def _writing(connection: SqlalchemyConnection, target: DatabaseTable, made: NewFile) -> Writing:
    return (MysqlWriting if connection.is_mysql else NewTableWriting)(connection, target, made)


DIALECT = Dialect(SqlalchemyConnection, SqlalchemyReading, _writing, _stored)

"""Databases as places to publish by SQLAlchemy: in one transaction, or by a draft that is renamed at the end.

A database whose transactions hold the creation of tables, too (SQLite, PostgreSQL), publishes by a commit.
Others commit whatever was done when a table is created: there a table with a name of its own is filled, read
back and verified, and takes the name of the release by one statement, which is the commit.
"""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, KohortError, UnsupportedError
from kohort.io.databases.connection import NewFile, Reading, refuse_file_reads
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.postgresql_writing import PostgresqlTable
from kohort.io.databases.sqlalchemy_connection import (
    UNKNOWN,
    SqlalchemyConnection,
    column_type,
    mysql_relation,
    storable,
)

__all__ = ["SqlalchemyWriting", "open_writing", "storable"]

_ROWS = 1 << 14


def open_writing(target: DatabaseTable) -> SqlalchemyWriting:
    """Begin to publish a table; the file of a database that is a file is made if there is none."""
    made = None if target.file is None else NewFile(target.file)
    connection = None
    try:
        connection = SqlalchemyConnection(target.address)
        return _KINDS.get(connection.dialect, NewTableWriting)(connection, target, made)
    except BaseException:
        if connection is not None:
            connection.close()
        if made is not None:
            made.remove()
        raise


class SqlalchemyWriting(ABC):
    """A table that is about to be published; here by a commit, as SQLite and PostgreSQL can."""

    def __init__(self, connection: SqlalchemyConnection, target: DatabaseTable, made: NewFile | None) -> None:
        assert target.table is not None
        self._connection, self._target, self._made = connection, target, made
        *self._above, self._name = target.table
        if len(self._above) > 1:
            raise InputError(f"{target.name}: name a schema and a table, no more.")
        self._new = f"kohort_{secrets.token_hex(8)}"
        self._find_old()

    @abstractmethod
    def _find_old(self) -> None:
        """Find the table of this name, and refuse one that must not be replaced."""

    def beside(self, target: DatabaseTable) -> SqlalchemyWriting:
        return type(self)(self._connection, target, self._made)

    @property
    def _schema(self) -> str | None:
        return self._above[0] if self._above else None

    def _replaces_table(self) -> bool:
        """Whether there is a table of this name; a view is refused."""
        if self._name in self._connection.views(self._schema):
            raise InputError(f"{self._name!r} is a view, which is not replaced. Choose another name.")
        return self._name in self._connection.tables(self._schema)

    def _quoted(self, name: str) -> str:
        return self._connection.quoted(*self._above, name)

    @abstractmethod
    def refuse_reads(self, relations: frozenset[Any]) -> None:
        """Refuse a table that this run reads."""

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        alchemy = self._connection.alchemy
        quoted = alchemy.sql.quoted_name
        columns = [
            alchemy.Column(quoted(field.name, True), column_type(alchemy, field.type)) for field in schema
        ]
        above = None if self._schema is None else quoted(self._schema, True)
        table = alchemy.Table(quoted(self._new, True), alchemy.MetaData(), *columns, schema=above)
        self._connection.execute(alchemy.schema.CreateTable(table), tells=True)
        places = [f"cell{place}" for place in range(len(columns))]
        values = {column: alchemy.bindparam(place) for column, place in zip(columns, places)}
        insert = alchemy.insert(table).values(values)
        for part in tables:
            for start in range(0, len(part), _ROWS):
                self._insert(insert, places, part.slice(start, _ROWS))

    def _insert(self, insert: Any, places: list[str], part: pa.Table) -> None:
        cells = zip(*(column.to_pylist() for column in part.columns))
        self._connection.execute(insert, [dict(zip(places, row)) for row in cells])

    def read_back(self) -> Reading:
        from kohort.io.databases.sqlalchemy_urls import SqlalchemyReading

        return SqlalchemyReading(self._connection, f"select * from {self._quoted(self._new)}")

    @abstractmethod
    def put_in_place(self) -> None:
        """Give the new table the name of the release, as far as that can be taken back."""

    def commit(self) -> None:
        self._connection.commit()
        if self._made is not None:
            self._made.keep()

    def close(self) -> None:
        self._connection.close()
        if self._made is not None:
            self._made.remove()


class SqliteWriting(SqlalchemyWriting):
    """SQLite: in one transaction, which Python's driver would begin too late."""

    def _find_old(self) -> None:
        if self._target.file is None:
            raise InputError(
                f"{self._target.address} is a database in memory, which is empty. Name its file."
            )
        driver = self._connection.native.connection.dbapi_connection
        if not driver.in_transaction:
            driver.isolation_level = None
            self._connection.run("begin immediate", tells=True)
        found = [name for name in self._connection.tables(None) if name.lower() == self._name.lower()]
        self._old = found[0] if found else None
        self._replaces_table()

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        refuse_file_reads(self._target, relations, [self._name])

    def put_in_place(self) -> None:
        if self._old is not None:
            self._connection.run(f"drop table {self._quoted(self._old)}")
        self._connection.run(
            f"alter table {self._quoted(self._new)} rename to {self._connection.quoted(self._name)}"
        )


class PostgresqlWriting(SqlalchemyWriting):
    """PostgreSQL by any driver: the old table is judged, and its grants are kept, as by ADBC."""

    def _find_old(self) -> None:
        assert self._target.table is not None
        self._table = PostgresqlTable(self._connection, self._target.table)

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        self._table.refuse_reads(relations)

    def put_in_place(self) -> None:
        self._table.put_in_place(self._new)

    def commit(self) -> None:
        self._table.commit(lambda: SqlalchemyConnection(self._target.address))


class NewTableWriting(SqlalchemyWriting):
    """A database of which nothing is known: the draft takes a name that no table has, by one statement."""

    _filled = False

    def _find_old(self) -> None:
        if self._replaces_table():
            raise InputError(
                f"Table {self._name!r} exists. In this database it cannot be replaced by one step: choose a "
                "new name, or drop it first."
            )

    def beside(self, target: DatabaseTable) -> SqlalchemyWriting:
        raise UnsupportedError(
            f"{self._target.address}: people and events are two tables, which cannot be published by one "
            "step in this database. Write files, and load them."
        )

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        """Nothing is replaced."""

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        self._filled = True
        super().fill(schema, tables)

    def _insert(self, insert: Any, places: list[str], part: pa.Table) -> None:
        super()._insert(insert, places, part)
        self._connection.commit()

    def put_in_place(self) -> None:
        """The commit does it: nothing could undo it."""

    def commit(self) -> None:
        """Give the draft its name; where the connection is lost meanwhile, the server is asked about it."""
        try:
            self._connection.run(self._renaming())
            self._connection.commit()
        except InputError as error:
            if self._is_still_there(error):
                raise
        self._filled = False

    def _renaming(self) -> str:
        return f"alter table {self._quoted(self._new)} rename to {self._connection.quoted(self._name)}"

    def _is_still_there(self, error: InputError) -> bool:
        """Whether the draft still has its own name, so that nothing was published."""
        try:
            asking = SqlalchemyConnection(self._target.address)
        except InputError:
            raise InputError(
                f"{self._target.address}: the connection was lost while the table was published, and the "
                "server cannot be asked whether it was. Look at the table before you run this again."
            ) from error
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
        for reach in (lambda: self._connection, lambda: SqlalchemyConnection(self._target.address)):
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

    def _find_old(self) -> None:
        self._others: list[MysqlWriting] = []
        self._replaces = self._replaces_table()
        if self._replaces and self._is_referred_to():
            raise InputError(
                f"Table {self._name!r} exists and is not replaced: others refer to it by foreign keys. "
                "Choose another name."
            )
        self._remove_abandoned()
        self._lock(self._new)

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

    def beside(self, target: DatabaseTable) -> MysqlWriting:
        self._others.append(MysqlWriting(self._connection, target, self._made))
        return self._others[-1]

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        assert self._target.table is not None
        if not self._replaces:
            return
        if mysql_relation(self._connection, self._target.table) in relations:
            raise InputError(f"Table {self._name!r} is one that this run reads. Choose another output.")
        if UNKNOWN in relations:
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
        return [*([f"{name} to {old}"] if self._replaces else []), f"{new} to {name}"]

    def commit(self) -> None:
        super().commit()
        for each in (self, *self._others):
            each._filled = False
            if each._replaces:
                each._drop(f"{each._new}_old")

    def close(self) -> None:
        for other in self._others:
            if other._filled:
                other._drop(other._new)
        super().close()


_KINDS: dict[str, type[SqlalchemyWriting]] = {
    "sqlite": SqliteWriting,
    "postgresql": PostgresqlWriting,
    "mysql": MysqlWriting,
}

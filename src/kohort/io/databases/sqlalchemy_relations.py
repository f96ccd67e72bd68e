"""Which tables a statement reads by SQLAlchemy, as far as the database says: none of them is replaced."""

from __future__ import annotations

from typing import Any

from kohort.io.databases.database_files import relations_of
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.postgresql import identity, relations_locked
from kohort.io.databases.sqlalchemy_connection import SqlalchemyConnection
from kohort.io.databases.sqlite import tables_read

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

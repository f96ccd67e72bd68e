"""What the drivers of databases offer: a snapshot to read from, and a transaction that publishes a table."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from typing import Any, Protocol

import pyarrow as pa

from kohort.errors import UnsupportedError
from kohort.extras import missing_package
from kohort.io.databases.address import Address
from kohort.io.databases.database_table import DatabaseTable

DATABASE_TYPE = b"kohort.database_type"
"""The key of a field's metadata under which the type of its column in the database is noted."""

_MODULES = {
    "postgresql": "kohort.io.databases.postgresql",
    "sqlite": "kohort.io.databases.sqlite",
    "duckdb": "kohort.io.databases.duckdb_files",
    "sqlalchemy": "kohort.io.databases.sqlalchemy_urls",
}


class Reading(Protocol):
    """A table or query in one read-only transaction, so that every reading sees the same records.

    schema     its columns, in types that Kohort codes; see DATABASE_TYPE
    relations  the tables that the query reads, as far as the database says; known after a reading
    """

    schema: pa.Schema
    relations: frozenset[Any]

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """All records; the next reading may begin when this one has ended or was closed."""
        ...

    def close(self) -> None:
        """End the transaction and the connection."""
        ...


class Writing(Protocol):
    """A transaction that puts a table into a database; without `commit`, nothing has happened."""

    def beside(self, target: DatabaseTable) -> Writing:
        """Another table of the same database that the same commit publishes; its own is never called."""
        ...

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        """Refuse a table that the release was made from."""
        ...

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        """Create a new table beside the one to replace, and put these records into it."""
        ...

    def read_back(self) -> Reading:
        """The new table, read inside the transaction. Closing it leaves the transaction open."""
        ...

    def put_in_place(self) -> None:
        """Give the new table its name, in the place of the old one."""
        ...

    def commit(self) -> None: ...

    def close(self) -> None:
        """Undo what was not committed, and end the connection."""
        ...


def open_reading(source: DatabaseTable) -> Reading:
    """Connect to a database and begin to read a table or query."""
    return _module(source.address).open_reading(source)


def open_writing(target: DatabaseTable) -> Writing:
    """Connect to a database and begin a transaction that publishes a table; refused where it would fail."""
    return _writer(target).open_writing(target)


def storable(table: pa.Table, target: DatabaseTable) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    writer, address = _writer(target), target.address
    return (
        writer.storable(table, address.dialect) if address.driver == "sqlalchemy" else writer.storable(table)
    )


def _writer(target: DatabaseTable) -> Any:
    """The driver of a database that a release is written to."""
    if target.table is None:
        raise UnsupportedError("A release is written to a table: give its name, not a query.")
    return _module(target.address)


def _module(address: Address) -> Any:
    return importlib.import_module(_MODULES[address.driver])


def load_package(name: str, purpose: str) -> Any:
    """Import a package of the extra `database`, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_package(f"{purpose} needs", "database") from None


def quoted(*parts: str) -> str:
    """A name in double quotes, as SQL has it: whatever is in it, it is a name and nothing else.

    >>> quoted("clinic", 'x" ; drop table people; --')
    '"clinic"."x"" ; drop table people; --"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)

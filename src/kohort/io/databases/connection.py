"""What the drivers of databases offer: a snapshot to read from, and a transaction that publishes a table."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.extras import missing_package
from kohort.files.atomic import check_targets
from kohort.io.databases.database_table import Address, DatabaseTable

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


# Errors of databases in our words: theirs may show cells of the data, or a password.


_BY_STATE = {
    "28": "it refused the user or the password. Set PGPASSWORD, or use ~/.pgpass or a service file "
    "(PostgreSQL), or set KOHORT_DATABASE_PASSWORD (other servers)",
    "3D": "there is no such database",
    "42501": "the user has no permission for this. Ask for it, or connect as another user",
    "25006": "the query would write. Only statements that read are run",
    "55P03": "another session has locked the table. Try again later",
    "2BP01": "other objects, such as views, depend on the table that would be replaced. Drop them first, or "
    "choose another name",
    "40": "another session changed the same rows. Try again",
    "57P": "the server ended the connection",
    "57014": "the statement was cancelled, or took longer than the server allows",
    "08": "the connection was lost",
    "22": "a value cannot be converted as the query, or the type of a column, asks for",
    "23": "a value breaks a rule of the database",
    "53": "the server has no room, no memory or no connection left",
}
_BY_WORDS = {
    "password authentication failed": "28",
    "no password supplied": "28",
    "does not exist, or": "3D",
    "readonly database": "25006",
    "read-only": "25006",
    "transaction read-write mode": "25006",
    "invalid input syntax": "22",
    "out of range": "22",
    "division by zero": "22",
    "database is locked": "55P03",
    "Could not set lock": "55P03",
    "no connection to the server": "08",
    "server closed the connection": "08",
    "connection was lost": "08",
    "terminating connection": "57P",
    "Access denied for user": "28",
    "Unknown database": "3D",
    "command denied to user": "42501",
    "Lost connection": "08",
    "gone away": "08",
    "Lock wait timeout": "55P03",
    "lock request could not be granted": "55P03",
}
_STATE = re.compile(r"SQLSTATE: (\w{5})")
_NOISE = re.compile(
    r"^(?:[A-Z_]+: |\[\w+\] |Failed to \w+ ?\w*: |could not begin COPY: |ERROR:\s+|[A-Z]\w+ Error: )+"
)


@contextmanager
def explained(address: Address, kinds: tuple[type[Exception], ...], *, tells: bool) -> Iterator[None]:
    """Turn errors of a driver into an InputError.

    kinds  the exceptions of the driver
    tells  whether its own words may be shown: those about connecting and about the query, not about records
    """
    try:
        yield
    except kinds as error:
        raise failure(address, error, tells=tells) from None


def failure(address: Address, error: Exception, *, tells: bool) -> InputError:
    """The error of a driver in our words."""
    text = str(error)
    stated = _STATE.search(text)  # errors of a stream of batches have it in their text only
    told = getattr(getattr(error, "orig", error), "sqlstate", None)  # SQLAlchemy wraps the driver's error
    state = told or (stated[1] if stated else "")
    state = state or next((known for words, known in _BY_WORDS.items() if words in text), "")
    known = next((_BY_STATE[state[:n]] for n in (5, 3, 2) if state[:n] in _BY_STATE), None)
    if known is not None:
        return InputError(f"{address}: {known}. Nothing was written.")
    if tells:
        return InputError(f"{address}: {_plain(address, text)}. Nothing was written.")
    code = f" (SQLSTATE {state})" if state else f" ({type(error).__name__})"
    return InputError(f"{address}: the database reported an error{code}. Nothing was written.")


def _plain(address: Address, text: str) -> str:
    """The first line of a message, without passwords."""
    line = _NOISE.sub("", text.strip().splitlines()[0]) if text.strip() else "it gave no reason"
    for secret in address.secrets():
        line = line.replace(secret, "***")
    return line.strip(". ")


# What the ADBC drivers share: statements that are closed, and results in batches.


class AdbcConnection:
    """A connection of an ADBC driver, with errors in our words.

    package  the driver, such as adbc_driver_sqlite.dbapi
    place    what its `connect` takes
    """

    def __init__(self, address: Address, package: str, purpose: str, place: str) -> None:
        self.address = address
        driver = load_package(package, purpose)
        self._errors = (load_package("adbc_driver_manager", purpose).Error, OSError, pa.ArrowException)
        with explained(address, self._errors, tells=True):
            self._connection = driver.connect(place)

    def run(self, statement: str, *, tells: bool = False) -> None:
        """Run a statement that gives nothing."""
        with explained(self.address, self._errors, tells=tells), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a small result; `values` take the places of the parameters."""
        with explained(self.address, self._errors, tells=tells), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall()

    def schema(self, statement: str) -> pa.Schema:
        """The columns that a statement gives, without running it."""
        with explained(self.address, self._errors, tells=True), closing(self._connection.cursor()) as cursor:
            return cursor.adbc_execute_schema(statement)

    def names(self, statement: str) -> list[str]:
        """The names of the columns that a statement gives, doubles among them."""
        with explained(self.address, self._errors, tells=True), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)
            return [column[0] for column in cursor.description]

    def batches(self, statement: str, **options: Any) -> Generator[pa.RecordBatch, None, None]:
        """The result of a statement in batches."""
        with explained(self.address, self._errors, tells=False), closing(self._connection.cursor()) as cursor:
            if options:
                cursor.adbc_statement.set_options(**options)
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                yield from reader

    def append(self, table: str, batches: pa.RecordBatchReader, **where: Any) -> None:
        """Put records into a table that exists."""
        with explained(self.address, self._errors, tells=False), closing(self._connection.cursor()) as cursor:
            cursor.adbc_ingest(table, batches, mode="append", **where)

    def commit(self) -> None:
        with explained(self.address, self._errors, tells=False):
            self._connection.commit()

    def close(self) -> None:
        """End the connection; what was not committed is undone."""
        with suppress(Exception):  # a connection that is lost has undone it already
            self._connection.close()


# Columns on their way into a database: plain values, in a type that it has.


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without dictionaries and extensions."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def stored_as(field: pa.Field, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column in the type that a database has for it; refused where a value would lose a part of itself."""
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowInvalid:  # its message would show the value
        raise UnsupportedError(
            f"Column {field.name!r} has values that do not fit into the type {kind} of the database, such as "
            "times finer than a microsecond. Round them, or write Parquet (.parquet)."
        ) from None


def not_written(field: pa.Field, database: str) -> UnsupportedError:
    """The error for a column whose type is not written to a database."""
    return UnsupportedError(
        f"Column {field.name!r} has the type {field.type}, which Kohort does not write to {database}. Leave "
        "it out, or write Parquet (.parquet)."
    )


# Databases that are files: made for a release if there are none, and gone again if it fails.


class NewFile:
    """The file of a database that a run may make; `remove` removes it unless `keep` was called."""

    def __init__(self, path: Path) -> None:
        check_targets([path])
        self.path = path
        self._made = not path.exists()

    def keep(self) -> None:
        self._made = False

    def remove(self) -> None:
        if self._made:
            for ending in ("", "-journal", "-wal", "-shm", ".wal"):
                with suppress(OSError):
                    self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


def relations_of(path: Path, tables: Iterable[str]) -> frozenset[Any]:
    """Tables of a file, as `Reading.relations` names them; such databases ignore the case of names."""
    return frozenset((os.path.realpath(path), table.lower()) for table in tables)


def refuse_file_reads(target: DatabaseTable, relations: frozenset[Any], names: Iterable[str]) -> None:
    """Refuse a table that the release was made from; `names` are those that it may have in a plan."""
    assert target.file is not None
    if relations_of(target.file, names) & relations:
        raise InputError(f"Table {target.name!r} is one that this run reads. Choose another output.")

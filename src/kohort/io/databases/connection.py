"""Connections to databases: statements, results in batches, and errors in our words."""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Any

import pyarrow as pa

from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.io.databases.database_table import Address


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


# What all connections have; the drivers of ADBC need little else.


class Connection(ABC):
    """A connection with a transaction, whose errors are told in our words.

    errors  the exceptions of the driver
    """

    def __init__(self, address: Address, *errors: type[Exception]) -> None:
        self.address, self._errors = address, (*errors, OSError, pa.ArrowException)

    def explained(self, *, tells: bool) -> AbstractContextManager[None]:
        """Turn errors of the driver into an InputError; see `explained`."""
        return explained(self.address, self._errors, tells=tells)

    def quoted(self, *parts: str) -> str:
        """A name by the rules of the database."""
        return quoted(*parts)

    @abstractmethod
    def run(self, statement: str, *, tells: bool = False) -> None:
        """Run a statement that gives nothing."""

    @abstractmethod
    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a small result; `values` take the places of the parameters."""

    @abstractmethod
    def commit(self) -> None:
        """Make all that was done lasting."""

    @abstractmethod
    def close(self) -> None:
        """End the connection; what was not committed is undone."""


class AdbcConnection(Connection):
    """A connection of an ADBC driver.

    package  the driver, such as adbc_driver_sqlite.dbapi
    place    what its `connect` takes
    """

    def __init__(self, address: Address, package: str, purpose: str, place: str) -> None:
        driver = load_package(package, purpose)
        super().__init__(address, load_package("adbc_driver_manager", purpose).Error)
        with self.explained(tells=True):
            self._connection = driver.connect(place)

    @contextmanager
    def _cursor(self, *, tells: bool) -> Iterator[Any]:
        with self.explained(tells=tells), closing(self._connection.cursor()) as cursor:
            yield cursor

    def run(self, statement: str, *, tells: bool = False) -> None:
        with self._cursor(tells=tells) as cursor:
            cursor.execute(statement)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        with self._cursor(tells=tells) as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall()

    def schema(self, statement: str) -> pa.Schema:
        """The columns that a statement gives, without running it."""
        with self._cursor(tells=True) as cursor:
            return cursor.adbc_execute_schema(statement)

    def names(self, statement: str) -> list[str]:
        """The names of the columns that a statement gives, doubles among them."""
        with self._cursor(tells=True) as cursor:
            cursor.execute(statement)
            return [column[0] for column in cursor.description]

    def batches(self, statement: str, **options: Any) -> Generator[pa.RecordBatch, None, None]:
        """The result of a statement in batches."""
        with self._cursor(tells=False) as cursor:
            if options:
                cursor.adbc_statement.set_options(**options)
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                yield from reader

    def append(self, table: str, schema: pa.Schema, tables: Iterator[pa.Table], **where: Any) -> None:
        """Put records into a table that exists."""
        batches = (batch for part in tables for batch in part.to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        with self._cursor(tells=False) as cursor:
            cursor.adbc_ingest(table, reader, mode="append", **where)

    def commit(self) -> None:
        with self.explained(tells=False):
            self._connection.commit()

    def close(self) -> None:
        with suppress(Exception):  # a connection that is lost has undone it already
            self._connection.close()

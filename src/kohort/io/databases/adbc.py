"""What the ADBC drivers share: statements that are closed, and results in batches."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, suppress
from typing import Any

import pyarrow as pa

from kohort.io.databases.address import Address
from kohort.io.databases.connection import load_package
from kohort.io.databases.failures import explained


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

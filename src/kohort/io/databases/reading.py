"""The records of a table or query in batches, the same ones at every reading; or all of them in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import pyarrow as pa

from kohort.errors import InputError
from kohort.io.databases.connection import Reading, open_reading
from kohort.io.databases.content_hash import ContentHash
from kohort.io.databases.database_table import DatabaseTable


class DatabaseBatches:
    """A table or query that is read several times; see `Batches`.

    All readings are in one read-only transaction where the database has one that keeps a snapshot, and always
    of the same statement. The hash of all records in their order must be that of the first reading.

    source     what is read
    relations  the tables that it reads, as far as the database says
    """

    def __init__(self, source: DatabaseTable) -> None:
        self.source = source
        self._open: Reading | None = open_reading(source)
        self.schema = self._open.schema
        self.relations: frozenset[Any] = frozenset()
        self._first: ContentHash | None = None
        if not self.schema.names:
            raise InputError(f"{source} has no columns.")

    @property
    def sha256(self) -> str:
        """The hash of the records, whatever their order; see `ContentHash`. Known after a whole reading."""
        assert self._first is not None
        return self._first.sha256

    def read(self, names: Sequence[str], *, last: bool = False) -> Generator[pa.RecordBatch, None, None]:
        """These columns of all records; a reading to the end compares all records with the first ones."""
        found = ContentHash(self.schema.names)
        reading = self._reading()
        for batch in reading.batches():
            found.add(batch)
            yield batch.select(list(names))
        self.relations |= reading.relations
        self._compare(found)

    def whole(self) -> pa.Table:
        """All records in memory."""
        return pa.Table.from_batches(list(self.read(self.schema.names)), self.schema)

    def whole_if(self, fits: Callable[[int], bool]) -> pa.Table | None:
        """All records in memory; None as soon as so many bytes do not fit."""
        parts: list[pa.RecordBatch] = []
        size = 0
        reading = self.read(self.schema.names)
        try:
            for batch in reading:
                size += batch.nbytes
                if not fits(size):
                    return None
                parts.append(batch)
        finally:
            reading.close()
        return pa.Table.from_batches(parts, self.schema)

    def close(self) -> None:
        """End the transaction. Another reading begins a new one, and is refused if it finds other records."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __del__(self) -> None:
        if getattr(self, "_open", None) is not None:
            self.close()

    def _reading(self) -> Reading:
        if self._open is None:
            self._open = open_reading(self.source)
            if not self._open.schema.equals(self.schema):
                raise _changed(self.source, "its columns are others")
        return self._open

    def _compare(self, found: ContentHash) -> None:
        if self._first is None:
            self._first = found
        elif found.records != self._first.records:
            raise _changed(
                self.source, f"it had {self._first.records:,} records and now has {found.records:,}"
            )
        elif found.in_order != self._first.in_order:
            raise _changed(self.source, "the records are others, or in another order")


def _changed(source: DatabaseTable, how: str) -> InputError:
    return InputError(
        f"{source} gave something else at its second reading: {how}. Nothing was written. If nobody changes "
        "the table, add an 'order by' to the query that puts the records into one order, and leave out what "
        "is random."
    )


def read_database(source: DatabaseTable) -> tuple[pa.Table, str]:
    """All records of a table or query, and their hash; one without records is refused."""
    batches = DatabaseBatches(source)
    try:
        table = batches.whole()
        if not table.num_rows:
            raise InputError(f"{source} has no records.")
        return table, batches.sha256
    finally:
        batches.close()

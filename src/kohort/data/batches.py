"""Where the records of a large table come from: batches that can be read again and again."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

__all__ = ["Batches", "in_slices"]


class Batches(Protocol):
    """The records of a table in batches, in the same order at every reading.

    A reading raises InputError if the table is not the one that was read before.
    """

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types, as if the table were read whole."""
        ...

    def read(self, names: Sequence[str], *, last: bool = False) -> Generator[pa.RecordBatch, None, None]:
        """These columns of all records; texts may be dictionaries, each batch with its own.

        last  whether this is the last reading, after which every byte is compared with the first one
        """
        ...

    def whole(self) -> pa.Table:
        """All records in memory."""
        ...


def in_slices(batches: Iterator[pa.RecordBatch], schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
    """The same records in slices of `rows` records, the last one shorter; without any, one empty slice."""
    waiting: list[pa.RecordBatch] = []
    held, sliced = 0, False
    for batch in batches:
        while held + len(batch) >= rows:
            needed = rows - held
            yield pa.Table.from_batches([*waiting, batch.slice(0, needed)])
            batch, waiting, held, sliced = batch.slice(needed), [], 0, True
        if len(batch):
            waiting.append(batch)
            held += len(batch)
    if waiting:
        yield pa.Table.from_batches(waiting)
    elif not sliced:
        yield schema.empty_table()

"""The records of a table or query in batches, the same ones at every reading, which a hash of them shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, InternalError
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.dialect import Reading, open_reading

_BETWEEN, _ESCAPE = b"\x1f", b"\\"
_MISSING = _ESCAPE + b"N"


class ContentHash:
    """The hash of a table that comes in batches; it takes 32 bytes of memory per record.

    records  how many records there were
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.records = 0
        self._digests: list[bytes] = []
        self._in_order = hashlib.sha256()

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Take in the next records."""
        digests = b"".join(_row_digests(part) for part in _batches(batch) if len(part) and part.num_columns)
        self._digests.append(digests)
        self._in_order.update(digests)
        self.records += len(batch)

    @property
    def in_order(self) -> str:
        """The hash of the same records in this order."""
        return self._in_order.hexdigest()

    @property
    def sha256(self) -> str:
        """The hash of the table, as hexadecimal digits."""
        hashed = hashlib.sha256(json.dumps(self.names, ensure_ascii=False).encode())
        rows = np.frombuffer(b"".join(self._digests), dtype="S32")
        hashed.update(np.sort(rows).tobytes())
        return hashed.hexdigest()


def _batches(batch: pa.RecordBatch | pa.Table) -> Iterable[pa.RecordBatch]:
    return [batch] if isinstance(batch, pa.RecordBatch) else batch.to_batches(max_chunksize=1 << 17)


def _row_digests(batch: pa.RecordBatch) -> bytes:
    cells = [_cells(column) for column in batch.columns]
    rows = pc.binary_join_element_wise(*cells, pa.scalar(_BETWEEN, pa.large_binary()))
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64, count=len(rows) + 1)
    view, sha256 = memoryview(data or b""), hashlib.sha256
    places = ends.tolist()
    return b"".join([sha256(view[start:end]).digest() for start, end in pairwise(places)])


def _cells(column: pa.Array) -> pa.Array:
    """Every cell as bytes in which the separator does not occur, and a missing one as no other."""
    cells = _as_bytes(column)
    if _has_signs(cells):
        cells = pc.replace_substring(cells, pattern=_ESCAPE, replacement=_ESCAPE * 2)
        cells = pc.replace_substring(cells, pattern=_BETWEEN, replacement=_ESCAPE + b"S")
    return pc.fill_null(cells, pa.scalar(_MISSING, pa.large_binary())) if cells.null_count else cells


def _has_signs(cells: pa.Array) -> bool:
    """Whether a cell may have the sign for escapes or the separator in it."""
    data = cells.buffers()[2]
    if data is None:
        return False
    found = np.frombuffer(data, dtype=np.uint8)
    return bool(((found == _ESCAPE[0]) | (found == _BETWEEN[0])).any())


def _as_bytes(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif isinstance(kind, pa.BaseExtensionType):
        column = column.storage
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.large_binary())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary()).cast(pa.large_binary())
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_duration(kind):
        texts = [None if cell is None else str(cell) for cell in column.to_pylist()]
        return pa.array(texts, pa.large_string()).cast(pa.large_binary())
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # the moment, whatever the zone it is shown in
        column = column.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
    return column.cast(pa.large_string()).cast(pa.large_binary())


# The records of a table or query in batches, the same ones at every reading; or all of them in memory.


class DatabaseBatches:
    """A table or query that is read several times; see `Batches`.

    All readings are in one read-only transaction where the database has one that keeps a snapshot, and always
    of the same statement. The hash of all records in their order must be that of the first reading.

    source     what is read
    relations  the tables that it reads, as far as the database says
    """

    def __init__(self, source: DatabaseTable, reading: Reading | None = None) -> None:
        self.source = source
        self._open: Reading | None = reading or open_reading(source)
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
        if found.records != self._first.records:
            raise _changed(
                self.source, f"it had {self._first.records:,} records and now has {found.records:,}"
            )
        if found.in_order != self._first.in_order:
            raise _changed(self.source, "the records are others, or in another order")


class ReadBack(DatabaseBatches):
    """A new table as it is in the transaction that publishes it.

    A reading to the end is refused unless its records and columns are those of the release.
    """

    def __init__(self, target: DatabaseTable, reading: Reading, sha256: str) -> None:
        super().__init__(target, reading)
        self._expected = sha256

    def _compare(self, found: ContentHash) -> None:
        if found.sha256 != self._expected:
            raise InternalError(
                "The table in the database is not the release that was verified: a type of the database may "
                "hold its values otherwise. Nothing was written. Please report this."
            )


def _changed(source: DatabaseTable, how: str) -> InputError:
    return InputError(
        f"{source} gave something else at its second reading: {how}. Nothing was written. If nobody changes "
        "the table, add an 'order by' to the query that puts the records into one order, and leave out what "
        "is random."
    )

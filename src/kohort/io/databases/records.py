"""The records of a table or query in batches, the same ones at every reading, which a hash of them shows.

And a release on its way into a database: in a private file first, then in a transaction, then committed.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import is_bytes
from kohort.errors import InputError, InternalError
from kohort.files.atomic import note_written
from kohort.files.drafts import Drafts, remove_abandoned
from kohort.io.databases import DatabaseTable
from kohort.io.databases.dialect import Reading, open_reading, open_writing, storable

_BETWEEN, _ESCAPE = b"\x1f", b"\\"
_MISSING = _ESCAPE + b"N"


class ContentHash:
    """The hash of a table that comes in batches; it takes 32 bytes of memory per record."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.records = 0
        self._digests: list[bytes] = []
        self._in_order = hashlib.sha256()

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Take in the next records."""
        parts = [batch] if isinstance(batch, pa.RecordBatch) else batch.to_batches(max_chunksize=1 << 17)
        digests = b"".join(_row_digests(part) for part in parts if len(part) and part.num_columns)
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


def _row_digests(batch: pa.RecordBatch) -> bytes:
    cells = [_cells(column) for column in batch.columns]
    rows = pc.binary_join_element_wise(*cells, pa.scalar(_BETWEEN, pa.large_binary()))
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64, count=len(rows) + 1)
    view, sha256 = memoryview(data or b""), hashlib.sha256
    return b"".join([sha256(view[start:end]).digest() for start, end in pairwise(ends.tolist())])


def _cells(column: pa.Array) -> pa.Array:
    """Every cell as bytes in which the separator does not occur, and a missing one as no other."""
    cells = _as_bytes(column)
    found = np.frombuffer(cells.buffers()[2] or b"", dtype=np.uint8)
    if ((found == _ESCAPE[0]) | (found == _BETWEEN[0])).any():
        cells = pc.replace_substring(cells, pattern=_ESCAPE, replacement=_ESCAPE * 2)
        cells = pc.replace_substring(cells, pattern=_BETWEEN, replacement=_ESCAPE + b"S")
    return pc.fill_null(cells, pa.scalar(_MISSING, pa.large_binary())) if cells.null_count else cells


def _as_bytes(column: pa.Array) -> pa.Array:
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    elif pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.large_binary())
    if is_bytes(kind):
        return column.cast(pa.binary()).cast(pa.large_binary())
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_duration(kind):
        texts = [None if cell is None else str(cell) for cell in column.to_pylist()]
        return pa.array(texts, pa.large_string()).cast(pa.large_binary())
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # the moment, whatever the zone it is shown in
        column = column.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
    return column.cast(pa.large_string()).cast(pa.large_binary())


class DatabaseBatches:
    """A table or query that is read several times; see `Batches`.

    All readings are in one read-only transaction where the database has one that keeps a snapshot, and always
    of the same statement. The hash of all records in their order must be that of the first reading.

    source     what is read
    relations  the tables that it reads, as far as the database says
    """

    _first: ContentHash  # of the first whole reading

    def __init__(self, source: DatabaseTable, reading: Reading | None = None) -> None:
        self.source = source
        self._open: Reading | None = reading or open_reading(source)
        self.schema = self._open.schema
        self.relations: frozenset[Any] = frozenset()
        if not self.schema.names:
            raise InputError(f"{source} has no columns.")

    @property
    def sha256(self) -> str:
        """The hash of the records, whatever their order; see `ContentHash`. Known after a whole reading."""
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
        with closing(self.read(self.schema.names)) as reading:
            for batch in reading:
                size += batch.nbytes
                if not fits(size):
                    return None
                parts.append(batch)
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
        first = vars(self).setdefault("_first", found)
        if found.records != first.records:
            raise _changed(self.source, f"it had {first.records:,} records and now has {found.records:,}")
        if found.in_order != first.in_order:
            raise _changed(self.source, "the records are others, or in another order")


class ReadBack(DatabaseBatches):
    """A new table as it is in its transaction; a whole reading is refused unless that is the release."""

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


@contextmanager
def table_draft(target: DatabaseTable, events: DatabaseTable | None = None) -> Iterator[TableDraft]:
    """A draft of a table, or of two; at the end its file is gone, and what was not committed is undone."""
    folder = Path(tempfile.gettempdir())
    remove_abandoned(folder)
    with closing(Drafts(folder)) as drafts:
        others = () if events is None else (TableDraft(events, drafts.create(".arrow")),)
        draft = TableDraft(target, drafts.create(".arrow"), others)
        try:
            yield draft
        finally:
            draft.close()


class TableDraft:
    """A table that is about to be published: created, filled and checked in a transaction, then committed.

    The file holds what is published, and nothing else. The records of the original are read to the end before
    the transaction begins, so that it is short, and so that a database may be both the source and the target.

    path    the file to write the release to, in Arrow's format
    others  the drafts of other tables, which the same commit publishes
    """

    def __init__(self, target: DatabaseTable, path: Path, others: tuple[TableDraft, ...] = ()) -> None:
        self.target, self.path = target, path
        self.all = (self, *others)
        self._transaction = ExitStack()

    @cached_property
    def sha256(self) -> str:
        """The hash of the table as it will be in the database; see `ContentHash`."""
        schema, tables = self._slices()
        found = ContentHash(schema.names)
        for table in tables:
            found.add(table)
        return found.sha256

    def load(self, relations: frozenset[Any], verify: Callable[..., None]) -> None:
        """Create and fill the tables in a transaction, and have them verified as they are read back.

        relations  the tables that the release was made from, none of which is replaced
        verify     takes the tables that were read back, in the order of `all`
        """
        self._writing = first = self._transaction.enter_context(closing(open_writing(self.target)))
        writings = [(self, first), *((draft, first.beside(draft.target)) for draft in self.all[1:])]
        for draft, writing in writings:
            writing.refuse_reads(relations)
            writing.fill(*draft._slices())
        verify(*(ReadBack(draft.target, writing.read_back(), draft.sha256) for draft, writing in writings))
        for _, writing in writings:
            writing.put_in_place()

    def commit(self) -> None:
        """Publish the tables: from now on others see them."""
        self._writing.commit()
        for draft in self.all:
            note_written(str(draft.target))

    def close(self) -> None:
        """Undo what was not committed."""
        self._transaction.close()

    def _slices(self) -> tuple[pa.Schema, Iterator[pa.Table]]:
        with pa.OSFile(str(self.path)) as file:
            schema = pa.ipc.open_file(file).schema
        return storable(schema.empty_table(), self.target).schema, self._stored()

    def _stored(self) -> Generator[pa.Table, None, None]:
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for place in range(reader.num_record_batches):
                yield storable(pa.Table.from_batches([reader.get_batch(place)]), self.target)

"""A SHA-256 of the records of a table, whatever their order: a database keeps none.

Each record is written as bytes and hashed. The hash of the table is that of its column names and of the
hashes of its records, sorted. Who has the table can compute it again, from whichever copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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


def content_hash(table: pa.Table) -> str:
    """The hash of a table in memory.

    >>> people = pa.table({"age": [21, 30], "town": ["Ayr", None]})
    >>> content_hash(people) == content_hash(people.take([1, 0])) != content_hash(people.take([0, 0]))
    True
    """
    found = ContentHash(table.column_names)
    found.add(table)
    return found.sha256


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

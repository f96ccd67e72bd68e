"""How a worker's Python behaves: it keeps to one core, and looks at many records at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pyarrow as pa

_AT_ONCE = 1 << 17  # records


def one_thread() -> None:
    """Let compiled code run in one thread, unless NUMBA_NUM_THREADS says otherwise; before its first call."""
    if "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")


def larger_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same records in larger batches: values are looked up in a table that is made for each."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(held) for held in waiting) >= _AT_ONCE:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    whole = pa.Table.from_batches(batches).combine_chunks()
    columns = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=whole.schema)

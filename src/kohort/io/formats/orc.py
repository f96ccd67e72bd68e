"""ORC files, which are read only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from kohort.io.formats import How, Read, Reader, fitting
from kohort.io.source_file import SourceFile


def read(source: SourceFile, how: How) -> Read:
    """All records of a file."""
    return Read(orc.ORCFile(os.fspath(source)).read())


def open_in_batches(source: SourceFile, how: How) -> Reader:
    """The same records in batches."""
    file = orc.ORCFile(os.fspath(source))
    return Reader(file.schema, _batches, file.nrows)


def _batches(path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    file = orc.ORCFile(os.fspath(path))
    for stripe in range(file.nstripes):
        batch = file.read_stripe(stripe, columns=list(names)).select(names)
        for start in range(0, len(batch), fitting.ROWS):
            yield batch.slice(start, fitting.ROWS)

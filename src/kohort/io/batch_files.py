"""Files that are read in batches of records, several times, always the same file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.errors import InputError
from kohort.io.compressed import DAMAGED
from kohort.io.delimited import SAMPLE_BYTES, column_types, delimited_batches
from kohort.io.source_file import SourceState, opened_again
from kohort.io.text_layout import Layout

ROWS = 1 << 17
_REPEATED = 4  # bytes a value
IN_BATCHES = ("csv", "parquet", "arrow", "orc", "jsonl")

Reader = Callable[[Path, Sequence[str]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, eq=False)
class BatchFile:
    """A file whose records are read in batches.

    state   which file it is: another one in its place, or other bytes, are refused
    reader  reads some columns
    load    reads everything
    expected  about how many records there are
    """

    path: Path
    state: SourceState
    schema: pa.Schema
    reader: Reader
    load: Callable[[Path], pa.Table]
    expected: int = 0

    @property
    def sha256(self) -> str:
        """The hash of all bytes."""
        return self.state.sha256

    def read(self, names: Sequence[str], *, last: bool = False) -> Generator[pa.RecordBatch, None, None]:
        """These columns of all records; `last` compares all bytes of the file with those first read."""
        with opened_again(self.path, self.state, compare=last) as source:
            try:
                yield from self.reader(source, names)
            except (*DAMAGED, pa.ArrowException):
                raise InputError(f"{self.path} is damaged, or not what its extension says.") from None

    def whole(self) -> pa.Table:
        """All records in memory."""
        with opened_again(self.path, self.state, compare=True) as source:
            return self.load(source)


def why_not_in_batches(path: Path, kind: str) -> str | None:
    """Why files of this format cannot be read in batches, in words; None if they can."""
    if kind not in IN_BATCHES:
        return f"{path.suffix} files are read whole"
    if path.suffix.lower() == ".xz":
        return "files compressed with xz are read whole"
    return None


def parquet_file(path: Path, state: SourceState, source: Path, load: Any) -> BatchFile:
    """A Parquet file; `source` is the opened one."""
    with pq.ParquetFile(os.fspath(source)) as file:
        schema, n_records = file.schema_arrow, file.metadata.num_rows
        repeated = _repeated_columns(file.metadata)
    texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name in repeated]
    return BatchFile(path, state, schema, partial(_parquet_batches, texts), load, n_records)


def _repeated_columns(about: pq.FileMetaData) -> set[str]:
    """The columns whose values repeat: stored, as dictionary and codes, they take few bytes a value."""
    n_bytes: Counter[str] = Counter()
    for group in map(about.row_group, range(about.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            n_bytes[column.path_in_schema] += column.total_uncompressed_size
    return {name for name, size in n_bytes.items() if size <= _REPEATED * about.num_rows}


def _parquet_batches(texts: Sequence[str], path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    encoded = [name for name in texts if name in names]
    with pq.ParquetFile(os.fspath(path), read_dictionary=encoded) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=list(names)):
            yield batch.select(names)


def arrow_file(path: Path, state: SourceState, source: Path, load: Any) -> BatchFile:
    """A file in one of Arrow's formats; `source` is the opened one."""
    with pa.OSFile(os.fspath(source)) as file:
        schema = _arrow_reader(file).schema
    return BatchFile(path, state, schema, partial(_arrow_batches, schema), load)


def _arrow_batches(schema: pa.Schema, path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The batches of the file in smaller ones. It is not mapped: to cut it short would end the process."""
    with pa.OSFile(os.fspath(path)) as file:
        reader = _arrow_reader(file, sorted(map(schema.get_field_index, names)))
        in_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if in_file else reader:
            for start in range(0, len(batch), ROWS):
                yield batch.select(names).slice(start, ROWS)


def _arrow_reader(file: Any, fields: list[int] | None = None) -> Any:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    try:
        return pa.ipc.open_file(file, options=options)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file, options=options)


def orc_file(path: Path, state: SourceState, source: Path, load: Any) -> BatchFile:
    """An ORC file; `source` is the opened one."""
    from pyarrow import orc

    file = orc.ORCFile(os.fspath(source))
    return BatchFile(path, state, file.schema, _orc_batches, load, file.nrows)


def _orc_batches(path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    from pyarrow import orc

    file = orc.ORCFile(os.fspath(path))
    for stripe in range(file.nstripes):
        batch = file.read_stripe(stripe, columns=list(names)).select(names)
        for start in range(0, len(batch), ROWS):
            yield batch.slice(start, ROWS)


def delimited_file(path: Path, state: SourceState, source: Path, layout: Layout, load: Any) -> BatchFile:
    """Delimited text in UTF-8; `source` is the opened file."""
    types, rows_in_sample = column_types(source, layout)
    schema = pa.schema([pa.field(name, types[name]) for name in layout.header])

    def reader(path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return delimited_batches(path, layout, types, names)

    return BatchFile(
        path, state, schema, reader, load, rows_in_sample * state.size_and_time[0] // SAMPLE_BYTES
    )

"""Arrow's file format (also known as Feather), and its stream format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.files.checked import checked_stream
from kohort.io.formats import How, Read, Reader, fitting
from kohort.io.formats.fitting import Slices, is_not_encoded_text
from kohort.io.source_file import SourceFile


def read(source: SourceFile, how: How) -> Read:
    """All records of a file, or of a stream."""
    with pa.OSFile(os.fspath(source)) as file:
        return Read(_opened(file).read_all())


def open_in_batches(source: SourceFile, how: How) -> Reader:
    """The same records in batches."""
    with pa.OSFile(os.fspath(source)) as file:
        schema = _opened(file).schema
    return Reader(schema, partial(_batches, schema))


def _batches(schema: pa.Schema, path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The batches of the file in smaller ones. It is not mapped: to cut it short would end the process."""
    with pa.OSFile(os.fspath(path)) as file:
        reader = _opened(file, sorted(map(schema.get_field_index, names)))
        in_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if in_file else reader:
            for start in range(0, len(batch), fitting.ROWS):
                yield batch.select(names).slice(start, fitting.ROWS)


def _opened(file: Any, fields: list[int] | None = None) -> Any:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    try:
        return pa.ipc.open_file(file, options=options)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file, options=options)


def write(slices: Slices, path: Path, delimiter: str | None) -> None:
    """Write Arrow's file format. Dictionaries other than of text must be the same in all slices."""
    plain = slices.plain(keep=is_not_encoded_text)
    with checked_stream(path) as file, pa.ipc.new_file(file, plain.schema) as writer:
        for part in plain.tables:
            writer.write_table(part)

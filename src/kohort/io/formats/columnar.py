"""Files of columns, which keep all types: Parquet, Arrow (also known as Feather), and ORC, read only.

In a Parquet file text is stored as a dictionary and codes of it anyway: encoded text is handed over as it
is. The file says that it is text, and no reader sees the difference.
"""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from kohort.data.arrow_values import without_unused
from kohort.files.checked import checked_stream
from kohort.io.formats import How, Read, Reader, fitting
from kohort.io.formats.fitting import Slices, is_not_encoded_text
from kohort.io.source_file import SourceFile

_TELLS_TYPES = hasattr(pq.ParquetWriter, "add_key_value_metadata")  # older ones would show the dictionaries
_REPEATED = 4  # bytes a value
_BYTES_PER_CELL = 12  # of a table in memory, roughly: numbers, and texts as codes or as they are


class Parquet:
    """Text that repeats is stored once; a slice is a row group."""

    @staticmethod
    def read(source: SourceFile, how: How) -> Read:
        """Read one file with all columns. Not a dataset: a folder called `year=2020` adds no column."""
        with pq.ParquetFile(os.fspath(source)) as file:
            return Read(file.read())

    @staticmethod
    def open_in_batches(source: SourceFile, how: How) -> Reader:
        """The same records in batches; texts that repeat come as dictionaries."""
        with pq.ParquetFile(os.fspath(source)) as file:
            schema, n_records = file.schema_arrow, file.metadata.num_rows
            repeated = _repeated_columns(file.metadata)
        texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name in repeated]
        return Reader(schema, partial(_parquet_batches, texts), n_records)

    @staticmethod
    def bytes_in_memory(path: Path) -> int:
        """By the number of cells, which the file says."""
        size = path.stat().st_size
        try:
            about = pq.read_metadata(path)
        except (OSError, pa.ArrowException):
            return size  # reading it will say what is wrong
        return max(size, _BYTES_PER_CELL * about.num_rows * len(about.schema.to_arrow_schema()))

    @staticmethod
    def write(slices: Slices, path: Path, delimiter: str | None) -> None:
        """Write a Parquet file with one row group per slice."""
        told = slices.plain(keep=is_not_encoded_text)  # what the file says that it holds
        stored = slices.changed(_with_used_texts) if _TELLS_TYPES else told
        schema = stored.schema.remove_metadata()
        with (
            checked_stream(path) as file,
            pq.ParquetWriter(file, schema, compression="zstd", store_schema=not _TELLS_TYPES) as writer,
        ):
            for table in stored.tables:
                writer.write_table(table.cast(schema))
            if _TELLS_TYPES:
                types = base64.b64encode(told.schema.serialize().to_pybytes()).decode()
                writer.add_key_value_metadata({"ARROW:schema": types})


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
        for batch in file.iter_batches(batch_size=fitting.ROWS, columns=list(names)):
            yield batch.select(names)


def _with_used_texts(table: pa.Table) -> pa.Table:
    """The table whose encoded texts have one dictionary each, of the texts in use: others may be secret."""
    for place, column in enumerate(table.columns):
        if not is_not_encoded_text(column.type):
            field = table.schema.field(place)
            used = without_unused(column).cast(pa.dictionary(pa.int32(), column.type.value_type))
            table = table.set_column(place, field.with_type(used.type), used)
    return table


class Arrow:
    """Arrow's file format, and its stream format, which is read only."""

    @staticmethod
    def read(source: SourceFile, how: How) -> Read:
        """All records of a file, or of a stream."""
        with pa.OSFile(os.fspath(source)) as file:
            return Read(_opened(file).read_all())

    @staticmethod
    def open_in_batches(source: SourceFile, how: How) -> Reader:
        """The same records in batches."""
        with pa.OSFile(os.fspath(source)) as file:
            schema = _opened(file).schema
        return Reader(schema, partial(_arrow_batches, schema))

    @staticmethod
    def write(slices: Slices, path: Path, delimiter: str | None) -> None:
        """Write Arrow's file format. Dictionaries other than of text must be the same in all slices."""
        plain = slices.plain(keep=is_not_encoded_text)
        with checked_stream(path) as file, pa.ipc.new_file(file, plain.schema) as writer:
            for part in plain.tables:
                writer.write_table(part)


def _arrow_batches(schema: pa.Schema, path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
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


class Orc:
    """ORC, which is read only."""

    @staticmethod
    def read(source: SourceFile, how: How) -> Read:
        """All records of a file."""
        return Read(orc.ORCFile(os.fspath(source)).read())

    @staticmethod
    def open_in_batches(source: SourceFile, how: How) -> Reader:
        """The same records in batches."""
        file = orc.ORCFile(os.fspath(source))
        return Reader(file.schema, _orc_batches, file.nrows)


def _orc_batches(path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    file = orc.ORCFile(os.fspath(path))
    for stripe in range(file.nstripes):
        batch = file.read_stripe(stripe, columns=list(names)).select(names)
        for start in range(0, len(batch), fitting.ROWS):
            yield batch.slice(start, fitting.ROWS)

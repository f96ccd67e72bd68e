"""Parquet: types are kept, and text that is encoded is handed over as it is.

In a Parquet file text is stored as a dictionary and codes of it anyway. The file says that it is text, and no
reader sees the difference.
"""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.data.arrow_values import without_unused
from kohort.files.checked import checked_stream
from kohort.io.formats import How, Read, Reader, fitting
from kohort.io.formats.fitting import Slices, is_not_encoded_text
from kohort.io.source_file import SourceFile

_TELLS_TYPES = hasattr(pq.ParquetWriter, "add_key_value_metadata")  # older ones would show the dictionaries
_REPEATED = 4  # bytes a value
_BYTES_PER_CELL = 12  # of a table in memory, roughly: numbers, and texts as codes or as they are


def read(source: SourceFile, how: How) -> Read:
    """Read one file with all columns. Not a dataset: a folder called `year=2020` adds no column."""
    with pq.ParquetFile(os.fspath(source)) as file:
        return Read(file.read())


def open_in_batches(source: SourceFile, how: How) -> Reader:
    """The same records in batches; texts that repeat come as dictionaries."""
    with pq.ParquetFile(os.fspath(source)) as file:
        schema, n_records = file.schema_arrow, file.metadata.num_rows
        repeated = _repeated_columns(file.metadata)
    texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name in repeated]
    return Reader(schema, partial(_batches, texts), n_records)


def bytes_in_memory(path: Path) -> int:
    """By the number of cells, which the file says."""
    size = path.stat().st_size
    try:
        about = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return size  # reading it will say what is wrong
    return max(size, _BYTES_PER_CELL * about.num_rows * len(about.schema.to_arrow_schema()))


def _repeated_columns(about: pq.FileMetaData) -> set[str]:
    """The columns whose values repeat: stored, as dictionary and codes, they take few bytes a value."""
    n_bytes: Counter[str] = Counter()
    for group in map(about.row_group, range(about.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            n_bytes[column.path_in_schema] += column.total_uncompressed_size
    return {name for name, size in n_bytes.items() if size <= _REPEATED * about.num_rows}


def _batches(texts: Sequence[str], path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    encoded = [name for name in texts if name in names]
    with pq.ParquetFile(os.fspath(path), read_dictionary=encoded) as file:
        for batch in file.iter_batches(batch_size=fitting.ROWS, columns=list(names)):
            yield batch.select(names)


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


def _with_used_texts(table: pa.Table) -> pa.Table:
    """The table whose encoded texts have one dictionary each, of the texts in use: others may be secret."""
    for place, column in enumerate(table.columns):
        if not is_not_encoded_text(column.type):
            field = table.schema.field(place)
            used = without_unused(column).cast(pa.dictionary(pa.int32(), column.type.value_type))
            table = table.set_column(place, field.with_type(used.type), used)
    return table

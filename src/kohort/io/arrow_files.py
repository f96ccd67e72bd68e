"""Parquet, Arrow and ORC files: types are kept, dictionary-encoded text is written as text.

In a Parquet file text is stored as a dictionary and codes of it anyway, so text that is encoded already is
handed over as it is. The file says that it is text, and no reader sees the difference.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.data.taking import without_unused
from kohort.files.checked import checked_stream
from kohort.io.columns import Slices

_TELLS_TYPES = hasattr(pq.ParquetWriter, "add_key_value_metadata")  # older ones would show the dictionaries


def read_parquet(path: Path) -> pa.Table:
    """Read one Parquet file with all columns. Not a dataset: a folder called `year=2020` adds no column."""
    with pq.ParquetFile(os.fspath(path)) as file:
        return file.read()


def write_parquet(slices: Slices, path: Path) -> None:
    """Write a Parquet file with one row group per slice."""
    told = slices.plain(keep=_is_not_encoded_text)  # what the file says that it holds
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
    """The table whose encoded texts have one dictionary each, of the texts in use: no other gets into a file.

    Others may be those of records that are left out.
    """
    for place, column in enumerate(table.columns):
        if not _is_not_encoded_text(column.type):
            field = table.schema.field(place)
            used = without_unused(column).cast(pa.dictionary(pa.int32(), column.type.value_type))
            table = table.set_column(place, field.with_type(used.type), used)
    return table


def read_arrow(path: Path) -> pa.Table:
    """Read Arrow's file format (also known as Feather), or its stream format."""
    with pa.OSFile(os.fspath(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file).read_all()


def read_orc(path: Path) -> pa.Table:
    """Read an ORC file."""
    from pyarrow import orc

    return orc.ORCFile(os.fspath(path)).read()


def write_arrow(slices: Slices, path: Path) -> None:
    """Write Arrow's file format. Dictionaries other than of text must be the same in all slices."""
    plain = slices.plain(keep=_is_not_encoded_text)
    with checked_stream(path) as file, pa.ipc.new_file(file, plain.schema) as writer:
        for part in plain.tables:
            writer.write_table(part)


def _is_not_encoded_text(kind: pa.DataType) -> bool:
    if not pa.types.is_dictionary(kind):
        return True
    return not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))

"""Parquet and Arrow files: types are kept, dictionary-encoded text is written as text."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.files.checked import checked_stream
from kohort.io.columns import plain_slices

__all__ = ["read_arrow", "read_parquet", "write_arrow", "write_parquet"]


def read_parquet(path: Path) -> pa.Table:
    """Read one Parquet file with all columns. Not a dataset: a folder called `year=2020` adds no column."""
    with pq.ParquetFile(os.fspath(path)) as file:
        return file.read()


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a Parquet file with one row group per slice."""
    parts = plain_slices(table, keep=_is_not_encoded_text)
    first = next(parts)
    with checked_stream(path) as file, pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(part)


def read_arrow(path: Path) -> pa.Table:
    """Read Arrow's file format (also known as Feather), or its stream format."""
    with pa.OSFile(os.fspath(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file).read_all()


def write_arrow(table: pa.Table, path: Path) -> None:
    """Write Arrow's file format."""
    parts = plain_slices(table.unify_dictionaries(), keep=_is_not_encoded_text)
    first = next(parts)
    with checked_stream(path) as file, pa.ipc.new_file(file, first.schema) as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(part)


def _is_not_encoded_text(kind: pa.DataType) -> bool:
    if not pa.types.is_dictionary(kind):
        return True
    return not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))

"""JSON lines: one object per line; lists and objects in it are kept as they are."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pyarrow as pa

from kohort.errors import InputError
from kohort.io.columns import holds_bytes, plain_slices, refuse_columns
from kohort.io.compressed import create_bytes, open_bytes

__all__ = ["read_json_lines", "write_json_lines"]


def read_json_lines(path: Path) -> pa.Table:
    """Types come from all lines; text that looks like a number or a date stays text."""
    with open_bytes(path) as stream:
        raw = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        return pl.read_ndjson(io.BytesIO(raw), infer_schema_length=None).to_arrow()
    except (pl.exceptions.PolarsError, pa.ArrowInvalid):  # their texts quote the file
        raise InputError(_explanation(path, raw)) from None


def write_json_lines(table: pa.Table, path: Path) -> None:
    """UTF-8; dates and times as ISO text."""
    refuse_columns(table, "JSON", holds_bytes)
    with create_bytes(path) as stream:
        for part in plain_slices(table):
            text = io.BytesIO()
            pl.DataFrame(part).write_ndjson(text)
            stream.write(text.getvalue())


def _explanation(path: Path, raw: bytes) -> str:
    """Which line is at fault, in words that show no cell."""
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            is_object = not line.strip() or isinstance(json.loads(line), dict)
        except ValueError:
            is_object = False
        if not is_object:
            return f"{path}: line {number} is not a JSON object in UTF-8."
    return f"{path}: some keys hold values that do not go together, such as objects and numbers."

"""JSON lines: one object per line; lists and objects in it are kept as they are."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kohort.errors import InputError
from kohort.io.columns import Slices, holds_bytes, refuse_columns
from kohort.io.compressed import create_bytes, open_bytes
from kohort.io.json_text import parse_json
from kohort.io.polars_work import by_polars, wide_decimals_as_text, with_usual_dates
from kohort.late import LateModule

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LateModule("polars")

WHOLE_NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)


def read_json_lines(path: Path) -> pa.Table:
    """Read JSON lines; types come from all lines, and text that looks like a number or a date stays text."""
    with open_bytes(path) as stream:
        raw = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        with by_polars("Reading JSON lines"):
            frame = pl.read_ndjson(io.BytesIO(raw), infer_schema_length=None)
            refuse_doubled_keys(path, raw.decode(), frame.columns)
            return frame.with_columns(_within_64_bits(column) for column in frame).to_arrow()
    except (pl.exceptions.PolarsError, pa.ArrowInvalid):  # their texts quote the file
        raise InputError(explanation(path, raw)) from None


def write_json_lines(slices: Slices, path: Path) -> None:
    """Write JSON lines in UTF-8; dates and times become ISO text."""
    refuse_columns(slices.schema, "JSON", holds_bytes)
    fitting = slices.changed(with_usual_dates("JSON")).changed(wide_decimals_as_text)
    with create_bytes(path) as stream, by_polars("Writing JSON lines"):
        for part in fitting.plain().tables:
            text = io.BytesIO()
            pl.DataFrame(part).write_ndjson(text)
            stream.write(text.getvalue())


def _within_64_bits(column: pl.Series) -> pl.Series:
    """The column with whole numbers in 64 bits or, where they are larger, as text, to lose no digit."""
    if not column.dtype.is_integer() or column.dtype in WHOLE_NUMBERS:
        return column
    unsigned = column.cast(pl.UInt64, strict=False)
    return unsigned if unsigned.null_count() == column.null_count() else column.cast(pl.String)


def refuse_doubled_keys(path: Path, text: str, names: list[str], first_line: int = 1) -> None:
    """Refuse an object that has a key twice: which of the two counts would be a guess.

    Lines are parsed one by one only where a key seems to be there twice, or may be written with escapes.
    """
    lines = pl.Series(text.split("\n"), dtype=pl.String)
    suspect = lines.str.contains("\\u", literal=True)
    for name in names:
        key = re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:"
        suspect |= lines.str.count_matches(key) > 1
    for number in suspect.arg_true().to_list():
        parse_json(lines[number], name=str(path), first_line=first_line + number)


def explanation(path: Path, raw: bytes) -> str:
    """A message that names the line at fault and shows no cell."""
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            text = line.decode()
            if text.strip() and not isinstance(parse_json(text, name=str(path), first_line=number), dict):
                return f"{path}, line {number}: this is not a JSON object."
        except UnicodeDecodeError:
            return f"{path}, line {number}: this is not text in UTF-8."
        except InputError as error:
            return str(error)
    return f"{path}: some keys hold values of different kinds, such as objects and numbers."

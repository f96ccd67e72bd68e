"""JSON lines: one object per line; lists and objects in it are kept as they are."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import InputError
from kohort.io.formats import How, Read, Reader, ReadWhole
from kohort.io.formats.fitting import Slices, by_polars, holds_bytes, write_text
from kohort.io.json_text import parse_json
from kohort.io.source_file import SourceFile, open_bytes
from kohort.late import pl

WHOLE_NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)


def read(source: SourceFile, how: How) -> Read:
    """Read JSON lines; types come from all lines, and text that looks like a number or a date stays text."""
    with open_bytes(source) as stream:
        raw = stream.read().removeprefix(_MARK)
    frame = _parsed(source, raw)
    refuse_doubled_keys(source, raw.decode(), frame.columns)
    return Read(frame.with_columns(_within_64_bits(column) for column in frame).to_arrow())


def write(slices: Slices, path: Path, delimiter: str | None) -> None:
    """Write JSON lines in UTF-8; dates and times become ISO text."""

    def text_of(part: pa.Table, number: int) -> bytes:
        text = io.BytesIO()
        pl.DataFrame(part).write_ndjson(text)
        return text.getvalue()

    write_text(slices, path, "JSON", holds_bytes, text_of)


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


BLOCK_BYTES = 1 << 24
_MARK = b"\xef\xbb\xbf"
_BOTH_NUMBERS = {pl.Int64(), pl.Float64()}

Schema = dict[str, Any]


def open_in_batches(source: SourceFile, how: How) -> Reader:
    """The same records in batches: all lines are read once to learn the types, and then for the records."""
    schema: Schema = {}
    n_records = 0
    for first_line, block in _blocks(source):
        frame = _parsed(source, block)
        refuse_doubled_keys(source, block.decode(), frame.columns, first_line)
        n_records += len(frame)
        for name, kind in frame.schema.items():
            if (joined := _joined(schema.get(name, pl.Null()), kind)) is None:
                raise ReadWhole(f"the values of {name!r} are not all of one kind")
            schema[name] = joined
    if odd := [name for name, kind in schema.items() if kind.is_integer() and kind not in WHOLE_NUMBERS]:
        raise ReadWhole(f"{odd[0]!r} has numbers of more than 64 bits")
    types = pl.DataFrame(schema=schema).to_arrow().schema
    return Reader(types, partial(_batches, schema), n_records)


def _batches(schema: Schema, path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for _, block in _blocks(path):
        table = _parsed(path, block, schema=schema).select(names).to_arrow()
        yield from table.combine_chunks().to_batches()


def _parsed(path: Path, block: bytes, **how: Any) -> pl.DataFrame:
    try:
        with by_polars("Reading JSON lines"):
            return pl.read_ndjson(io.BytesIO(block), infer_schema_length=None, **how)
    except (pl.exceptions.PolarsError, pa.ArrowInvalid):  # their texts quote the file
        with open_bytes(path) as stream:
            raise InputError(explanation(path, stream.read().removeprefix(_MARK))) from None


def _joined(known: pl.DataType, found: pl.DataType) -> pl.DataType | None:
    """The type of values of two types; None where that is not clear from the types alone."""
    if known == found or found == pl.Null():
        return known
    if known == pl.Null():
        return found
    return pl.Float64() if {known, found} == _BOTH_NUMBERS else None


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Stretches of whole lines, each with the number of its first line."""
    line, rest = 1, b""
    with open_bytes(path) as stream:
        while chunk := stream.read(BLOCK_BYTES):
            text = (rest + chunk).removeprefix(_MARK) if line == 1 else rest + chunk
            end = text.rfind(b"\n") + 1
            rest = text[end:]
            if text[:end].strip():
                yield line, text[:end]
            line += text.count(b"\n", 0, end)
    if rest.strip():
        yield line, rest

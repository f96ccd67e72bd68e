"""JSON lines in batches: all lines are read once to learn the types, and then again for the records."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kohort.errors import InputError
from kohort.io.batch_files import BatchFile
from kohort.io.compressed import open_bytes
from kohort.io.json_lines import WHOLE_NUMBERS, explanation, read_json_lines, refuse_doubled_keys
from kohort.io.polars_work import by_polars
from kohort.io.source_file import SourceState
from kohort.late import LateModule

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LateModule("polars")

BLOCK_BYTES = 1 << 24
_MARK = b"\xef\xbb\xbf"
_BOTH_NUMBERS = {pl.Int64(), pl.Float64()}

Schema = dict[str, Any]


def json_file(path: Path, state: SourceState, source: Path) -> BatchFile | str:
    """A file of JSON lines, or why it is read whole, in words; `source` is the opened one."""
    schema: Schema = {}
    n_records = 0
    for first_line, block in _blocks(source):
        frame = _parsed(source, block)
        refuse_doubled_keys(source, block.decode(), frame.columns, first_line)
        n_records += len(frame)
        for name, kind in frame.schema.items():
            joined = _joined(schema.get(name, pl.Null()), kind)
            if joined is None:
                return f"the values of {name!r} are not all of one kind"
            schema[name] = joined
    if odd := [name for name, kind in schema.items() if kind.is_integer() and kind not in WHOLE_NUMBERS]:
        return f"{odd[0]!r} has numbers of more than 64 bits"
    types = pl.DataFrame(schema=schema).to_arrow().schema
    return BatchFile(path, state, types, partial(_batches, schema), read_json_lines, n_records)


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

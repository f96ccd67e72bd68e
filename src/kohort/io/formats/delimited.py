"""CSV and its kin: every cell is text, and what was not changed is written as it was read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, cast

import pyarrow as pa
import pyarrow.csv

from kohort.errors import InputError, UnsupportedError, counted
from kohort.io.formats import How, Layout, Read, Reader, ReadWhole
from kohort.io.formats.fitting import Slices, has_no_text, write_text
from kohort.io.formats.text_layout import checked_delimiter, layout_of, open_text
from kohort.io.source_file import SourceFile, in_arrow_memory, open_bytes, plain_suffix
from kohort.late import pl

BATCH_BYTES = 1 << 23
SAMPLE_BYTES = 1 << 20
FEW_VALUES = 1000
"""Below this a column is always encoded: its size does not matter, and one kind is simpler to use."""
REPEATED_TEXT = pa.dictionary(pa.int32(), pa.string())


def read(source: SourceFile, how: How) -> Read:
    """Read delimited text, every column as text: '01234' and '1.10' stay what they are.

    An empty cell is null, a quoted empty cell is an empty string. Columns whose values repeat
    are dictionary-encoded; the others, such as a record number, stay plain text.
    """
    layout = layout_of(source, how)
    types, _ = _column_types(source, layout)
    schema = pa.schema([(name, types[name]) for name in layout.header])
    table = pa.Table.from_batches(list(_batches(layout, types, source, layout.header)), schema)
    columns = table.columns
    del table  # so that each column is freed once it is settled
    for index, column in enumerate(columns):
        columns[index] = _settled(column)
    return Read(pa.table(columns, names=layout.header), layout)


def open_in_batches(source: SourceFile, how: How) -> Reader:
    """The same records in batches, of text in UTF-8."""
    layout = layout_of(source, how)
    if layout.encoding not in ("utf-8", "utf-8-sig"):
        raise ReadWhole(f"text in {layout.encoding} is read whole")
    types, rows_in_sample = _column_types(source, layout)
    schema = pa.schema([(name, types[name]) for name in layout.header])
    expected = rows_in_sample * source.stat().st_size // SAMPLE_BYTES
    return Reader(schema, partial(_batches, layout, types), expected, layout)


def _batches(
    layout: Layout, types: dict[str, pa.DataType], path: Path, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Some columns of all records, a block of the text at a time; the last one is checked before it goes."""
    last = layout.header[-1]  # an open quote is found there
    wanted = [*names, *([] if last in names else [last])]
    batch: pa.RecordBatch | None = None
    with _explained(path, layout), _open_utf8(path, layout) as stream:
        options = _options(layout, types, block_bytes=BATCH_BYTES)
        options["convert_options"].include_columns = wanted  # type: ignore[attr-defined]
        with pa.csv.open_csv(stream, **options) as reader:
            for following in reader:
                if batch is not None:
                    yield batch.select(names)
                batch = following
    if batch is not None:
        place = batch.schema.get_field_index(last)
        batch = batch.set_column(place, last, _checked_end(path, layout, batch.column(place)))
        yield batch.select(names)


@contextmanager
def _explained(path: Path, layout: Layout) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, UnicodeError):  # their texts quote the file
        raise InputError(_explanation(path, layout)) from None


def write(slices: Slices, path: Path, delimiter: str | None) -> None:
    """Write UTF-8 with line ends as in Unix, quotes where needed; null is empty, '' a quoted empty cell."""
    separator = checked_delimiter(delimiter or ("\t" if plain_suffix(path) == ".tsv" else ","))

    def text_of(part: pa.Table, number: int) -> bytes:
        text = io.BytesIO()
        quotes: Literal["always", "necessary"] = "always" if _looks_blank(part) else "necessary"
        pl.DataFrame(part).write_csv(
            text, separator=separator, include_header=number == 0, quote_style=quotes
        )
        return text.getvalue()

    write_text(slices, path, "Delimited text", has_no_text, text_of)


def _looks_blank(part: pa.Table) -> bool:
    """Whether there are lines of nothing but spaces, unless they are quoted; missing values are refused."""
    if part.num_columns != 1:
        return False
    cells = part.column(0)
    if cells.null_count:
        raise UnsupportedError(
            f"Delimited text cannot hold missing values of {part.schema.names[0]!r}, the only column: they "
            "would be blank lines, which most programs skip. Write Parquet (.parquet) or JSON lines "
            "(.jsonl), or publish those of a quasi-identifier as * (nulls: star)."
        )
    texts = cells.cast(pa.large_string()).unique().to_pylist()
    return any(text != "" and not text.strip() for text in texts)  # "" is quoted anyhow


def _column_types(path: Path, layout: Layout) -> tuple[dict[str, pa.DataType], int]:
    """The types of columns as they are read, and how many records the first megabyte has.

    Plain text for columns that hardly repeat there: encoding them is wasted work.
    """
    text = dict.fromkeys(layout.header, pa.string())
    options = _options(layout, text, block_bytes=SAMPLE_BYTES)
    with (
        _explained(path, layout),
        _open_utf8(path, layout) as stream,
        pa.csv.open_csv(stream, **options) as reader,
    ):
        sample = reader.read_next_batch()
    types = {
        name: pa.string() if _hardly_repeats(len(column.unique()), len(column), 0.85) else REPEATED_TEXT
        for name, column in zip(layout.header, sample.columns)
    }
    return types, len(sample)


def _open_utf8(path: Path, layout: Layout) -> BinaryIO:
    """The bytes in UTF-8; others are decoded here, since Arrow would call Python from its threads for it."""
    if layout.encoding in ("utf-8", "utf-8-sig"):
        return open_bytes(path)
    with open_text(path, layout.encoding) as stream:
        return cast(BinaryIO, pa.BufferReader(in_arrow_memory(stream.read().encode())))


def _options(layout: Layout, types: dict[str, pa.DataType], *, block_bytes: int) -> dict[str, object]:
    """Arrow's options: no type is guessed, and the header is the one we have read."""
    return {
        "read_options": pa.csv.ReadOptions(
            block_size=block_bytes,
            column_names=layout.header,
            skip_rows=layout.blank_lines,
            skip_rows_after_names=int(layout.has_header),
        ),
        "parse_options": pa.csv.ParseOptions(
            delimiter=layout.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=len(layout.header) > 1,  # in a single column, one is a null
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    }


def _settled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """One dictionary for the whole column, or plain text if its values repeat little after all.

    Each block was encoded on its own; the sizes of their dictionaries show how much values repeat.
    """
    if not pa.types.is_dictionary(column.type):
        return column
    if _hardly_repeats(sum(len(chunk.dictionary) for chunk in column.chunks), len(column), 0.5):
        return column.cast(pa.string())
    return column.unify_dictionaries()


def _hardly_repeats(distinct: int, values: int, share: float) -> bool:
    return values >= FEW_VALUES and distinct > share * values


def _checked_end(path: Path, layout: Layout, cells: pa.Array) -> pa.Array:
    """The last cells of the last column, as they should be.

    A quote that is never closed is refused: it would swallow all records after it, into the very last cell. A
    proper last cell with line ends in it is followed by its closing quote. An empty text is a missing one
    where the text ends right behind a delimiter: Arrow errs there, if the cell before it is quoted.
    """
    last = cells[-1].as_py() if len(cells) else None
    if last is None or (last != "" and "\n" not in last):
        return cells
    end = ending = ""
    with open_text(path, layout.encoding) as stream:
        while text := stream.read(1 << 20):
            end, ending = text[-1], (ending + text)[-1000:].rstrip("\r\n") or ending
    if last == "" and end == layout.delimiter:
        return pa.concat_arrays([cells.slice(0, len(cells) - 1), pa.nulls(1, cells.type)])
    if last != "" and not ending.endswith('"'):
        lines = counted(last.count("\n"), "line")
        raise InputError(f"{path}: a quote is opened and never closed, within the last {lines}.")
    return cells


def _explanation(path: Path, layout: Layout) -> str:
    """Why a table could not be read, in words that show no cell. Slow, but only on failure."""
    expected, line = len(layout.header), 1
    try:
        with open_text(path, layout.encoding) as stream:
            reader = csv.reader(stream, delimiter=layout.delimiter)
            for record in reader:
                if record and len(record) != expected:
                    break
                line = reader.line_num + 1
            else:
                return f"{path} cannot be read as text with the delimiter {layout.delimiter!r}."
    except UnicodeError:
        return f"{path} does not fit the encoding {layout.encoding}. Pass another (--encoding)."
    except csv.Error:
        return f"{path}: the cell at line {line} is too long. Is a quote never closed?"
    fields = "1 field" if len(record) == 1 else f"{len(record)} fields"
    hint = "A quote may not be closed. " if reader.line_num > line else ""
    first = "header" if layout.has_header else "first line"
    return (
        f"{path}: line {line} has {fields}, but the {first} has {expected}. {hint}"
        "Put cells that contain the delimiter in quotes, or give the right delimiter (--delimiter)."
    )

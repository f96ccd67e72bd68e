"""A table written to a draft and read back from there: what gets its name is what was verified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.formulas import unescaped
from kohort.errors import InputError, UnsupportedError
from kohort.io.baskets import BASKETS, BasketShape, read_basket_file
from kohort.io.compressed import plain_suffix
from kohort.io.data_files import write_data
from kohort.io.streamed_files import open_in_batches
from kohort.io.tables import format_of, read_table
from kohort.verification import WrittenCheck

_HOLDS_ALL = ("parquet", "arrow")


def write_verified(
    table: pa.Table,
    path: Path,
    shape: BasketShape | None,
    *,
    delimiter: str | None,
    formulas: str = "keep",
) -> str:
    """Write a verified table as `write_data` does; the SHA-256 of the file.

    Refused unless the table comes back as it was verified.
    """
    write_data(table, path, shape, delimiter=delimiter, formulas=formulas)
    if shape is None:
        return check_file(partial(WrittenCheck.of, table), path, delimiter=delimiter, formulas=formulas)
    with _readable(path):
        found = read_basket_file(path, shape, header=None if shape.id is None else True)
    baskets = pa.table({BASKETS: _in_file(table[BASKETS], shape)})
    check = WrittenCheck.of(baskets, f"the {path.suffix} file", holds_all=False)
    check.compare(found.table)
    check.finish()
    return found.sha256


def _in_file(baskets: pa.ChunkedArray, shape: BasketShape) -> pa.ChunkedArray:
    """Baskets as a file has them: missing ones are empty, and a long table lacks those that are empty."""
    full = pc.greater(pc.fill_null(pc.list_value_length(baskets), 0), 0)
    if shape.id is not None:
        return baskets.filter(full)
    return pc.if_else(full, baskets, pa.scalar([], baskets.type))


def check_file(
    check: Callable[..., WrittenCheck], path: Path, *, delimiter: str | None, formulas: str
) -> str:
    """Refuse a file that does not hold what was verified; the SHA-256 of the bytes that were read.

    check  makes the check for a place that holds all values, or does not
    """
    kind = format_of(path)
    checking = check(f"the {path.suffix} file", holds_all=kind in _HOLDS_ALL)
    with _read(path, kind, delimiter) as (sha256, parts):
        for part in parts:
            checking.compare(unescaped(part) if formulas == "escape" and kind == "csv" else part)
    checking.finish()
    return sha256


@contextmanager
def _read(path: Path, kind: str, delimiter: str | None) -> Iterator[tuple[str, Iterator[pa.Table]]]:
    """The hash of a file, and its records as its readers see them."""
    options: dict[str, Any] = {"header": True} if kind in ("csv", "excel") else {}
    if kind == "csv":
        usual = "\t" if plain_suffix(path) == ".tsv" else ","
        options |= {"delimiter": delimiter or usual, "encoding": "utf-8"}
    with _readable(path):
        opened = open_in_batches(path, **options)
        if isinstance(opened, str):
            found = read_table(path, **options)
            yield found.sha256, iter([found.table])
            return
        with closing(opened.batches.read(opened.batches.schema.names)) as batches:
            yield opened.batches.sha256, (pa.Table.from_batches([batch]) for batch in batches)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """A file that cannot be read is not what was written."""
    try:
        yield
    except InputError:
        raise UnsupportedError(
            f"The release cannot be read back from the {path.suffix} file: it does not hold all that is in "
            "the release, or the disk is full. Nothing was written. Write Parquet (.parquet)."
        ) from None

"""Read an SPSS or Stata file back: the library that writes them does not notice a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl

from kohort.errors import InputError

__all__ = ["check_written"]

_MILLISECOND = 1.0  # as far as times may be off, in milliseconds: both programs store them as numbers


def check_written(frame: pl.DataFrame, path: Path, read: Callable[[Path], pl.DataFrame], title: str) -> None:
    """Raise OSError unless the file holds all records and columns, and InputError unless all their values.

    `read` gives the table of the file as the library reads it, or raises ValueError.
    """
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        found = read(path)
    except ValueError:
        found = None
    if found is None or found.columns != frame.columns or found.height != frame.height:
        raise OSError(errno.EIO, "not all records arrived", str(path))
    for name in frame.columns:
        if not _agree(frame[name], found[name]):
            raise InputError(
                f"Column {name!r} does not come back from the {title} file as it was written. "
                "Is there room on the disk? If there is, write CSV or Parquet instead."
            )


def _agree(written: pl.Series, found: pl.Series) -> bool:
    if pl.Object in (written.dtype, found.dtype):  # numbers, and letters for missing ones
        return written.to_list() == found.to_list()
    if found.dtype == pl.String:
        return bool((_text(written) == _text(found)).all())
    tolerance = _MILLISECOND if written.dtype in (pl.Datetime, pl.Time) else 0.0
    before, after = _number(written), _number(found)
    if not (before.is_null() == after.is_null()).all():
        return False
    return bool(((before == after) | ((before - after).abs() <= tolerance)).fill_null(True).all())


def _text(column: pl.Series) -> pl.Series:
    """Texts as both programs store them: none is missing, and none ends in spaces."""
    return column.cast(pl.String).fill_null("").str.strip_chars_end(" ")


def _number(column: pl.Series) -> pl.Series:
    """Values as numbers: days, milliseconds, or as they are. NaN is missing, as in both programs."""
    if column.dtype == pl.Datetime:
        column = column.dt.epoch("ms")
    elif column.dtype == pl.Time:
        column = column.cast(pl.Int64) / 1_000_000
    elif column.dtype == pl.Date:
        column = column.cast(pl.Int32)
    return column.cast(pl.Float64).fill_nan(None)

"""SPSS (.sav, .zsav) and Stata (.dta) files, with the labels of their columns and codes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pyarrow as pa

from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.io.columns import (
    Slices,
    has_no_text,
    is_fine_or_zoned,
    long_numbers_as_text,
    refuse_columns,
    times_as_text,
)
from kohort.io.polars_work import by_polars, refuse_distant_dates, wide_decimals_as_text
from kohort.io.stat_codes import CodedTable, Program, coded_table
from kohort.io.stat_labels import meaningful_table

__all__ = ["read_spss", "read_stata", "write_spss", "write_stata"]


READERS = {"write_sav": "read_sav", "write_dta": "read_dta"}


def read_spss(path: Path) -> pa.Table:
    """Read an SPSS file: labels in place of codes; see `meaningful_table`."""
    return _read(path, "read_sav", "an SPSS file")


def read_stata(path: Path) -> pa.Table:
    """Read a Stata file: labels in place of codes; see `meaningful_table`."""
    return _read(path, "read_dta", "a Stata file")


def write_spss(table: pa.Table, path: Path) -> None:
    """Write an SPSS file; null text becomes '', since SPSS has no missing texts."""
    compress = path.suffix.lower() == ".zsav"
    coded = _coded(table, "SPSS")
    options = {"missing_ranges": coded.missing or None, "variable_measure": coded.measures or None}
    _write(coded, path, "write_sav", "SPSS", compress=compress, **options)


def write_stata(table: pa.Table, path: Path) -> None:
    """Write a Stata file; null text becomes '', since Stata has no missing texts."""
    coded = _coded(table, "Stata")
    _write(coded, path, "write_dta", "Stata", missing_user_values=coded.missing or None)


def _pyreadstat() -> ModuleType:
    try:
        import pyreadstat
    except ImportError:
        raise missing_package("Reading SPSS and Stata files needs", "stats") from None
    return pyreadstat


def _read(path: Path, function: str, title: str) -> pa.Table:
    try:
        frame, notes = _as_stored(path, function)
    except ValueError:
        raise InputError(f"{path} is damaged, or not {title}.") from None
    with by_polars(f"Reading {title}"):
        return meaningful_table(frame, notes)


def _as_stored(path: Path, function: str) -> tuple[pl.DataFrame, Any]:
    """The table in codes, also those that mean missing, and its notes; ValueError if the file is damaged."""
    package = _pyreadstat()
    try:
        return getattr(package, function)(os.fspath(path), output_format="polars", user_missing=True)
    except (package.ReadstatError, package.PyreadstatError, UnicodeError):
        raise ValueError("damaged") from None


def _coded(table: pa.Table, program: Program) -> CodedTable:
    """The table in codes and types that the program has."""
    _pyreadstat()
    refuse_columns(table.schema, program, has_no_text)
    refuse_distant_dates(table, program)
    with by_polars(f"Writing a {program} file"):
        return coded_table(pa.concat_tables(Slices.of(_fitting(table)).plain().tables), program)


def _write(coded: CodedTable, path: Path, function: str, title: str, **options: Any) -> None:
    package = _pyreadstat()
    labels = {
        "column_labels": coded.column_labels or None,
        "variable_value_labels": coded.value_labels or None,
    }
    try:
        with by_polars(f"Writing a {title} file"):
            getattr(package, function)(coded.frame, path, **labels, **options)
    except (package.ReadstatError, package.PyreadstatError):
        raise InputError(
            f"The table cannot be written for {title}. Column names must begin with a letter, hold only "
            "letters, digits and underscores (at most 32) and must not be reserved words. Is there room on "
            "the disk?"
        ) from None
    _check_written(coded.frame, path, lambda file: _as_stored(file, READERS[function])[0], title)


def _fitting(table: pa.Table) -> pa.Table:
    """The table in types that both programs have: text for what they would round."""
    return times_as_text(wide_decimals_as_text(long_numbers_as_text(table)), is_fine_or_zoned)


_MILLISECOND = 1.0  # as far as times may be off, in milliseconds: both programs store them as numbers


def _check_written(frame: pl.DataFrame, path: Path, read: Callable[[Path], pl.DataFrame], title: str) -> None:
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

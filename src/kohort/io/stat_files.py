"""SPSS (.sav, .zsav) and Stata (.dta) files, with the labels of their columns and codes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, MissingPackageError
from kohort.io.columns import (
    LARGEST_EXACT,
    fine_times_as_text,
    has_no_text,
    long_numbers_as_text,
    plain_slices,
    refuse_columns,
)
from kohort.io.polars_work import by_polars, refuse_distant_dates, wide_decimals_as_text
from kohort.io.stat_check import check_written

__all__ = ["read_spss", "read_stata", "write_spss", "write_stata"]


READERS = {"write_sav": "read_sav", "write_dta": "read_dta"}


def read_spss(path: Path) -> pa.Table:
    """Codes, not their labels; the labels travel as notes on the columns."""
    return _read(path, "read_sav", "an SPSS file")


def read_stata(path: Path) -> pa.Table:
    """Codes, not their labels; the labels travel as notes on the columns."""
    return _read(path, "read_dta", "a Stata file")


def write_spss(table: pa.Table, path: Path) -> None:
    """Write an SPSS file; null text becomes '', since SPSS has no missing texts."""
    compress = path.suffix.lower() == ".zsav"
    _write(table, path, "write_sav", "SPSS", compress=compress)


def write_stata(table: pa.Table, path: Path) -> None:
    """Write a Stata file; null text becomes '', since Stata has no missing texts."""
    _write(table, path, "write_dta", "Stata")


def _pyreadstat() -> ModuleType:
    try:
        import pyreadstat
    except ImportError:
        raise MissingPackageError("Reading SPSS and Stata files needs: pip install 'kohort[stats]'") from None
    return pyreadstat


def _read(path: Path, function: str, title: str) -> pa.Table:
    try:
        frame, notes = _as_stored(path, function)
    except ValueError:
        raise InputError(f"{path} is damaged, or not {title}.") from None
    with by_polars(f"Reading {title}"):
        table = frame.with_columns(_natural(column) for column in frame).to_arrow()
    return _with_labels(table, notes.column_names_to_labels, notes.variable_value_labels)


def _as_stored(path: Path, function: str) -> tuple[pl.DataFrame, Any]:
    """The table and its notes as the package gives them; ValueError if the file is damaged."""
    package = _pyreadstat()
    try:
        return getattr(package, function)(os.fspath(path), output_format="polars")
    except (package.ReadstatError, package.PyreadstatError, UnicodeError):
        raise ValueError("damaged") from None


def _natural(column: pl.Series) -> pl.Series:
    """The column with whole numbers and missing texts restored: files hold floats and empty texts."""
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if not column.dtype.is_float():
        return column
    values = column.drop_nulls()
    whole = len(values) and ((values == values.floor()) & (values.abs() <= LARGEST_EXACT)).all()
    return column.cast(pl.Int64) if whole else column


def _with_labels(table: pa.Table, columns: dict[str, str | None], codes: dict[str, dict]) -> pa.Table:
    """Add the labels of columns and codes as notes, to write them back with columns that are kept."""
    fields = []
    for field in table.schema:
        label, meanings = columns.get(field.name), codes.get(field.name)
        notes = {"label": label} if label else {}
        if meanings:
            notes["codes"] = json.dumps(list(meanings.items()))
        fields.append(field.with_metadata(notes or None))
    return table.cast(pa.schema(fields))


def _write(table: pa.Table, path: Path, function: str, title: str, **options: Any) -> None:
    package = _pyreadstat()
    refuse_columns(table, title, has_no_text)
    refuse_distant_dates(table, title)
    plain = pa.concat_tables(plain_slices(_fitting(table)))
    try:
        with by_polars(f"Writing a {title} file"):
            frame = pl.DataFrame(plain)
            getattr(package, function)(frame, path, **_labels(plain), **options)
    except (package.ReadstatError, package.PyreadstatError):
        raise InputError(
            f"The table cannot be written for {title}. Column names must begin with a letter, hold only "
            "letters, digits and underscores (at most 32) and must not be reserved words. Is there room on "
            "the disk?"
        ) from None
    check_written(frame, path, lambda file: _as_stored(file, READERS[function])[0], title)


def _fitting(table: pa.Table) -> pa.Table:
    """The table in types that both programs have: text for what they would round, clocks without zones."""
    table = fine_times_as_text(wide_decimals_as_text(long_numbers_as_text(table)))
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(index, field.name, pc.local_timestamp(table.column(index)))
    return table


def _labels(table: pa.Table) -> dict[str, Any]:
    """The labels noted by `_with_labels`; those of codes only where the codes are still numbers."""
    columns, codes = {}, {}
    for field in table.schema:
        notes = field.metadata or {}
        if b"label" in notes:
            columns[field.name] = notes[b"label"].decode()
        if (
            b"codes" in notes
            and not pa.types.is_string(field.type)
            and not pa.types.is_large_string(field.type)
        ):
            codes[field.name] = dict(json.loads(notes[b"codes"]))
    return {"column_labels": columns or None, "variable_value_labels": codes or None}

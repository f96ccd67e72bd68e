"""Columns of SPSS and Stata files as their meanings: codes with labels become categories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa

from kohort.data.codebook import Codebook, with_codebook
from kohort.io.columns import LARGEST_EXACT

__all__ = ["meaningful_table"]


def meaningful_table(frame: pl.DataFrame, notes: Any) -> pa.Table:
    """The table of a file: labels in place of codes, whole numbers as such, null where a value is missing.

    frame, notes  as pyreadstat reads them, with the codes that mean missing in place
    """
    arrays, fields = [], []
    for column in frame:
        book = _codebook(column, notes)
        array = _categories(column, book) if book.categories else _values(column, book)
        arrays.append(array)
        note = None if book == Codebook() else book
        fields.append(with_codebook(pa.field(column.name, array.type), note))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _codebook(column: pl.Series, notes: Any) -> Codebook:
    name = column.name
    ranges, letters = notes.missing_ranges or {}, notes.missing_user_values or {}
    book = Codebook(
        label=notes.column_names_to_labels.get(name) or None,
        measure=notes.variable_measure.get(name) or "unknown",
        missing=tuple(ranges.get(name) or letters.get(name) or ()),
    )
    labels = notes.variable_value_labels.get(name, {})
    if column.dtype.is_temporal() or not (labels or book.missing):
        return book
    present = _present(column)
    is_missing = {code for code in (*labels, *present) if book.means_missing(code)}
    categories = _has_categories(book.measure, set(labels) - is_missing, present - is_missing)
    codes = {*labels, *(present if categories else ())}
    ordered = sorted(codes, key=lambda code: (code in is_missing, isinstance(code, str), code))
    one = len(is_missing) == 1 and not categories and not column.null_count()
    return replace(
        book,
        categories=categories,
        labels=tuple((code, labels.get(code, "")) for code in ordered),
        missing_codes=tuple(sorted(is_missing, key=str)),
        null_code=next(iter(is_missing)) if one else None,
    )


def _present(column: pl.Series) -> set[Any]:
    """The codes that occur."""
    codes = column.to_list() if column.dtype == pl.Object else column.unique().to_list()
    return {code for code in codes if code is not None and code != ""}


def _has_categories(measure: str, labelled: set[Any], present: set[Any]) -> bool:
    """Whether a column holds categories: it has labels and is no measure, or all its values are labelled."""
    if not labelled:
        return False
    return measure in ("nominal", "ordinal") or present <= labelled


def _categories(column: pl.Series, book: Codebook) -> pa.Array:
    """The column as categories in the order of their codes."""
    number = {code: place for place, code in enumerate(book.code_of_text.values())}
    if column.dtype == pl.Object:
        places = pl.Series([number.get(code) for code in column.to_list()], dtype=pl.Int32)
    else:
        are_texts = column.dtype == pl.String
        number = {code: place for code, place in number.items() if isinstance(code, str) == are_texts}
        places = column.replace_strict(
            list(number), list(number.values()), default=None, return_dtype=pl.Int32
        )
    return pa.DictionaryArray.from_arrays(
        places.to_arrow(),
        pa.array(list(book.code_of_text), pa.string()),
        ordered=book.measure in ("ordinal", "scale"),
    )


def _values(column: pl.Series, book: Codebook) -> pa.Array:
    """The values of a column; null in place of the codes that mean missing."""
    if column.dtype == pl.Object:  # with letters of Stata for missing values
        column = pl.Series(column.name, [None if isinstance(v, str) else v for v in column.to_list()])
    elif book.missing_codes:
        column = column.set(column.is_in(list(book.missing_codes)), None)
    return _natural(column).to_arrow()


def _natural(column: pl.Series) -> pl.Series:
    """The column with whole numbers and missing texts restored: files hold floats and empty texts."""
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if column.dtype == pl.Datetime:  # seconds as floats in SPSS: what is below a millisecond is rounding
        return column.dt.round("1ms")
    if not column.dtype.is_float():
        return column
    values = column.drop_nulls()
    whole = len(values) and ((values == values.floor()) & (values.abs() <= LARGEST_EXACT)).all()
    return column.cast(pl.Int64) if whole else column

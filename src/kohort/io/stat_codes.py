"""Categories of SPSS and Stata files as codes again: generalized values get new ones, with labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from string import ascii_lowercase
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from kohort.data.codebook import Codebook, Value, codebook_of

_LONGEST_LABEL = 120  # bytes: SPSS cuts off longer ones
_FAR = 100_000  # how far above and below the codes of the file new ones are looked for
Program = Literal["SPSS", "Stata"]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table in codes, and by column what the file says about them; see Codebook."""

    frame: pl.DataFrame
    column_labels: dict[str, str] = field(default_factory=dict)
    value_labels: dict[str, dict[Any, str]] = field(default_factory=dict)
    missing: dict[str, list[Any]] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    values: pl.Series
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)
    measure: str | None = None


def coded_table(table: pa.Table, program: Program) -> CodedTable:
    """The codes and labels by which a program stores a table; `table` holds plain values, no dictionaries."""
    columns: list[pl.Series] = []
    coded = CodedTable(pl.DataFrame())
    for about, values in zip(table.schema, table.columns):
        name, book = about.name, codebook_of(about)
        column = _coded(pl.Series(name, pl.from_arrow(values)), book or Codebook(), program)
        columns.append(column.values)
        notes: tuple[tuple[dict[str, Any], Any], ...] = (
            (coded.column_labels, None if book is None else book.label),
            (coded.value_labels, column.labels),
            (coded.missing, column.missing),
            (coded.measures, column.measure),
        )
        for notes_of_kind, note in notes:
            if note:
                notes_of_kind[name] = note
    return CodedTable(
        pl.DataFrame(columns), coded.column_labels, coded.value_labels, coded.missing, coded.measures
    )


def _coded(values: pl.Series, book: Codebook, program: Program) -> _CodedColumn:
    if values.dtype == pl.String:
        return _coded_categories(values, book, program) if book.categories else _CodedColumn(values)
    as_it_was = [part for part in book.missing if isinstance(part, str) == (program == "Stata")]
    labels = {code: label for code, label in book.labels if not isinstance(code, str)}
    if isinstance(book.null_code, (int, float)) and as_it_was:
        values = values.fill_null(book.null_code)
    return _CodedColumn(values, labels, as_it_was, book.measure)


def _coded_categories(values: pl.Series, book: Codebook, program: Program) -> _CodedColumn:
    """The codes of categories, those of the file and new ones; text where a new label is too long."""
    new = sorted(set(values.drop_nulls().unique().to_list()) - set(book.code_of_text))
    if any(len(text.encode()) > _LONGEST_LABEL for text in new):
        return _CodedColumn(values)
    labels = {code: label for code, label in book.labels if label}
    numbers = [code for code, _ in book.labels if not isinstance(code, str)]
    if not numbers:  # the codes are texts, and a generalized value is its own code
        if program == "Stata":
            return _CodedColumn(values)
        return _CodedColumn(values.replace(book.code_of_text), labels, list(book.missing), book.measure)
    free = _free_codes(numbers, book)
    code_of: dict[str, Value] = book.code_of_text | dict(zip(new, free))
    other, missing = _missing_as_in(program, book, free)
    code_of = {text: other.get(code, code) for text, code in code_of.items()}
    alike = _alike(code_of.values())
    code_of = {text: alike[code] for text, code in code_of.items()}
    labels = {alike[other.get(code, code)]: label for code, label in labels.items()}
    labels |= {code_of[text]: text for text in new}
    return _CodedColumn(_as_codes(values, code_of), labels, missing, book.measure)


def _free_codes(numbers: list[Any], book: Codebook) -> Iterator[int]:
    """Whole numbers that are no codes yet and do not mean missing: above the codes, then below them."""
    top, bottom = int(max(numbers)), int(min(numbers))
    wanted = chain(range(top + 1, top + _FAR), range(bottom - 1, bottom - _FAR, -1))
    return (code for code in wanted if not book.means_missing(code))


def _missing_as_in(
    program: Program, book: Codebook, free: Iterator[int]
) -> tuple[dict[Value, Value], list[Any]]:
    """New codes for those that mean missing, where the other program wrote the file, and what is missing."""
    letters = [code for code in book.missing_codes if isinstance(code, str)]
    numbers = [code for code in book.missing_codes if not isinstance(code, str)]
    if program == "SPSS" and letters:
        other: dict[Value, Value] = dict(zip(letters, free))
        return other, [{"lo": min(other.values()), "hi": max(other.values())}]
    if program == "Stata" and numbers:
        other = dict(zip(numbers, ascii_lowercase))
        return other, list(other.values())
    return {}, list(book.missing)


def _alike(codes: Iterable[Value]) -> dict[Value, Value]:
    """Codes as numbers of one type: the package takes a mixture for texts."""
    known = set(codes)
    whole = all(isinstance(code, str) or float(code).is_integer() for code in known)
    number: type[int] | type[float] = int if whole else float
    return {code: code if isinstance(code, str) else number(code) for code in known}


def _as_codes(values: pl.Series, code_of: dict[str, Value]) -> pl.Series:
    """The values as codes: numbers, or objects where some are letters of Stata."""
    if any(isinstance(code, str) for code in code_of.values()):
        codes = [None if text is None else code_of[text] for text in values.to_list()]
        return pl.Series(values.name, codes, dtype=pl.Object)
    kind = pl.Int64 if all(isinstance(code, int) for code in code_of.values()) else pl.Float64
    return values.replace_strict(code_of, default=None, return_dtype=kind)

"""SPSS (.sav, .zsav) and Stata (.dta) files, with the labels of their columns and codes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from string import ascii_lowercase
from types import ModuleType
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from kohort.data.codebook import Codebook, Value, codebook_of, with_codebook
from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.io.formats import How, Read, fitting
from kohort.io.source_file import SourceFile

_LONGEST_LABEL = 120  # bytes: SPSS cuts off longer ones
_FAR = 100_000  # how far above and below the codes of the file new ones are looked for
Program = Literal["SPSS", "Stata"]


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    """A column in codes, and what the file says about it; see Codebook."""

    values: pl.Series
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)
    measure: str | None = None
    label: str | None = None


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
    top, bottom = int(max(numbers)), int(min(numbers))
    wanted = chain(range(top + 1, top + _FAR), range(bottom - 1, bottom - _FAR, -1))  # above, then below
    free = (code for code in wanted if not book.means_missing(code))
    code_of: dict[str, Value] = book.code_of_text | dict(zip(new, free))
    other, missing = _missing_as_in(program, book, free)
    code_of = {text: other.get(code, code) for text, code in code_of.items()}
    alike = _alike(code_of.values())
    code_of = {text: alike[code] for text, code in code_of.items()}
    labels = {alike[other.get(code, code)]: label for code, label in labels.items()}
    labels |= {code_of[text]: text for text in new}
    return _CodedColumn(_as_codes(values, code_of), labels, missing, book.measure)


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


def read(source: SourceFile, how: How) -> Read:
    """Read a file: labels in place of codes; see `_meaningful_table`."""
    stata = source.suffix.lower() == ".dta"
    function, title = ("read_dta", "a Stata file") if stata else ("read_sav", "an SPSS file")
    try:
        frame, notes = _as_stored(source, function)
    except ValueError:
        raise InputError(f"{source} is damaged, or not {title}.") from None
    with fitting.by_polars(f"Reading {title}"):
        return Read(_meaningful_table(frame, notes))


def write(slices: fitting.Slices, path: Path, delimiter: str | None) -> None:
    """Write a file; null text becomes '', since neither program has missing texts."""
    package, table, ending = _pyreadstat(), slices.whole(), path.suffix.lower()
    program: Program = "Stata" if ending == ".dta" else "SPSS"
    kind = "dta" if program == "Stata" else "sav"
    fitting.refuse_columns(table.schema, program, fitting.has_no_text)
    fitting.refuse_distant_dates(table, program)
    with fitting.by_polars(f"Writing a {program} file"):
        table = fitting.wide_decimals_as_text(fitting.long_numbers_as_text(table))  # both would round them
        table = fitting.times_as_text(table, fitting.is_fine_or_zoned)
        plain = pa.concat_tables(fitting.Slices.of(table).plain().tables)
        coded = []
        for about, values in zip(plain.schema, plain.columns):
            book = codebook_of(about)
            column = _coded(pl.Series(about.name, pl.from_arrow(values)), book, program)
            coded.append(replace(column, label=book.label))
        frame = pl.DataFrame([column.values for column in coded])

    def noted(what: str) -> dict[str, Any] | None:
        """What is said about the columns of which something is said; None where nothing is."""
        notes = {column.values.name: getattr(column, what) for column in coded}
        return {name: note for name, note in notes.items() if note} or None

    options = {"column_labels": noted("label"), "variable_value_labels": noted("labels")}
    if program == "Stata":
        options["missing_user_values"] = noted("missing")
    else:
        options |= {"missing_ranges": noted("missing"), "variable_measure": noted("measure")}
    try:
        with fitting.by_polars(f"Writing a {program} file"):
            compress = {"compress": True} if ending == ".zsav" else {}
            getattr(package, f"write_{kind}")(frame, path, **options, **compress)
    except (package.ReadstatError, package.PyreadstatError):
        raise InputError(
            f"The table cannot be written for {program}. Column names must begin with a letter, hold only "
            "letters, digits and underscores (at most 32) and must not be reserved words. Is there room on "
            "the disk?"
        ) from None
    _check_written(frame, path, f"read_{kind}", program)


def _pyreadstat() -> ModuleType:
    try:
        import pyreadstat
    except ImportError:
        raise missing_package("Reading SPSS and Stata files needs", "stats") from None
    return pyreadstat


def _as_stored(path: Path, function: str) -> tuple[pl.DataFrame, Any]:
    """The table in codes, also those that mean missing, and its notes; ValueError if the file is damaged."""
    package = _pyreadstat()
    try:
        return getattr(package, function)(os.fspath(path), output_format="polars", user_missing=True)
    except (package.ReadstatError, package.PyreadstatError, UnicodeError):
        raise ValueError("damaged") from None


_MILLISECOND = 1.0  # as far as times may be off, in milliseconds: both programs store them as numbers


def _check_written(frame: pl.DataFrame, path: Path, reader: str, title: str) -> None:
    """Raise OSError unless the file holds all records and columns, and InputError unless all their values."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        found = _as_stored(path, reader)[0]
    except ValueError:
        found = pl.DataFrame()
    if found.columns != frame.columns or found.height != frame.height:
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


def _meaningful_table(frame: pl.DataFrame, notes: Any) -> pa.Table:
    """The table of a file: labels in place of codes, whole numbers as such, null where a value is missing."""
    arrays, fields = [], []
    for column in frame:
        book = _codebook(column, notes)
        array = _categories(column, book) if book.categories else _values(column, book)
        arrays.append(array)
        fields.append(with_codebook(pa.field(column.name, array.type), book))
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
    occurring = column.to_list() if column.dtype == pl.Object else column.unique().to_list()
    present = {code for code in occurring if code is not None and code != ""}
    is_missing = {code for code in (*labels, *present) if book.means_missing(code)}
    # categories: it has labels and is no measure, or all its values are labelled
    labelled, others = set(labels) - is_missing, present - is_missing
    categories = bool(labelled) and (book.measure in ("nominal", "ordinal") or others <= labelled)
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


def _categories(column: pl.Series, book: Codebook) -> pa.Array:
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
    whole = len(values) and ((values == values.floor()) & (values.abs() <= fitting.LARGEST_EXACT)).all()
    return column.cast(pl.Int64) if whole else column

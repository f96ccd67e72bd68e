"""Excel workbooks: one sheet, the column names in its first row."""

from __future__ import annotations

import datetime
import io
import logging
import os
import posixpath
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import fastexcel
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, UnsupportedError, counted, did_you_mean
from kohort.files.checked import write_checked
from kohort.io.formats import How, Read, fitting
from kohort.io.formats.text_layout import HEADER_RECORDS, invented_names, refuse_doubtful_header
from kohort.io.source_file import SourceFile

MOST_RECORDS, MOST_COLUMNS, LONGEST_CELL = 1_048_575, 16_384, 32_767
WORKBOOK_OPTIONS = {"in_memory": True}
DAY_0 = datetime.date(1899, 12, 31)
SAME_EVERY_TIME = datetime.datetime(2000, 1, 1)
"""The creation date of every workbook: equal tables are equal files."""

logging.getLogger("fastexcel.types.dtype").setLevel(logging.ERROR)  # it warns of every empty column


def read(source: SourceFile, how: How) -> Read:
    """Read the first sheet that is not hidden, or the one named (or counted from 0).

    Excel stores numbers as floats and dates as times: columns of whole numbers are read as
    integers, columns of midnights as dates, columns of times on day 0 as times. Text stays text. Rows
    without any value are skipped. Merged cells and cells with an error are refused: values would be lost.
    """
    try:
        book = fastexcel.read_excel(os.fspath(source))
        chosen = choose_sheet(source, book, how.sheet)
        refuse_flaws(source, chosen.name)
        with fitting.by_polars("Reading an Excel workbook"):
            frame = pl.read_excel(
                os.fspath(source),
                sheet_name=chosen.name,
                has_header=how.header is not False,
                infer_schema_length=None,
                drop_empty_cols=False,
                raise_if_empty=False,
            )
            frame = frame.with_columns(_clock_times(column) for column in frame)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError):
        raise InputError(f"{source} is damaged, protected by a password, or not an Excel workbook.") from None
    invented: list[str | None] = [*invented_names(len(chosen.header))]
    table = _named(source, frame.to_arrow(), invented if how.header is False else chosen.header)
    if how.header is None:
        below = [
            [None if cell is None else str(cell) for cell in column.slice(0, HEADER_RECORDS).to_pylist()]
            for column in table.columns
        ]
        refuse_doubtful_header(table.column_names, below, str(source), how.header_option)
    return Read(table, notes=chosen.notes)


def _clock_times(column: pl.Series) -> pl.Series:
    """Times of day, which Excel stores as moments of the last day of 1899."""
    if column.dtype == pl.Datetime and column.len() > column.null_count():
        days = column.dt.date().drop_nulls()
        if (days == DAY_0).all():
            return column.dt.time()
    return column


def _named(path: Path, table: pa.Table, header: list[str | None]) -> pa.Table:
    """The table under its own names, without empty columns that have no name."""
    kept = []
    for index, name in enumerate(header[: table.num_columns]):
        if name:
            kept.append(index)
        elif table.column(index).null_count < table.num_rows:
            raise InputError(f"{path}: column {index + 1} has values but no name in the first row.")
    return table.select(kept).rename_columns([header[index] for index in kept])


def write(slices: fitting.Slices, path: Path, delimiter: str | None) -> None:
    """Write one sheet. Text that begins with '=' stays text; null is a missing cell, '' an empty text."""
    table = slices.whole()
    if table.num_rows > MOST_RECORDS or table.num_columns > MOST_COLUMNS:
        raise UnsupportedError(
            f"An Excel sheet holds {MOST_RECORDS:,} records and {MOST_COLUMNS:,} columns; the table has "
            f"{table.num_rows:,} and {table.num_columns:,}. Write CSV or Parquet."
        )
    fitting.refuse_columns(table.schema, "Excel", fitting.has_no_text)
    fitting.refuse_distant_dates(table, "Excel")
    table = fitting.times_as_text(fitting.long_numbers_as_text(table), _is_unfit)
    from xlsxwriter import Workbook  # slow to import, and seldom needed

    file = io.BytesIO()
    with Workbook(file, WORKBOOK_OPTIONS) as book:
        book.set_properties({"created": SAME_EVERY_TIME})
        sheet = book.add_worksheet()
        for index, name in enumerate(table.column_names):
            sheet.write_string(0, index, name)
        first = 1
        for part in fitting.Slices.of(table).plain().tables:
            for index, about in enumerate(part.schema):
                write = _cell_writer(book, sheet, about.type)
                for row, value in enumerate(_python_values(part.column(index)), start=first):
                    if value is not None and write(row, index, value):
                        raise UnsupportedError(
                            f"Column {about.name!r} has text of over {LONGEST_CELL:,} characters, "
                            "more than an Excel cell holds. Write CSV or Parquet."
                        )
            first += part.num_rows
    write_checked(path, file.getvalue())


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python objects, which hold microseconds; finer times are texts by now."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    elif pa.types.is_time64(column.type):
        column = column.cast(pa.time64("us"), safe=False)
    return column.to_pylist()


def _cell_writer(book: Any, sheet: Any, kind: pa.DataType) -> Callable[[int, int, Any], int]:
    """How a value of the type becomes a cell. The result is 0 if it did."""
    if pa.types.is_boolean(kind):
        return sheet.write_boolean
    if pa.types.is_integer(kind):
        return sheet.write_number
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return lambda row, column, value: _write_float(sheet, row, column, float(value))
    for is_such, form in (
        (pa.types.is_date, "yyyy-mm-dd"),
        (pa.types.is_timestamp, "yyyy-mm-dd hh:mm:ss"),
        (pa.types.is_time, "hh:mm:ss"),
    ):
        if is_such(kind):
            style = book.add_format({"num_format": form})
            return lambda row, column, value: sheet.write_datetime(row, column, value, style)
    return lambda row, column, value: sheet.write_string(row, column, str(value))


def _write_float(sheet: Any, row: int, column: int, value: float) -> int:
    """Write a float; Excel lacks NaN, which is an empty cell, and infinity, which is text."""
    if value != value:
        return 0
    if value in (float("inf"), float("-inf")):
        return sheet.write_string(row, column, str(value))
    return sheet.write_number(row, column, _AllDigits(value))


class _AllDigits(float):
    """A float that is written with as many digits as it takes, 17 of them at most; the package has 16."""

    def __format__(self, form: str) -> str:
        return float.__repr__(self)


def _is_unfit(column: pa.ChunkedArray) -> bool:
    """Whether cells cannot hold all of these dates or times: Excel's calendar begins with 1900."""
    if fitting.is_fine_or_zoned(column):
        return True
    least = None if pa.types.is_time(column.type) else pc.min(column).as_py()
    return least is not None and least.year < 1900


_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, ElementTree.ParseError),
    *(RuntimeError, StopIteration, LookupError, ValueError),
)
_NAMED = 3  # areas of merged cells in a message


@dataclass(frozen=True)
class ChosenSheet:
    """A sheet: its first row as it stands, whether it is shown, and what to say about the choice."""

    name: str
    header: list[str | None]
    visible: bool
    notes: tuple[str, ...] = ()


def choose_sheet(path: Path, book: fastexcel.ExcelReader, sheet: str | int | None) -> ChosenSheet:
    """The sheet of this name or number (hidden or not), else the first one that is not hidden."""
    names = book.sheet_names
    if isinstance(sheet, str):
        if sheet not in names:
            raise InputError(f"{path} has no sheet {sheet!r}. {did_you_mean(sheet, names)}")
        return _sheet(book, names.index(sheet))
    if sheet is not None:
        if not 0 <= sheet < len(names):
            raise InputError(f"{path} has {counted(len(names), 'sheet')}; sheet {sheet} is not among them.")
        return _sheet(book, sheet)
    for place in range(len(names)):
        if (chosen := _sheet(book, place)).visible:
            return replace(chosen, notes=_notes(path, names, place))
    raise InputError(f"{path}: every sheet is hidden. Name the one to read (--sheet).")


def _sheet(book: fastexcel.ExcelReader, place: int) -> ChosenSheet:
    """A sheet with its header as it stands: reading as a table renames doubles."""
    loaded = book.load_sheet(place, header_row=None, n_rows=1, dtypes="string")
    row = loaded.to_arrow()
    header = [column[0].as_py() for column in row.columns] if row.num_rows else []
    return ChosenSheet(loaded.name, header, loaded.visible == "visible")


def _notes(path: Path, names: list[str], place: int) -> tuple[str, ...]:
    if len(names) == 1:
        return ()
    hidden = f", after {counted(place, 'hidden one')}" if place else ""
    others = counted(len(names) - 1, "other sheet")
    return (
        f"{path.name} was read from its sheet {names[place]!r}{hidden}; {others} "
        f"{'was' if len(names) == 2 else 'were'} not read. --sheet chooses another.",
    )


# What readers of Excel pass over in silence: merged cells, errors and formulas without a result. A reader
# gives the value of merged cells for the first of them only, and nothing for a cell with an error or
# a formula that was never calculated. So they are looked for in the file itself.
def refuse_flaws(path: Path, sheet: str) -> None:
    """Refuse merged cells and cells that lack their value, by where they are and how many."""
    try:
        flaws, where = sheet_flaws(path, sheet), f"{path}, sheet {sheet!r}"
    except _DAMAGED:
        raise InputError(
            f"{path} cannot be checked for merged cells and errors. Save it as an Excel workbook (.xlsx)."
        ) from None
    if flaws.merged:
        named = ", ".join(flaws.merged[:_NAMED]) + (", ..." if len(flaws.merged) > _NAMED else "")
        raise InputError(
            f"{where}: {counted(len(flaws.merged), 'area')} of merged cells ({named}), of which only the "
            "first cell has the value. Unmerge them and fill in every cell."
        )
    if flaws.errors:
        raise InputError(
            f"{where}: {_by_column(flaws.errors, 'an error such as #DIV/0! or #N/A')}. Correct them, or "
            "clear those that mean a missing value."
        )
    if flaws.uncalculated:
        raise InputError(
            f"{where}: {_by_column(flaws.uncalculated, 'a formula without its result')}. Open the file in a "
            "spreadsheet program and save it, so that they are calculated."
        )


def _by_column(cells: Counter[str], what: str) -> str:
    columns = ", ".join(f"{letters} ({number:,})" for letters, number in sorted(cells.items()))
    return f"{counted(cells.total(), 'cell holds', 'cells hold')} {what}, by column: {columns}"


_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_NO_RESULT = rb"/(?:\w+:)?f?>\s*<(?:(?:\w+:)?v\s*/>|(?:\w+:)?v>\s*</|/(?:\w+:)?c>)"
_SUSPICIOUS = re.compile(rb"""mergeCell|\bt\s*=\s*["']e["']|""" + _NO_RESULT)
_BLOCK = 1 << 20
_OVERLAP = 64  # more bytes than anything that is looked for


@dataclass
class SheetFlaws:
    """Areas of merged cells, such as A2:A4, and per column (by its letters) how many cells lack a value.

    errors        cells that hold an error
    uncalculated  cells with a formula of which the file has no result
    """

    merged: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    uncalculated: Counter[str] = field(default_factory=Counter)


def sheet_flaws(path: Path, sheet: str) -> SheetFlaws:
    """The flaws of one sheet of an .xlsx file. KeyError or ParseError if it is not one.

    The whole sheet is parsed only if some of its bytes look like a flaw: that is rare, and parsing is slow.
    """
    with zipfile.ZipFile(os.fspath(path)) as file:
        part = _part_of(file, sheet)
        with file.open(part) as stream:
            if not _looks_suspicious(stream):
                return SheetFlaws()
        with file.open(part) as stream:
            return _parsed(stream)


def _part_of(file: zipfile.ZipFile, sheet: str) -> str:
    book = next(target for kind, target in _relations(file, "").values() if kind.endswith("/officeDocument"))
    targets = _relations(file, book)
    for element in ElementTree.fromstring(file.read(book)).iter():
        if _plain(element.tag) == "sheet" and element.get("name") == sheet:
            identifiers = [value for name, value in element.attrib.items() if name.endswith("}id")]
            return targets[identifiers[0]][1]
    raise KeyError(sheet)


def _relations(file: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Type and target of each identifier that a part refers to; the package itself is the part ''."""
    folder, name = posixpath.split(part)
    listed = ElementTree.fromstring(file.read(posixpath.join(folder, "_rels", f"{name}.rels")))
    found = {}
    for relation in listed.iter(_RELATIONS):
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        found[relation.get("Id", "")] = relation.get("Type", ""), target
    return found


def _looks_suspicious(stream: IO[bytes]) -> bool:
    end = b""
    while block := stream.read(_BLOCK):
        if not end and block.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16: bytes tell nothing
            return True
        if _SUSPICIOUS.search(end + block):
            return True
        end = block[-_OVERLAP:]
    return False


def _parsed(stream: IO[bytes]) -> SheetFlaws:
    flaws = SheetFlaws()
    rows = None
    for event, element in ElementTree.iterparse(stream, ("start", "end")):
        tag, kind = _plain(element.tag), element.get("t")
        if event == "start":
            rows = element if tag == "sheetData" else rows
        elif tag == "c":
            column = re.sub("[^A-Z]", "", element.get("r", "")) or "?"
            parts = {_plain(part.tag): part.text or "" for part in element}
            if kind == "e":
                flaws.errors[column] += 1
            if "f" in parts and kind != "str" and not parts.get("v", "").strip():  # a text may be empty
                flaws.uncalculated[column] += 1
        elif tag == "row" and rows is not None:
            rows.clear()  # what was looked at is given up
        elif tag == "mergeCell":
            area = element.get("ref", "")
            first, _, last = area.partition(":")
            if last not in ("", first):  # of more than one cell
                flaws.merged.append(area)
    return flaws


def _plain(name: str) -> str:
    return name.rpartition("}")[2]

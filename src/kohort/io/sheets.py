"""Which sheet of an Excel workbook is read, and what on it would be lost."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

import fastexcel

from kohort.errors import InputError, counted, did_you_mean
from kohort.io.old_workbook import xls_flaws
from kohort.io.workbook_parts import SheetFlaws, xlsx_flaws

__all__ = ["ChosenSheet", "choose_sheet", "refuse_flaws"]

_NOT_XLSX = (
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,
    StopIteration,
    ElementTree.ParseError,
    expat.ExpatError,
)
_NOT_XLS = (LookupError, ValueError, struct.error)
_NAMED = 3  # areas of merged cells in a message


@dataclass(frozen=True)
class ChosenSheet:
    """A sheet: its place in the workbook, its first row as it stands, and what to say about the choice."""

    name: str
    place: int
    header: list[str | None]
    notes: tuple[str, ...] = ()


def choose_sheet(path: Path, book: fastexcel.ExcelReader, sheet: str | int | None) -> ChosenSheet:
    """The sheet of this name or number (hidden or not), else the first one that is not hidden."""
    names = book.sheet_names
    if isinstance(sheet, str):
        if sheet not in names:
            raise InputError(f"{path} has no sheet {sheet!r}. {did_you_mean(sheet, names)}")
        return _sheet(book, names.index(sheet))[0]
    if sheet is not None:
        if not 0 <= sheet < len(names):
            raise InputError(f"{path} has {counted(len(names), 'sheet')}; sheet {sheet} is not among them.")
        return _sheet(book, sheet)[0]
    for place in range(len(names)):
        chosen, visible = _sheet(book, place)
        if visible:
            return ChosenSheet(chosen.name, place, chosen.header, _notes(path, names, place))
    raise InputError(f"{path}: every sheet is hidden. Name the one to read (--sheet).")


def _sheet(book: fastexcel.ExcelReader, place: int) -> tuple[ChosenSheet, bool]:
    """A sheet and whether it is shown. Its header is as it stands: reading as a table renames doubles."""
    loaded = book.load_sheet(place, header_row=None, n_rows=1, dtypes="string")
    row = loaded.to_arrow()
    header = [column[0].as_py() for column in row.columns] if row.num_rows else []
    return ChosenSheet(loaded.name, place, header), loaded.visible == "visible"


def _notes(path: Path, names: list[str], place: int) -> tuple[str, ...]:
    if len(names) == 1:
        return ()
    hidden = f", after {counted(place, 'hidden one')}" if place else ""
    others = counted(len(names) - 1, "other sheet")
    return (
        f"{path.name} was read from its sheet {names[place]!r}{hidden}; {others} "
        f"{'was' if len(names) == 2 else 'were'} not read. --sheet chooses another.",
    )


def refuse_flaws(path: Path, sheet: ChosenSheet) -> None:
    """Refuse merged cells and cells that lack their value, by where they are and how many."""
    flaws = _flaws(path, sheet)
    where = f"{path}, sheet {sheet.name!r}"
    if flaws.merged:
        named = ", ".join(flaws.merged[:_NAMED]) + (", ..." if len(flaws.merged) > _NAMED else "")
        raise InputError(
            f"{where}: {counted(len(flaws.merged), 'area')} of merged cells ({named}), of which only the "
            "first cell has the value. Unmerge them and fill in every cell."
        )
    if flaws.errors:
        raise InputError(
            f"{where}: {counted(flaws.errors.total(), 'cell holds', 'cells hold')} an error such as #DIV/0! "
            f"or #N/A, by column: {_by_column(flaws.errors)}. Correct them, or clear those that mean a "
            "missing value."
        )
    if flaws.uncalculated:
        cells = counted(flaws.uncalculated.total(), "cell holds", "cells hold")
        raise InputError(
            f"{where}: {cells} a formula without its result, by column: {_by_column(flaws.uncalculated)}. "
            "Open the file in a spreadsheet program and save it, so that they are calculated."
        )


def _by_column(cells: Counter[str]) -> str:
    return ", ".join(f"{letters} ({number:,})" for letters, number in sorted(cells.items()))


def _flaws(path: Path, sheet: ChosenSheet) -> SheetFlaws:
    try:
        if zipfile.is_zipfile(os.fspath(path)):
            return xlsx_flaws(path, sheet.name)
        return xls_flaws(path, sheet.place)
    except (*_NOT_XLSX, *_NOT_XLS):
        raise InputError(
            f"{path} cannot be checked for merged cells and errors. Save it as an Excel workbook (.xlsx)."
        ) from None

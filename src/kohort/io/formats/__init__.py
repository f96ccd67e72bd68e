"""The formats of files, each a line here and a module or class with the functions of `Format.code`.

A module is imported when a file of its format is first read or written. What can be said of such files, and
what they cannot hold, is said here once: lists of suffixes and options everywhere else come from these lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.source_file import COMPRESSIONS, Files, plain_suffix, text_size

_IN_MEMORY = 2  # bytes in memory per byte of text


@dataclass(frozen=True)
class Layout:
    """The layout of a text table: what must be known before it can be read. Other formats have none.

    header       the names of the columns: the first line, or invented ones
    blank_lines  empty lines before the first one that holds anything
    """

    encoding: str = ""
    delimiter: str = ""
    header: Sequence[str] = ()
    blank_lines: int = 0
    has_header: bool = True


@dataclass(frozen=True)
class How:
    """What is said of a file that is read; what is None is found out.

    header         of text and Excel: whether the first line names the columns
    header_option  how a message calls that option
    layout         of text: that of the other files of the same table
    """

    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    header: bool | None = None
    header_option: str = "header"
    layout: Layout = Layout()


@dataclass(frozen=True, eq=False)
class Read:
    """A table as it was in its file."""

    table: pa.Table
    layout: Layout = Layout()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads a file in batches of records, some columns at a time.

    schema    the columns and their types, as if the file were read whole
    batches   reads some columns
    expected  about how many records there are
    """

    schema: pa.Schema
    batches: Callable[[Path, Sequence[str]], Iterator[pa.RecordBatch]]
    expected: int = 0
    layout: Layout = Layout()


class ReadWhole(Exception):
    """Why a file is not read in batches, in words."""


@dataclass(frozen=True, eq=False)
class Format:
    """A format of files.

    options       what can be said of a file that is read: fields of `How`
    compressible  whether it is read as a stream of bytes; the readers of the others open a name
    whole         whether its files are only read and written as a whole, and never one table in a folder
    holds_all     whether every value and every record can be told from any other
    holds_lists   whether a cell can be a list
    lacks_keys    whether a record may lack columns that others have
    needs         the extra that has its library; empty: none
    instead       the suffix to write where its files are read only; empty: they are written, too
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    module: str
    options: tuple[str, ...] = ()
    compressible: bool = False
    whole: bool = False
    holds_all: bool = False
    holds_lists: bool = False
    lacks_keys: bool = False
    needs: str = ""
    instead: str = ""

    @property
    def offered(self) -> bool:
        """Whether everybody can write it, with nothing else to install."""
        return not self.needs and not self.instead

    @property
    def code(self) -> Any:
        """The module or class that reads and writes it. Errors of libraries may quote cells: none is shown.

        read(source, how) -> Read               all records of a file
        open_in_batches(source, how) -> Reader  lacks where files are only read as a whole; raises ReadWhole
        write(slices, path, delimiter)          writes a table that comes in slices
        """
        module, _, name = self.module.partition(".")
        found = import_module(f"{__name__}.{module}")
        return getattr(found, name) if name else found

    def bytes_in_memory(self, path: Path) -> int:
        """The bytes that a table takes in memory, estimated by the size of its file or by what that says."""
        if self.compressible:
            return text_size(path) * _IN_MEMORY
        return getattr(self.code, "bytes_in_memory", lambda path: path.stat().st_size)(path)


_TEXT = ("delimiter", "encoding", "header")
FORMATS = (
    Format("csv", "delimited text", (".csv", ".tsv", ".txt"), "delimited", _TEXT, compressible=True),
    Format("parquet", "Parquet", (".parquet",), "columnar.Parquet", holds_all=True, holds_lists=True),
    Format(
        "arrow", "Arrow", (".arrow", ".feather", ".ipc"), "columnar.Arrow", holds_all=True, holds_lists=True
    ),
    Format("orc", "ORC files", (".orc",), "columnar.Orc", instead=".parquet"),
    Format("excel", "Excel workbooks", (".xlsx",), "excel", ("sheet", "header"), whole=True),
    Format(
        *("jsonl", "JSON lines", (".jsonl", ".ndjson", ".json"), "json_lines"),
        compressible=True,
        holds_lists=True,
        lacks_keys=True,
    ),
    Format("spss", "SPSS files", (".sav", ".zsav"), "stat_files", whole=True, needs="stats"),
    Format("stata", "Stata files", (".dta",), "stat_files", whole=True, needs="stats"),
)
SUFFIXES = {suffix: kind for kind in FORMATS for suffix in kind.suffixes}


def format_of(path: str | Path) -> Format:
    """The format that a file's extension stands for."""
    path = Path(path)
    kind = SUFFIXES.get(plain_suffix(path))
    if kind is not None and (kind.compressible or path.suffix.lower() not in COMPRESSIONS):
        return kind
    if path.suffix.lower() == ".xls":
        raise UnsupportedError(
            f"{path.name} is an old Excel file. Open it in a spreadsheet program and save it as .xlsx."
        )
    titles = [known.title for known in FORMATS if known.compressible]
    raise UnsupportedError(
        f"{path.name}: unknown extension. Known: {', '.join(SUFFIXES)}; {' and '.join(titles)} "
        f"also with {', '.join(COMPRESSIONS)} after it."
    )


def format_to_write(path: str | Path) -> Format:
    """The format of a file that is written; one that is read only is refused."""
    kind = format_of(path)
    if kind.instead:
        what = f"{kind.title} ({Path(path).suffix.lower()})"
        raise UnsupportedError(f"{what} can be read, not written. Write {kind.instead} instead.")
    return kind


def source_format(files: Files) -> Format:
    """The format of the files of a table: one for all of them."""
    kinds = {format_of(file): file for file in reversed(files.files)}
    if len(kinds) > 1:
        names = ", ".join(repr(file.name) for file in sorted(kinds.values()))
        raise InputError(
            f"{files.path} has files of several formats: {names}. A table is in files of one format."
        )
    (kind,) = kinds
    if kind.whole and files.is_folder:
        raise UnsupportedError(
            f"{files.path} is a folder of {kinds[kind].suffix} files. Give the name of one."
        )
    return kind


def refuse_stray_options(kind: Format, how: How) -> None:
    """Refuse options that would be ignored."""
    if "delimiter" not in kind.options and (how.delimiter is not None or how.encoding is not None):
        raise InputError(f"A delimiter or an encoding can only be given for {_those_with('delimiter')}.")
    if "sheet" not in kind.options and how.sheet is not None:
        raise InputError(f"A sheet can only be given for {_those_with('sheet')}.")
    if "header" not in kind.options and how.header is not None:
        titles = " and ".join(known.title for known in FORMATS if "header" in known.options)
        raise InputError(f"Only {titles} may lack a header; other formats have one.")


def _those_with(option: str) -> str:
    known = [kind for kind in FORMATS if option in kind.options]
    return " and ".join(f"{kind.title} ({', '.join(kind.suffixes)})" for kind in known)

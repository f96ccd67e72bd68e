"""Tables in files: read whole, with the SHA-256 of their bytes, and written back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kohort.data.dataset import Dataset
from kohort.errors import InputError, UnsupportedError
from kohort.io.arrow_files import read_arrow, read_orc, read_parquet, write_arrow, write_parquet
from kohort.io.columns import Slices
from kohort.io.compressed import COMPRESSIONS, DAMAGED, plain_suffix
from kohort.io.delimited import read_delimited, write_delimited
from kohort.io.folders import Folder
from kohort.io.header import refuse_doubtful_header
from kohort.io.json_lines import read_json_lines, write_json_lines
from kohort.io.source_file import SourceFile, opened
from kohort.io.text_layout import HEADER_RECORDS, detect_layout
from kohort.late import LateModule, late_function
from kohort.parameters import check_option

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LateModule("polars")

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".orc": "orc",
    ".xlsx": "excel",
    ".xls": "excel",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".sav": "spss",
    ".zsav": "spss",
    ".dta": "stata",
}
_NOT_WRITTEN = {".xls": ("Old Excel files (.xls)", ".xlsx"), ".orc": ("ORC files (.orc)", ".parquet")}
_read_sheet = late_function("kohort.io.excel", "read_excel")
_read_folder = late_function("kohort.io.folder_tables", "read_folder")
IN_FOLDERS = ("csv", "parquet", "arrow", "orc", "jsonl")
COMPRESSIBLE = ("csv", "jsonl")  # read as a stream of bytes; the readers of the others open a name

READERS: dict[str, Callable[[Path], pa.Table]] = {
    "parquet": read_parquet,
    "arrow": read_arrow,
    "orc": read_orc,
    "jsonl": read_json_lines,
    "spss": late_function("kohort.io.stat_files", "read_spss"),
    "stata": late_function("kohort.io.stat_files", "read_stata"),
}
WRITERS: dict[str, Callable[[Slices, Path], None]] = {
    "parquet": write_parquet,
    "arrow": write_arrow,
    "jsonl": write_json_lines,
}
WHOLE_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "excel": late_function("kohort.io.excel", "write_excel"),
    "spss": late_function("kohort.io.stat_files", "write_spss"),
    "stata": late_function("kohort.io.stat_files", "write_stata"),
}


@dataclass(frozen=True)
class TableFile:
    """A table as it was in its file, and what is needed to write another like it.

    notes     sentences on what was read, where more than one table could have been meant
    database  where the records come from, if that is no file but a table or query of a database
    """

    table: pa.Table
    format: str
    sha256: str
    delimiter: str | None = None
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    database: Any = None

    @cached_property
    def dataset(self) -> Dataset:
        """The records."""
        return Dataset(self.table)


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    header: bool | None = None,
    header_option: str = "header",
) -> TableFile:
    """Read a table; its extension says the format (see SUFFIXES). A folder of files is read as one table.

    `delimiter` and `encoding` are for delimited text and found out if not given; `sheet` is for
    Excel. `header` says of both whether the first line names the columns; if not given, a first line
    that may be a record is refused, and the message names the option `header_option`. Delimited text
    gives text columns only: no type is guessed. No message shows a cell.
    """
    path = Path(path)
    refuse_unreadable(path)
    kind = source_format(path)
    check_option(header_option.replace("-", "_"), header, bool | None)
    refuse_stray_options(kind, delimiter, encoding, sheet, header)
    first_line: dict[str, Any] = {"header": header, "header_option": header_option}
    if path.is_dir():
        return _read_folder(path, kind, delimiter=delimiter, encoding=encoding, **first_line)
    with opened(path, by_name=kind not in COMPRESSIBLE) as source:
        try:
            if kind == "csv":
                file = _read_text(source, delimiter=delimiter, encoding=encoding, **first_line)
            elif kind == "excel":
                file = _read_excel(source, sheet=sheet, **first_line)
            else:
                file = TableFile(READERS[kind](source), kind, sha256=source.sha256)
        except (*DAMAGED, pa.ArrowException):
            raise InputError(f"{path} is damaged, or not what its extension says.") from None
    refuse_doubles(file.table.column_names, str(path))
    if not file.table.num_columns or not file.table.num_rows:
        raise InputError(f"{path} has no records.")
    return file


def _read_text(source: SourceFile, **options: Any) -> TableFile:
    layout = detect_layout(source, **options)
    refuse_doubles(layout.header, str(source))
    table = read_delimited(source, layout)
    return TableFile(table, "csv", source.sha256, layout.delimiter, layout.encoding)


def _read_excel(
    source: SourceFile, *, sheet: str | int | None, header: bool | None, header_option: str
) -> TableFile:
    table, notes = _read_sheet(source, sheet=sheet, header=header)
    if header is None:
        refuse_doubtful_header(table.column_names, _first_texts(table), str(source), header_option)
    return TableFile(table, "excel", source.sha256, notes=notes)


def write_table(table: pa.Table, path: str | Path, *, delimiter: str | None = None) -> None:
    """Write a table straight to `path`, in the format of its extension; see `atomic.replacing`.

    `delimiter` is for delimited text, and ignored elsewhere: the input's can be handed on. A full
    disk and the like raise OSError, which `replacing` turns into an InputError.
    """
    path = Path(path)
    if writes_slices(path):
        write_slices(Slices.of(table.unify_dictionaries()), path, delimiter=delimiter)
        return
    refuse_doubles(table.column_names, "The table")
    with _explained(path):
        WHOLE_WRITERS[format_of(path)](table, path)


def writes_slices(path: str | Path) -> bool:
    """Whether a table can be written to such a file a slice at a time."""
    path = Path(path)
    kind = format_of(path)
    if (ending := path.suffix.lower()) in _NOT_WRITTEN:
        what, instead = _NOT_WRITTEN[ending]
        raise UnsupportedError(f"{what} can be read, not written. Write {instead} instead.")
    return kind == "csv" or kind in WRITERS


def write_slices(slices: Slices, path: str | Path, *, delimiter: str | None = None) -> None:
    """Write a table that comes in slices, in the same way as `write_table`."""
    path = Path(path)
    kind = format_of(path)
    refuse_doubles(slices.schema.names, "The table")
    with _explained(path):
        if kind == "csv":
            write_delimited(slices, path, delimiter=delimiter)
        else:
            WRITERS[kind](slices, path)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Errors of the libraries in our words, since theirs may quote cells."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pl.exceptions.PolarsError):
        raise UnsupportedError(f"{path.suffix} files cannot hold one of the table's column types.") from None


def format_of(path: str | Path) -> str:
    """The format that a file's extension stands for: a value of SUFFIXES."""
    path = Path(path)
    kind = SUFFIXES.get(plain_suffix(path))
    compressed = path.suffix.lower() in COMPRESSIONS
    if kind is None or (compressed and kind not in COMPRESSIBLE):
        raise UnsupportedError(
            f"{path.name}: unknown extension. Known: {', '.join(SUFFIXES)}; delimited text and JSON lines "
            f"also with {', '.join(COMPRESSIONS)} after it."
        )
    return kind


def source_format(path: str | Path) -> str:
    """The format of a file that is read, or of the files of a folder: one for all of them."""
    path = Path(path)
    if not path.is_dir():
        return format_of(path)
    kinds = {format_of(file): file for file in reversed(Folder.at(path).files)}
    if len(kinds) > 1:
        names = ", ".join(repr(file.name) for file in sorted(kinds.values()))
        raise InputError(f"{path} has files of several formats: {names}. A table is in files of one format.")
    (kind,) = kinds
    if kind not in IN_FOLDERS:
        raise UnsupportedError(f"{path} is a folder of {kinds[kind].suffix} files. Give the name of one.")
    return kind


def refuse_unreadable(path: Path) -> None:
    """Refuse a path that does not exist, an empty file, and a folder that cannot be one table."""
    if path.is_dir():
        Folder.at(path)
        return
    if not path.exists():
        close = get_close_matches(path.name, _names_beside(path), n=1, cutoff=0.75)
        raise InputError(f"{path} does not exist." + (f" Did you mean {close[0]!r}?" if close else ""))
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes).")


def _names_beside(path: Path) -> list[str]:
    try:
        return sorted(other.name for other in path.parent.iterdir())
    except OSError:
        return []


def _first_texts(table: pa.Table) -> list[list[str | None]]:
    """The first cells of each column, as texts."""
    cells = (column.slice(0, HEADER_RECORDS).to_pylist() for column in table.columns)
    return [[None if cell is None else str(cell) for cell in column] for column in cells]


def refuse_stray_options(
    kind: str, delimiter: str | None, encoding: str | None, sheet: str | int | None, header: bool | None
) -> None:
    """Refuse options that would be ignored."""
    if kind != "csv" and (delimiter is not None or encoding is not None):
        raise InputError(
            "A delimiter or an encoding can only be given for delimited text (.csv, .tsv, .txt)."
        )
    if kind != "excel" and sheet is not None:
        raise InputError("A sheet can only be given for Excel workbooks (.xlsx, .xls).")
    if kind not in ("csv", "excel") and header is not None:
        raise InputError("Only delimited text and Excel workbooks may lack a header; other formats have one.")


def refuse_doubles(names: list[str], where: str) -> None:
    doubles = [repr(name) for name, count in Counter(names).items() if count > 1]
    if doubles:
        raise InputError(f"{where}: several columns are called {', '.join(doubles)}. Rename them.")

"""Tables in files: read whole or in batches, with the SHA-256 of their bytes, and written back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.batch_files import BatchFile, BatchFolder, read_file, reading, unite_schemas, united, why_whole
from kohort.io.folders import Folder, folder_hash
from kohort.io.formats import Format, How, format_of, format_to_write, refuse_stray_options, source_format
from kohort.io.formats.fitting import Slices, refuse_doubles
from kohort.io.formats.text_layout import Layout, layout_like, layout_of
from kohort.io.source_file import SourceFile, is_blank, opened, opened_again, state_of
from kohort.late import LateModule
from kohort.parameters import check_option
from kohort.tables.batches import BatchTable
from kohort.tables.source import Source

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LateModule("polars")


def read_table(path: str | Path, **said: Any) -> Source:
    """Read a table; its extension says the format. A folder of files is read as one table.

    `said` holds fields of `How`: `delimiter` and `encoding` are for delimited text and found out if not
    given; `sheet` is for Excel. `header` says of both whether the first line names the columns; if not given,
    a first line that may be a record is refused, and the message names the option `header_option`. Delimited
    text gives text columns only: no type is guessed. No message shows a cell.
    """
    path = Path(path)
    kind, how = _asked(path, said)
    if path.is_dir():
        return _read_folder(Folder.at(path), kind, how)
    with opened(path, by_name=not kind.compressible) as source:
        found = read_file(kind, source, how)
    if not found.table.num_columns or not found.table.num_rows:
        raise InputError(f"{path} has no records.")
    return _source(found.table, kind, source.sha256, found.layout, found.notes)


def open_in_batches(path: str | Path, **said: Any) -> BatchFile | BatchFolder | str:
    """A table to be read in batches, with the options of `read_table`; or why it is read whole, in words."""
    path = Path(path)
    kind, how = _asked(path, said)
    if path.is_dir():
        return _open_folder(Folder.at(path), kind, how)
    return why_whole(path, kind) or BatchFile.at(path, state_of(path), kind, how)


def _asked(path: Path, said: dict[str, Any]) -> tuple[Format, How]:
    how = How(**said)
    refuse_unreadable(path)
    kind = source_format(path)
    check_option(how.header_option.replace("-", "_"), how.header, bool | None)
    refuse_stray_options(kind, how)
    return kind, how


def bytes_in_memory(path: str | Path) -> int:
    """The bytes that a table takes in memory, estimated by the size of its files or what these say."""
    path = Path(path)
    refuse_unreadable(path)
    files = Folder.at(path).files if path.is_dir() else (path,)
    return sum(format_of(file).bytes_in_memory(file) for file in files)


def _read_folder(folder: Folder, kind: Format, how: How) -> Source:
    how = _like_the_largest(folder, kind, how)
    hashes: dict[str, str] = {}
    tables: dict[Path, pa.Table] = {}
    for file in folder.files:
        with opened(file, by_name=not kind.compressible) as source:
            hashes[file.name] = source.sha256
            own = _own(kind, source, how)
            if own is not None:
                tables[file] = read_file(kind, source, own).table
    folder.refuse_changed()
    table = united(folder.path, kind, tables)
    return _source(table, kind, folder_hash(hashes), how.layout, (folder.note_on_hash,))


def _open_folder(folder: Folder, kind: Format, how: How) -> BatchFolder | str:
    if why := next(filter(None, (why_whole(file, kind) for file in folder.files)), None):
        return why
    how = _like_the_largest(folder, kind, how)
    states = {file: state_of(file) for file in folder.files}
    parts: list[BatchFile] = []
    for file, state in states.items():
        with opened_again(file, state, compare=False) as source:
            own = _own(kind, source, how)
        part = None if own is None else BatchFile.at(file, state, kind, own)
        if isinstance(part, str):
            return part
        parts += [] if part is None else [part]
    folder.refuse_changed()
    schema = unite_schemas(folder.path, kind, {part.path: part.schema for part in parts})
    hashes = {file.name: state.sha256 for file, state in states.items()}
    return BatchFolder(folder, kind, tuple(parts), schema, hashes, how.layout)


def _like_the_largest(folder: Folder, kind: Format, how: How) -> How:
    """What is said of the files of a folder, with the layout of the largest one, which all have."""
    if "delimiter" not in kind.options:
        return how
    with opened(folder.largest) as source, reading(source):
        return replace(how, layout=layout_of(source, how))


def _own(kind: Format, source: SourceFile, how: How) -> How | None:
    """What is said of one file of a folder; None where text has no records."""
    with reading(source):
        if kind.compressible and is_blank(source):
            return None
        if how.layout is None:
            return how
        layout = layout_like(source, how.layout)
    return None if layout is None else replace(how, layout=layout)


def hold(
    batches: BatchFile | BatchFolder,
    held: Sequence[str],
    shown: Sequence[str],
    seen: Callable[[int], None] | None = None,
) -> Source:
    """Read a table in batches for the first time, and hold some columns; see `BatchTable`."""
    table = BatchTable(batches, held, shown, seen)
    if not table.n_records:
        raise InputError(f"{batches.path} has no records.")
    return _source(table, batches.kind, batches.sha256, batches.layout, batches.notes)


def _source(
    records: pa.Table | BatchTable, kind: Format, sha256: str, layout: Layout | None, notes: tuple[str, ...]
) -> Source:
    delimiter, encoding = (None, None) if layout is None else (layout.delimiter, layout.encoding)
    return Source(records, kind.name, sha256, delimiter, encoding, notes)


def write_table(table: pa.Table, path: str | Path, *, delimiter: str | None = None) -> None:
    """Write a table straight to `path`, in the format of its extension; see `atomic.replacing`.

    `delimiter` is for delimited text, and ignored elsewhere: the input's can be handed on. A full
    disk and the like raise OSError, which `replacing` turns into an InputError.
    """
    whole = format_to_write(path).whole
    write_slices(Slices.of(table if whole else table.unify_dictionaries()), path, delimiter=delimiter)


def writes_slices(path: str | Path) -> bool:
    """Whether a table can be written to such a file a slice at a time."""
    return not format_to_write(path).whole


def write_slices(slices: Slices, path: str | Path, *, delimiter: str | None = None) -> None:
    """Write a table that comes in slices, in the same way as `write_table`."""
    path = Path(path)
    kind = format_to_write(path)
    refuse_doubles(slices.schema.names, "The table")
    with _explained(path):
        kind.code.write(slices, path, delimiter)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Errors of the libraries in our words, since theirs may quote cells."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pl.exceptions.PolarsError):
        raise UnsupportedError(f"{path.suffix} files cannot hold one of the table's column types.") from None


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

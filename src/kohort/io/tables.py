"""Tables in files: read whole or in batches, with the SHA-256 of their bytes, and written back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.batch_files import FileBatches, OneFile, read_file, reading, unite_schemas, united, why_whole
from kohort.io.folders import Files
from kohort.io.formats import (
    Format,
    How,
    Read,
    format_of,
    format_to_write,
    refuse_stray_options,
    source_format,
)
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
    files, kind, how = _asked(path, said)
    hashes: dict[Path, str] = {}
    found: dict[Path, Read] = {}
    for file in files.files:
        with opened(file, by_name=not kind.compressible) as source:
            hashes[file] = source.sha256
            own = _own(files, kind, source, how)
            if own is not None:
                found[file] = read_file(kind, source, own)
    files.refuse_changed()
    table = united(files.path, kind, {file: read.table for file, read in found.items()})
    layout = how.layout if files.is_folder else found[files.path].layout
    notes = [note for read in found.values() for note in read.notes]
    return _source(table, kind, files.sha256(hashes), layout, (*files.notes, *notes))


def open_in_batches(path: str | Path, **said: Any) -> FileBatches | str:
    """A table to be read in batches, with the options of `read_table`; or why it is read whole, in words."""
    files, kind, how = _asked(path, said)
    if why := next(filter(None, (why_whole(file, kind) for file in files.files)), None):
        return why
    states = {file: state_of(file) for file in files.files}
    parts: list[OneFile] = []
    for file, state in states.items():
        with opened_again(file, state, compare=False) as source:
            own = _own(files, kind, source, how)
        part = None if own is None else OneFile.at(file, state, kind, own)
        if isinstance(part, str):
            return part
        parts += [] if part is None else [part]
    files.refuse_changed()
    schema = unite_schemas(files.path, kind, {part.path: part.reader.schema for part in parts})
    sha256 = files.sha256({file: state.sha256 for file, state in states.items()})
    layout = how.layout if files.is_folder else parts[0].how.layout
    return FileBatches(files, kind, tuple(parts), schema, sha256, layout)


def _asked(path: str | Path, said: dict[str, Any]) -> tuple[Files, Format, How]:
    """The files, their format, and what is said of all: the largest of a folder shows their layout."""
    how = How(**said)
    files = Files.at(path)
    kind = source_format(files)
    check_option(how.header_option.replace("-", "_"), how.header, bool | None)
    refuse_stray_options(kind, how)
    if files.is_folder and "delimiter" in kind.options:
        with opened(files.largest) as source, reading(source):
            how = replace(how, layout=layout_of(source, how))
    return files, kind, how


def bytes_in_memory(path: str | Path) -> int:
    """The bytes that a table takes in memory, estimated by the size of its files or what these say."""
    return sum(format_of(file).bytes_in_memory(file) for file in Files.at(path).files)


def _own(files: Files, kind: Format, source: SourceFile, how: How) -> How | None:
    """What is said of one file; None for text without records among the files of a folder."""
    if not files.is_folder:
        return how
    with reading(source):
        if kind.compressible and is_blank(source):
            return None
        if how.layout is None:
            return how
        layout = layout_like(source, how.layout)
    return None if layout is None else replace(how, layout=layout)


def hold(
    batches: FileBatches,
    held: Sequence[str],
    shown: Sequence[str],
    seen: Callable[[int], None] | None = None,
) -> Source:
    """Read a table in batches for the first time, and hold some columns; see `BatchTable`."""
    table = BatchTable(batches, held, shown, seen)
    if not table.n_records:
        raise InputError(f"{batches.files.path} has no records.")
    return _source(table, batches.kind, batches.sha256, batches.layout, batches.files.notes)


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

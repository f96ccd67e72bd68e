"""Tables in files too large for memory: some columns are held in codes, the rest is read in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.data.streamed_dataset import StreamedDataset
from kohort.errors import InputError
from kohort.io.arrow_files import read_arrow, read_orc, read_parquet
from kohort.io.batch_files import (
    BatchFile,
    arrow_file,
    delimited_file,
    orc_file,
    parquet_file,
    why_not_in_batches,
)
from kohort.io.compressed import COMPRESSIONS, DAMAGED, is_blank
from kohort.io.delimited import read_delimited
from kohort.io.folder_tables import BatchFolder, note_on_hash, unite_schemas
from kohort.io.folders import Folder
from kohort.io.json_batches import json_file
from kohort.io.source_file import SourceFile, SourceState, opened, opened_again, state_of
from kohort.io.tables import (
    COMPRESSIBLE,
    format_of,
    refuse_doubles,
    refuse_stray_options,
    refuse_unreadable,
    source_format,
)
from kohort.io.text_layout import Layout, detect_layout, layout_like
from kohort.parameters import check_option

_BYTES_PER_CELL = 12  # of a table in memory, roughly: numbers, and texts as codes or as they are
_TEXT_IN_MEMORY = 2  # bytes in memory per byte of a text file
_COMPRESSED_TEXT = 6  # bytes of text per byte of a compressed file
_COLUMNAR: dict[str, tuple[Any, Any]] = {
    "parquet": (parquet_file, read_parquet),
    "arrow": (arrow_file, read_arrow),
    "orc": (orc_file, read_orc),
}


@dataclass(frozen=True, eq=False)
class StreamedFile:
    """A table that is read in batches, with what is needed to write another like it; see `TableFile`."""

    dataset: StreamedDataset
    format: str
    sha256: str
    delimiter: str | None = None
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    database: Any = None

    @property
    def table(self) -> pa.Table:
        """All records, read into memory."""
        return self.dataset.batches.whole()


@dataclass(frozen=True, eq=False)
class InBatches:
    """A file or folder that can be read in batches; `hold` reads it for the first time."""

    batches: BatchFile | BatchFolder
    format: str
    delimiter: str | None = None
    encoding: str | None = None
    notes: tuple[str, ...] = ()

    def hold(
        self,
        held: Sequence[str],
        shown: Sequence[str],
        seen: Callable[[int], None] | None = None,
        notes: tuple[str, ...] = (),
    ) -> StreamedFile:
        """Read the file, and hold some columns in memory; `shown` are published as they are."""
        dataset = StreamedDataset(self.batches, held, shown, seen)
        if not dataset.n_records:
            raise InputError(f"{self.batches.path} has no records.")
        notes = (*self.notes, *notes)
        return StreamedFile(dataset, self.format, self.batches.sha256, self.delimiter, self.encoding, notes)


def bytes_in_memory(path: str | Path) -> int:
    """The bytes that a table takes in memory, estimated by the size of its files or what these say."""
    path = Path(path)
    refuse_unreadable(path)
    return sum(map(_bytes_of_file, Folder.at(path).files)) if path.is_dir() else _bytes_of_file(path)


def _bytes_of_file(path: Path) -> int:
    kind, size = format_of(path), path.stat().st_size
    if kind == "parquet":
        try:
            about = pq.read_metadata(path)
        except (OSError, pa.ArrowException):
            return size  # reading it will say what is wrong
        return max(size, _BYTES_PER_CELL * about.num_rows * len(about.schema.to_arrow_schema()))
    if kind in ("csv", "jsonl"):
        compressed = path.suffix.lower() in COMPRESSIONS
        return size * _TEXT_IN_MEMORY * (_COMPRESSED_TEXT if compressed else 1)
    return size


def open_in_batches(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    header: bool | None = None,
    header_option: str = "header",
) -> InBatches | str:
    """A table to be read in batches, with the options of `read_table`; or why it is read whole, in words."""
    path = Path(path)
    refuse_unreadable(path)
    kind = source_format(path)
    check_option(header_option.replace("-", "_"), header, bool | None)
    refuse_stray_options(kind, delimiter, encoding, sheet, header)
    text: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding}
    options = text | {"header": header, "header_option": header_option}
    if path.is_dir():
        return _open_folder(Folder.at(path), kind, options)
    if (why := why_not_in_batches(path, kind)) is not None:
        return why
    found = _open_file(path, state_of(path), kind, partial(detect_layout, **options))
    assert found is not None
    return found


def _open_folder(folder: Folder, kind: str, options: dict[str, Any]) -> InBatches | str:
    """The files of a folder, opened one after the other, as one table."""
    layout = None
    if kind == "csv":
        with opened(folder.largest) as source:
            layout = detect_layout(source, **options)
    states = {file: state_of(file) for file in folder.files}
    parts: list[BatchFile] = []
    for file, state in states.items():
        part = why_not_in_batches(file, kind) or _open_part(file, state, kind, layout)
        if isinstance(part, str):
            return part
        parts += [] if part is None else [part]
    folder.refuse_changed()
    schema = unite_schemas(folder.path, kind, {part.path: part.schema for part in parts})
    hashes = {file.name: state.sha256 for file, state in states.items()}
    batches, notes = BatchFolder(folder, kind, tuple(parts), schema, hashes), (note_on_hash(folder),)
    if layout is None:
        return InBatches(batches, kind, notes=notes)
    return InBatches(batches, kind, layout.delimiter, layout.encoding, notes)


def _open_part(file: Path, state: SourceState, kind: str, layout: Layout | None) -> BatchFile | str | None:
    """A file of a folder; None where text has no records."""
    if kind in COMPRESSIBLE and is_blank(file):
        return None
    like = None if layout is None else partial(layout_like, first=layout)
    found = _open_file(file, state, kind, like)
    return cast(BatchFile, found.batches) if isinstance(found, InBatches) else found


def _open_file(
    path: Path, state: SourceState, kind: str, layout_of: Callable[[Path], Layout | None] | None
) -> InBatches | str | None:
    """A file to be read in batches, or why it is not, in words; None where `layout_of` finds no records."""
    with opened_again(path, state, compare=False) as source:
        try:
            if layout_of is not None and kind == "csv":
                layout = layout_of(source)
                return None if layout is None else _delimited(path, state, source, layout)
            if kind == "jsonl":
                return _json_lines(path, state, source)
            return _columnar(path, state, source, kind)
        except (*DAMAGED, pa.ArrowException):
            raise InputError(f"{path} is damaged, or not what its extension says.") from None


def _delimited(path: Path, state: SourceState, source: SourceFile, layout: Layout) -> InBatches | str:
    refuse_doubles(layout.header, str(path))
    if layout.encoding not in ("utf-8", "utf-8-sig"):
        return f"text in {layout.encoding} is read whole"
    load = partial(read_delimited, layout=layout)
    return InBatches(
        delimited_file(path, state, source, layout, load), "csv", layout.delimiter, layout.encoding
    )


def _json_lines(path: Path, state: SourceState, source: SourceFile) -> InBatches | str:
    file = json_file(path, state, source)
    if isinstance(file, str):
        return file
    if not file.schema.names:
        raise InputError(f"{path} has no records.")
    return InBatches(file, "jsonl")


def _columnar(path: Path, state: SourceState, source: SourceFile, kind: str) -> InBatches | str:
    make, load = _COLUMNAR[kind]
    file = make(path, state, source, load)
    refuse_doubles(file.schema.names, str(path))
    if not file.schema.names:
        raise InputError(f"{path} has no records.")
    if odd := [field.name for field in file.schema if _is_odd(field.type)]:
        return f"{', '.join(map(repr, odd))} has a type that is read whole"
    return InBatches(file, kind)


def _is_odd(kind: pa.DataType) -> bool:
    """Whether batches of a column of this type may not fit together: dictionaries of other than text."""
    if pa.types.is_run_end_encoded(kind) or isinstance(kind, pa.BaseExtensionType):
        return True
    if not pa.types.is_dictionary(kind):
        return False
    return not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))

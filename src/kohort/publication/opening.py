"""How the file of an original is opened: read into memory or, where it is large, in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kohort.algorithms import Progress
from kohort.engines import Place, engine_named
from kohort.errors import UnsupportedError
from kohort.io.baskets import BasketShape
from kohort.io.data_files import read_data
from kohort.io.streamed_files import StreamedFile, bytes_in_memory, open_in_batches
from kohort.io.tables import TableFile
from kohort.pipeline import Request
from kohort.pipeline.streaming import columns_to_read, why_not_streamed

__all__ = ["OriginalFile", "open_original"]

OriginalFile = TableFile | StreamedFile


def open_original(
    path: str | Path,
    request: Request,
    shape: BasketShape | None = None,
    *,
    progress: Progress | None = None,
    **reading: Any,
) -> OriginalFile:
    """Read the file of an original, for a request; `reading` holds the options of `read_table`.

    The engine says whether it is read into memory or in batches. Where batches are not possible for what is
    asked, it is read into memory all the same, and a note says why; it is refused if batches were asked for.
    """
    place = engine_named(request.engine).place(bytes_in_memory(path) if shape is None else 0)
    if place.held == "memory":
        return read_data(path, shape, **reading)
    why = why_not_streamed(request) if shape is None else "it is a file of baskets"
    opened = open_in_batches(path, **reading) if why is None else why
    if isinstance(opened, str):
        return _in_memory(path, shape, place, opened, reading)
    seen = None if progress is None else _seen(progress, opened.batches.expected)
    note = f"The file was read in batches, because {place.why}. Only what is searched or protected was held."
    held, shown = columns_to_read(request, opened.batches.schema.names)
    return opened.hold(held, shown, seen, () if place.asked else (note,))


def _in_memory(
    path: str | Path, shape: BasketShape | None, place: Place, why: str, reading: dict[str, Any]
) -> TableFile:
    """A large file that is read into memory, with a note that says why; refused if batches were asked for."""
    if place.asked:
        raise UnsupportedError(
            f"The file cannot be read in batches: {why}. Leave engine: streaming out, and it is read into "
            "memory."
        )
    file = read_data(path, shape, **reading)
    note = f"The file was read into memory as a whole, although {place.why}: {why}."
    return replace(file, notes=(*file.notes, note))


def _seen(progress: Progress, expected: int) -> Callable[[int], None]:
    def seen(n_records: int) -> None:
        progress("reading", min(n_records / max(expected, 1), 1.0))

    return seen

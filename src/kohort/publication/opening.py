"""How the file of an original is opened: read into memory or, where it is large, in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kohort.algorithms import Progress
from kohort.data.streamed_dataset import StreamedDataset
from kohort.engines import refuse_cluster
from kohort.engines.local import too_large_to_hold
from kohort.errors import InputError
from kohort.io.baskets import BasketShape
from kohort.io.data_files import read_data, refuse_options_of_files, table_of
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.databases.reading import DatabaseBatches
from kohort.io.streamed_files import StreamedFile, bytes_in_memory, open_in_batches
from kohort.io.tables import TableFile
from kohort.pipeline import Request
from kohort.pipeline.streaming import columns_to_read, why_not_streamed

OriginalFile = TableFile | StreamedFile


def open_original(
    path: str | Path | DatabaseTable,
    request: Request,
    shape: BasketShape | None = None,
    *,
    progress: Progress | None = None,
    **reading: Any,
) -> OriginalFile:
    """Read the file of an original, for a request; `reading` holds the options of `read_table`.

    A small one is read into memory, a large one in batches. Where batches are not possible for what is asked,
    it is read into memory all the same, and a note says why.
    """
    if isinstance(path, DatabaseTable):
        return _open_database(path, request, shape, progress, reading)
    if is_url(path):
        raise InputError("This is the URL of a database: name a table or a query of it, by ko.database(...).")
    refuse_cluster(request.engine)
    large = too_large_to_hold(bytes_in_memory(path)) if shape is None else None
    if large is None:
        return read_data(path, shape, **reading)
    why = why_not_streamed(request)
    opened = open_in_batches(path, **reading) if why is None else why
    if isinstance(opened, str):
        file = read_data(path, **reading)
        note = f"The file was read into memory as a whole, although {large}: {opened}."
        return replace(file, notes=(*file.notes, note))
    seen = None if progress is None else _seen(progress, opened.batches.expected)
    note = f"The file was read in batches, because {large}. Only what is searched or protected was held."
    held, shown = columns_to_read(request, opened.batches.schema.names)
    return opened.hold(held, shown, seen, (note,))


def _open_database(
    source: DatabaseTable,
    request: Request,
    shape: BasketShape | None,
    progress: Progress | None,
    reading: dict[str, Any],
) -> OriginalFile:
    """The records of a database: in memory as long as there is room for them, else in batches."""
    refuse_options_of_files(shape, reading)
    refuse_cluster(request.engine)
    why = why_not_streamed(request)
    batches = DatabaseBatches(source)
    table = batches.whole_if(lambda size: why is not None or too_large_to_hold(size) is None)
    if table is not None:
        batches.close()
        return table_of(batches, table)
    seen = None if progress is None else _seen(progress, 0)
    held, shown = columns_to_read(request, batches.schema.names)
    dataset = StreamedDataset(batches, held, shown, seen)
    if not dataset.n_records:
        raise InputError(f"{source} has no records.")
    note = "The records were read in batches. Only what is searched or protected was held."
    return StreamedFile(dataset, "database", batches.sha256, notes=(note,), database=batches)


def _seen(progress: Progress, expected: int) -> Callable[[int], None]:
    def seen(n_records: int) -> None:
        progress("reading", min(n_records / expected, 1.0) if expected else 0.0)

    return seen

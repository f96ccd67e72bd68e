"""Releases of tables that are read in batches: what is held of them, and the published table in slices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Progress
from kohort.data.arrow_values import take_records, value_type
from kohort.files.drafts import Drafts
from kohort.job.publish import Published
from kohort.problem.roles import Role
from kohort.statement import Statement
from kohort.tables.batches import BatchTable, PublishedTable, in_slices
from kohort.treatments import treatments_of
from kohort.verification import SliceCheck

HELD: tuple[Role, ...] = ("quasi-identifier", "sensitive", "person", "weight")
Stretches = Generator[tuple[np.ndarray | slice, pa.RecordBatch], None, None]
"""Published records stretch by stretch: their numbers, and their originals."""
DEALT_AT_ONCE = 1 << 20  # records that are dealt out to drafts at a time
ROWS = 1 << 20  # records of a draft, which is sorted in memory


def columns_to_read(request: Statement, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns to hold in memory, which are searched, protected or counted, and those handed on."""
    roles = request.roles.settled(names)
    held = [name for role in HELD for name in roles.having(role)]
    held += [n for n, how in treatments_of(request).items() if how.reads and n not in held]
    return held, [name for name in roles.untouched(request.treatments) if name not in held]


def why_not_streamed(request: Statement) -> str | None:
    """Why a table cannot be read in batches for what is asked, in words; None if it can."""
    if named := request.roles.having("items"):
        return f"{named[0]!r} has the role items"
    if request.events:
        return "there are two tables"
    if request.sample < 1:
        return "a sample is drawn"
    if request.ledger is not None:
        return "there is a ledger"
    for name, how in treatments_of(request).items():
        if how.scope == "class":
            return f"the {how.name} of classes is published of {name!r}"
    return None


@contextmanager
def published_slices(
    published: Published,
    rows_per_slice: Callable[[int], int],
    folder: Path,
    progress: Progress | None = None,
) -> Iterator[tuple[pa.Schema, Iterator[pa.Table], SliceCheck]]:
    """The published table in slices, in its published order, from a new reading of the original.

    Each part of it is compared with what was verified before it is handed on: see `SliceCheck`, which then
    knows what is to be found where the slices were written.

    rows_per_slice  how many records a slice has, by the number of columns
    folder          where drafts are put if the records are in another order than the original's
    """
    assert isinstance(published.shown, PublishedTable)
    check = SliceCheck(published.shown)
    with closing(_originals(published, check, progress)) as originals:
        dealt = (
            _in_order(published, originals) if published.in_order else _dealt(published, originals, folder)
        )
        # whatever happens, files are closed and drafts removed before this returns
        with closing(dealt) as stretches, closing(_published_batches(published, stretches, check)) as batches:
            first = next(batches)
            rows = rows_per_slice(len(first.schema.names))
            yield first.schema, in_slices(chain([first], batches), first.schema, rows), check


def _originals(
    published: Published, check: SliceCheck, progress: Progress | None
) -> Generator[pa.RecordBatch, None, None]:
    """The records of the original that are needed, read again and compared with the first reading."""
    dataset = published.dataset
    assert isinstance(dataset, BatchTable)
    names = [name for name in dataset.names if name in dataset.held or name in published.names]
    with closing(dataset.batches.read(names, last=True)) as batches:
        for batch in batches:
            check.compare_original(batch)
            yield batch
            if progress is not None:
                progress("writing", check.seen / dataset.n_records)
    check.finish()


def _in_order(published: Published, originals: Iterator[pa.RecordBatch]) -> Stretches:
    """Stretches of a published order that is the original's: the numbers of the records, and these."""
    start = 0
    for batch in originals:
        stop = start + len(batch)
        if published.kept is None:
            yield slice(start, stop), batch
        else:
            rows = published.kept[slice(*np.searchsorted(published.kept, [start, stop]))]
            columns = [take_records(column, rows - start) for column in batch.columns]
            yield rows, pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        start = stop


def _dealt(published: Published, originals: Iterator[pa.RecordBatch], folder: Path) -> Stretches:
    """Stretches of another order than the original's, with the columns that are handed on.

    The published order is cut into stretches. Each has a draft that gets its records as they come, and that
    is sorted when they are all there: about a million records are in memory. Drafts are for their owner's
    eyes only, and outlive no run.
    """
    order = published.rows
    stretches = [order[start : start + ROWS] for start in range(0, len(order), ROWS)]
    untouched = [name for name in published.names if name not in published.columns]
    if not untouched:
        deque(originals, maxlen=0)  # they are compared while they are read
        yield from ((rows, pa.RecordBatch.from_arrays([], names=[])) for rows in stretches)
        return
    place_of = np.full(published.dataset.n_records, -1, dtype=np.int64)
    place_of[order] = np.arange(len(order))
    first = next(originals).select(untouched)
    rest = (batch.select(untouched) for batch in originals)
    with closing(Drafts(folder)) as drafts:
        paths = [drafts.create(".arrow") for _ in stretches]
        _deal_out(in_slices(chain([first], rest), first.schema, DEALT_AT_ONCE), place_of, paths)
        for rows, path in zip(stretches, paths):
            yield rows, _picked_up(path)
            path.unlink()


def _deal_out(parts: Iterator[pa.Table], place_of: np.ndarray, paths: Sequence[Path]) -> None:
    """Write every record that is published to the draft of its stretch, with its place as the last column.

    parts     all originals, in the order of the file; drafts have no dictionaries
    place_of  the place of each, -1 if it is not published
    """
    start = 0
    with ExitStack() as stack:
        writers: list[Any] = []
        for part in parts:
            place = place_of[start : start + len(part)]
            start += len(part)
            order = np.argsort(place, kind="stable")
            order = order[np.searchsorted(place[order], 0) :]
            fields = [field.with_type(value_type(field.type)) for field in part.schema]
            columns = [take_records(column, order) for column in part.cast(pa.schema(fields)).columns]
            schema = pa.schema([*fields, pa.field("place", pa.int64())])
            table = pa.Table.from_arrays([*columns, pa.array(place[order])], schema=schema)
            if not writers:
                writers = [_writer(stack, path, schema) for path in paths]
            stretch = place[order] // ROWS
            starts = np.flatnonzero(np.diff(stretch, prepend=-1))
            for begin, end in zip(starts, np.append(starts[1:], len(stretch))):
                writers[int(stretch[begin])].write_table(table.slice(begin, end - begin))


def _writer(stack: ExitStack, path: Path, schema: pa.Schema) -> Any:
    file = stack.enter_context(pa.OSFile(str(path), "wb"))
    return stack.enter_context(pa.ipc.new_stream(file, schema))


def _picked_up(path: Path) -> pa.RecordBatch:
    """The records of a draft in their order, without their places."""
    with pa.OSFile(str(path), "rb") as file:
        table = pa.ipc.open_stream(file).read_all()
    order = np.argsort(table.column(table.num_columns - 1).to_numpy(), kind="stable")
    columns = [take_records(column, order).combine_chunks() for column in table.columns[:-1]]
    arrays = [c.chunk(0) if isinstance(c, pa.ChunkedArray) else c for c in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(table.schema)[:-1]))


def _published_batches(
    published: Published, stretches: Stretches, check: SliceCheck
) -> Generator[pa.RecordBatch, None, None]:
    """The published records, each part compared with what was verified."""
    for rows, original in stretches:
        part = _published_batch(published, original, rows)
        check.compare_published(part, rows)
        check.compare_untouched(part, original)
        yield part


def _published_batch(
    published: Published, original: pa.RecordBatch, rows: np.ndarray | slice
) -> pa.RecordBatch:
    """The published records of a stretch, of which `rows` are the numbers."""
    arrays = []
    for name in published.names:
        if name not in published.columns:
            arrays.append(original.column(name))
        elif isinstance(rows, slice):
            arrays.append(published.columns[name].slice(rows.start, rows.stop - rows.start))
        else:
            arrays.append(take_records(published.columns[name], rows))
    fields = [published.field(name, column.type) for name, column in zip(published.names, arrays)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

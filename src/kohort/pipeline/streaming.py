"""Releases of tables that are read in batches: what is held of them, and the published table in slices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from kohort.algorithms import Progress
from kohort.data.batches import in_slices
from kohort.data.published_dataset import PublishedDataset
from kohort.data.streamed_dataset import StreamedDataset
from kohort.data.taking import take_records
from kohort.pipeline.dealing import Dealing
from kohort.pipeline.publish import Published
from kohort.pipeline.request import Request
from kohort.problem.roles import Role
from kohort.verification import SliceCheck

__all__ = ["columns_to_read", "published_slices", "why_not_streamed"]

HELD: tuple[Role, ...] = ("quasi-identifier", "sensitive", "person", "weight")
DEALT_AT_ONCE = 1 << 20  # records that are dealt out to drafts at a time


def columns_to_read(request: Request, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns to hold in memory, which are searched, protected or counted, and those handed on."""
    roles = request.roles.settled(names)
    held = [name for role in HELD for name in roles.having(role)]
    return held, [name for name in roles.untouched(request.treatments) if name not in held]


def why_not_streamed(request: Request) -> str | None:
    """Why a table cannot be read in batches for what is asked, in words; None if it can."""
    if named := request.roles.having("items"):
        return f"{named[0]!r} has the role items"
    if request.events is not None:
        return "there are two tables"
    if request.sample < 1:
        return "a sample is drawn"
    if set(request.publish.values()) - {"interval"}:
        return "means or medians are published"
    if request.ledger is not None:
        return "there is a ledger"
    for name, treatment in request.treatments.items():
        if treatment in ("pseudonym", "shift") or name in request.perturbations:
            return f"{name!r} has the treatment {treatment}"
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
    assert isinstance(published.shown, PublishedDataset)
    check = SliceCheck(published.shown)
    with closing(_originals(published, check, progress)) as originals:
        if published.in_order:
            batches = _published_in_order(published, originals, check)
        else:
            batches = _published_dealt(published, originals, check, folder)
        with closing(batches):  # whatever happens, files are closed and drafts removed before this returns
            first = next(batches)
            rows = rows_per_slice(len(first.schema.names))
            yield first.schema, in_slices(chain([first], batches), first.schema, rows), check


def _originals(
    published: Published, check: SliceCheck, progress: Progress | None
) -> Generator[pa.RecordBatch, None, None]:
    """The records of the original that are needed, read again and compared with the first reading."""
    dataset = published.dataset
    assert isinstance(dataset, StreamedDataset)
    names = [name for name in dataset.names if name in dataset.held or name in published.names]
    with closing(dataset.batches.read(names, last=True)) as batches:
        for batch in batches:
            check.compare_original(batch)
            yield batch
            if progress is not None:
                progress("writing", check.seen / dataset.n_records)
    check.finish()


def _published_in_order(
    published: Published, originals: Iterator[pa.RecordBatch], check: SliceCheck
) -> Generator[pa.RecordBatch, None, None]:
    start = 0
    for batch in originals:
        stop = start + len(batch)
        within = _rows_within(published.kept, start, stop)
        original = batch if within is None else _taken(batch, within - start)
        rows = slice(start, stop) if within is None else within
        part = _published_batch(published, original, rows)
        check.compare_published(part, rows)
        check.compare_untouched(part, original)
        yield part
        start = stop


def _published_dealt(
    published: Published, originals: Iterator[pa.RecordBatch], check: SliceCheck, folder: Path
) -> Generator[pa.RecordBatch, None, None]:
    """The published records in another order than the original's."""
    with closing(_dealt_originals(published, originals, folder)) as stretches:
        for rows, original in stretches:
            part = _published_batch(published, original, rows)
            check.compare_published(part, rows)
            check.compare_untouched(part, original)
            yield part


def _dealt_originals(
    published: Published, originals: Iterator[pa.RecordBatch], folder: Path
) -> Generator[tuple[np.ndarray, pa.RecordBatch], None, None]:
    """Stretches of the published order: the numbers of the records, and their columns that are handed on."""
    untouched = [name for name in published.names if published.columns.get(name) is None]
    dealing = Dealing(published.rows, published.dataset.n_records, folder)
    if not untouched:
        deque(originals, maxlen=0)  # they are compared while they are read
        yield from ((rows, pa.RecordBatch.from_arrays([], names=[])) for rows in dealing.stretches())
        return
    first = next(originals).select(untouched)
    rest = (batch.select(untouched) for batch in originals)
    with closing(dealing.dealt(in_slices(chain([first], rest), first.schema, DEALT_AT_ONCE))) as stretches:
        yield from stretches


def _rows_within(kept: np.ndarray | None, start: int, stop: int) -> np.ndarray | None:
    """The published records of a stretch; None: all of them."""
    if kept is None:
        return None
    first, last = np.searchsorted(kept, [start, stop])
    return kept[first:last]


def _taken(batch: pa.RecordBatch, places: np.ndarray) -> pa.RecordBatch:
    columns = [take_records(column, places) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _published_batch(
    published: Published, original: pa.RecordBatch, rows: np.ndarray | slice
) -> pa.RecordBatch:
    """The published records of a batch, of which `rows` are the numbers."""
    arrays, fields = [], []
    for name in published.names:
        replaced = published.columns.get(name)
        if replaced is None:
            column = original.column(name)
        elif isinstance(rows, slice):
            column = replaced.slice(rows.start, rows.stop - rows.start)
        else:
            column = take_records(replaced, rows)
        arrays.append(column)
        fields.append(published.field(name, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

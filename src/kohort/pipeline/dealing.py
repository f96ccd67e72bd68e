"""Records in another order than the file has them: dealt out to private drafts, and picked up one by one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.taking import take_records
from kohort.files.drafts import Drafts

__all__ = ["Dealing"]

ROWS = 1 << 20  # records of a draft, which is sorted in memory


@dataclass(eq=False)
class Dealing:
    """Puts records into their published order, with about a million of them in memory.

    The published order is cut into stretches. Each has a draft that gets its records as they come, and that
    is sorted when they are all there. Drafts are for their owner's eyes only, and outlive no run.

    order   per published record the number of its original
    folder  where the drafts are
    """

    order: np.ndarray
    n_originals: int
    folder: Path
    place_of: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.place_of = np.full(self.n_originals, -1, dtype=np.int64)
        self.place_of[self.order] = np.arange(len(self.order))

    def dealt(self, parts: Iterator[pa.Table]) -> Generator[tuple[np.ndarray, pa.RecordBatch], None, None]:
        """Stretches of the published order: the numbers of the originals, and these.

        parts  all originals, in the order of the file
        """
        stretches = self.stretches()
        with closing(Drafts(self.folder)) as drafts:
            paths = [drafts.create(".arrow") for _ in stretches]
            schema = self._deal_out(parts, paths)
            for rows, path in zip(stretches, paths):
                yield rows, _picked_up(path, schema)
                path.unlink()

    def stretches(self) -> list[np.ndarray]:
        """The numbers of the originals, in their published order, in stretches."""
        return [self.order[start : start + ROWS] for start in range(0, len(self.order), ROWS)]

    def _deal_out(self, parts: Iterator[pa.Table], paths: Sequence[Path]) -> pa.Schema:
        """Write every record to the draft of its stretch, with its place; returns the schema of a draft."""
        first = 0
        with ExitStack() as stack:
            writers: list[Any] = []
            for part in parts:
                table = _with_place(_plain(part), self.place_of[first : first + len(part)])
                first += len(part)
                if not writers:
                    schema = table.schema
                    writers = [_writer(stack, path, schema) for path in paths]
                for number, dealt in _by_stretch(table):
                    writers[number].write_table(dealt)
        return schema


def _writer(stack: ExitStack, path: Path, schema: pa.Schema) -> Any:
    file = stack.enter_context(pa.OSFile(str(path), "wb"))
    return stack.enter_context(pa.ipc.new_stream(file, schema))


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries, of which every part may have others."""
    kinds = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema]
    fields = [f.with_type(kind) for f, kind in zip(table.schema, kinds)]
    return table.cast(pa.schema(fields))


def _with_place(table: pa.Table, place: np.ndarray) -> pa.Table:
    """The records that are published, sorted by their places, which are the last column."""
    order = np.argsort(place, kind="stable")
    order = order[np.searchsorted(place[order], 0) :]
    columns = [take_records(column, order) for column in table.columns]
    fields = [*table.schema, pa.field("place", pa.int64())]
    return pa.Table.from_arrays([*columns, pa.array(place[order])], schema=pa.schema(fields))


def _by_stretch(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The parts of a sorted table that belong to each stretch."""
    stretch = table.column(table.num_columns - 1).to_numpy() // ROWS
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    for start, stop in zip(starts, np.append(starts[1:], len(stretch))):
        yield int(stretch[start]), table.slice(start, stop - start)


def _picked_up(path: Path, schema: pa.Schema) -> pa.RecordBatch:
    """The records of a draft in their order, without their places."""
    with pa.OSFile(str(path), "rb") as file:
        table = pa.ipc.open_stream(file).read_all()
    order = np.argsort(table.column(table.num_columns - 1).to_numpy(), kind="stable")
    columns = [take_records(column, order).combine_chunks() for column in table.columns[:-1]]
    arrays = [c.chunk(0) if isinstance(c, pa.ChunkedArray) else c for c in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(schema)[:-1]))

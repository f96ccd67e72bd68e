"""A table too large to be held in memory: some columns in small codes, the rest read when needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.codebook import codebook_of
from kohort.data.column import Column, refuse_uncodable
from kohort.data.compact_column import StoredValues, smallest_type
from kohort.data.dataset import Dataset
from kohort.data.formulas import count_formulas, holds_texts
from kohort.data.freed_memory import give_memory_back
from kohort.data.taking import take_records
from kohort.data.value_codes import long_decimals
from kohort.late import LateModule

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = LateModule("narwhals")

Seen = Callable[[int], None]


class StreamedDataset(Dataset):
    """The records of a file that is read in batches.

    The columns that are `held` are in memory, as distinct values and small codes. Any other column is read
    from the file whenever somebody asks for it, and not kept.

    shown     columns that are published as they are, of which texts like formulas are counted
    seen      called with the number of records that were read so far, while the held columns are read
    formulas  how many texts of each shown column begin like a formula
    """

    def __init__(
        self, batches: Batches, held: Sequence[str], shown: Sequence[str] = (), seen: Seen | None = None
    ) -> None:
        self.batches = batches
        self.names = tuple(batches.schema.names)
        self._columns: dict[str, Column] = {}
        texts = [name for name in shown if name not in held and holds_texts(self.field(name).type)]
        self.formulas = dict.fromkeys(texts, 0)
        self.n_records, self.held = self._read([name for name in self.names if name in held], texts, seen)

    @cached_property
    def frame(self) -> Any:
        """All records in memory."""
        return nw.from_native(self.batches.whole(), eager_only=True)

    def column(self, name: str) -> Column:
        """The column in codes; one that is not held is read, and held from then on."""
        if name not in self._columns:
            self.require([name])
            self._hold(name)
            self.held[name] = self.held[name].sorted()
            self._columns[name] = self.held[name].column(name, apart=self._missing_texts(name))
        return self._columns[name]

    def arrow(self, name: str) -> pa.ChunkedArray:
        """The column as Arrow: of a held one a dictionary with small indices; any other is read."""
        if name in self.held:
            return pa.chunked_array([self.held[name].arrow()])
        parts = [batch.column(0) for batch in self.batches.read([name], last=True)]
        return pa.chunked_array(parts, parts[0].type)

    def taken(self, name: str, rows: np.ndarray) -> pa.Array:
        return self.taken_columns([name], rows)[name]

    def taken_columns(self, names: Sequence[str], rows: np.ndarray) -> dict[str, Any]:
        """The given records of some columns; those that are not held are read together."""
        found: dict[str, Any] = {n: self.held[n].taken(rows) for n in names if n in self.held}
        others = [name for name in names if name not in self.held]
        if not others:
            return found
        order = np.argsort(rows, kind="stable")
        parts = [pa.Table.from_batches([part]) for part in self._picked(others, rows[order])]
        place = np.empty(len(rows), dtype=np.int64)
        place[order] = np.arange(len(rows))
        for name in others:
            values = pa.concat_arrays([_plain(part.column(name)) for part in parts])
            found[name] = take_records(values, place)
        return found

    def field(self, name: str) -> pa.Field:
        return self.batches.schema.field(name)

    def _missing_texts(self, name: str) -> Collection[str]:
        codebook = codebook_of(self.field(name))
        return frozenset() if codebook is None else codebook.missing_texts

    def _hold(self, name: str) -> None:
        if name not in self.held:
            self.held |= self._read([name])[1]

    def _read(
        self, names: Sequence[str], texts: Sequence[str] = (), seen: Seen | None = None
    ) -> tuple[int, dict[str, StoredValues]]:
        """The number of records, and the values of some columns; in the `texts`, formulas are counted."""
        growing = {name: GrowingValues(name, self.batches.schema.field(name).type) for name in names}
        n_records = 0
        for batch in self.batches.read([*names, *texts]):
            for name, values in growing.items():
                values.add(batch.column(name))
            for name in texts:
                self.formulas[name] += count_formulas(batch.column(name))
            n_records += len(batch)
            if seen is not None:
                seen(n_records)
        held = {name: values.values() for name, values in growing.items()}
        give_memory_back()
        return n_records, held

    def _picked(self, names: Sequence[str], rows: np.ndarray) -> Iterator[pa.RecordBatch]:
        """These records of columns that are read; `rows` rise. Reading ends with the last of them."""
        start = picked = 0
        with closing(self.batches.read(names)) as batches:
            for batch in batches:
                stop = start + len(batch)
                upto = int(np.searchsorted(rows, stop))
                if upto > picked or not picked:
                    places = rows[picked:upto] - start
                    columns = [take_records(column, places) for column in batch.columns]
                    yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)
                start, picked = stop, upto
                if picked == len(rows):
                    return


def _plain(values: pa.ChunkedArray) -> pa.Array:
    """The values in one chunk, without a dictionary: each batch may have another."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return pa.concat_arrays(values.chunks)


_PENDING = 1 << 20  # entries of dictionaries that wait to be joined


class GrowingValues:
    """The values of a column so far; memory is that of the distinct values and of small codes."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        refuse_uncodable(name, kind)
        self.ordered = bool(pa.types.is_dictionary(kind) and kind.ordered)
        self._known: pa.Array | None = None
        self._parts: list[np.ndarray] = []  # codes of `_known`, plus 1; 0 where a value is missing
        self._pending: list[pa.Array] = []  # the dictionaries of the last parts
        self._waiting = 0

    def add(self, values: pa.Array) -> None:
        """Take in the next records."""
        if pa.types.is_null(values.type):
            values = values.cast(pa.string())
        encoded = values if pa.types.is_dictionary(values.type) else long_decimals(values).dictionary_encode()
        self._pending.append(encoded.dictionary)
        self._waiting += len(encoded.dictionary)
        self._parts.append(_small(encoded))
        if self._waiting > _PENDING:
            self._join()

    def values(self) -> StoredValues:
        """All values that were taken in. The parts are given up: nothing can be added afterwards."""
        self._join()
        dictionary = pa.array([], pa.string()) if self._known is None else self._known
        codes = np.empty(sum(map(len, self._parts)), dtype=smallest_type(len(dictionary) + 1))
        place = 0
        self._parts.reverse()
        while self._parts:
            part = self._parts.pop()
            own = codes[place : place + len(part)]
            np.subtract(part, 1, out=own, casting="unsafe")
            own[part == 0] = len(dictionary)
            place += len(part)
        return StoredValues(codes, dictionary, self.ordered)

    def _join(self) -> None:
        """Join the dictionaries of the pending parts to the known values, and number the parts by these."""
        if not self._pending:
            return
        known = [] if self._known is None else [self._known]
        dictionaries = [*known, *self._pending]
        joined = pa.concat_arrays([d.cast(dictionaries[0].type) for d in dictionaries]).dictionary_encode()
        number = pc.fill_null(pc.add(joined.indices.cast(pa.int64()), 1), 0).to_numpy(zero_copy_only=False)
        place = len(known[0]) if known else 0
        kind = smallest_type(len(joined.dictionary) + 1)
        first = len(self._parts) - len(self._pending)
        for which, dictionary in enumerate(self._pending, start=first):
            own = number[place : place + len(dictionary)]
            self._parts[which] = np.concatenate([[0], own]).astype(kind)[self._parts[which]]
            place += len(dictionary)
        self._known, self._pending, self._waiting = joined.dictionary, [], 0


def _small(encoded: pa.DictionaryArray) -> np.ndarray:
    """The codes of a dictionary, plus 1, in few bytes; 0 where the value is missing."""
    kind = smallest_type(len(encoded.dictionary) + 1)
    indices = encoded.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), -1)
    return (indices.to_numpy(zero_copy_only=False).astype(np.int32) + 1).astype(kind)


class Batches(Protocol):
    """The records of a table in batches, in the same order at every reading.

    A reading raises InputError if the table is not the one that was read before.
    """

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types, as if the table were read whole."""
        ...

    def read(self, names: Sequence[str], *, last: bool = False) -> Generator[pa.RecordBatch, None, None]:
        """These columns of all records; texts may be dictionaries, each batch with its own.

        last  whether this is the last reading, after which every byte is compared with the first one
        """
        ...

    def whole(self) -> pa.Table:
        """All records in memory."""
        ...


def in_slices(batches: Iterator[pa.RecordBatch], schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
    """The same records in slices of `rows` records, the last one shorter; without any, one empty slice."""
    waiting: list[pa.RecordBatch] = []
    held, sliced = 0, False
    for batch in batches:
        while held + len(batch) >= rows:
            needed = rows - held
            yield pa.Table.from_batches([*waiting, batch.slice(0, needed)])
            batch, waiting, held, sliced = batch.slice(needed), [], 0, True
        if len(batch):
            waiting.append(batch)
            held += len(batch)
    if waiting:
        yield pa.Table.from_batches(waiting)
    elif not sliced:
        yield schema.empty_table()

"""Tables in batches: too large to be held in memory, or to be looked at once only.

Of the original some columns are held in small codes, and the rest is read when needed; the published table
has labels in small codes, and hands the rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import is_text, take_records, value_codes
from kohort.data.column import Column
from kohort.data.compact_column import GrowingValues, StoredValues
from kohort.data.formulas import count_formulas
from kohort.data.process import give_memory_back
from kohort.tables.table import Table

Seen = Callable[[int], None]


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


class BatchTable(Table):
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
        texts = [name for name in shown if name not in held and is_text(self.field(name).type)]
        self.formulas = dict.fromkeys(texts, 0)
        self.n_records, self.held = self._read([name for name in self.names if name in held], texts, seen)

    def whole(self) -> pa.Table:
        return self.batches.whole()

    def _coded(self, name: str) -> Column:
        if name not in self.held:
            self.held |= self._read([name])[1]
        self.held[name] = self.held[name].sorted()
        return self.held[name].column(name, apart=self._missing_texts(name))

    def arrow(self, name: str) -> pa.ChunkedArray:
        if name in self.held:
            return pa.chunked_array([self.held[name].arrow()])
        parts = [batch.column(0) for batch in self.batches.read([name], last=True)]
        return pa.chunked_array(parts, parts[0].type)

    def taken(self, name: str, rows: np.ndarray) -> pa.Array:
        return self.taken_columns([name], rows)[name]

    def taken_columns(self, names: Sequence[str], rows: np.ndarray) -> dict[str, Any]:
        """The given records of some columns; those that are not held are read together."""
        found: dict[str, Any] = {n: self.held[n].arrow(rows) for n in names if n in self.held}
        others = [name for name in names if name not in self.held]
        if not others:
            return found
        order = np.argsort(rows, kind="stable")
        parts = [pa.Table.from_batches([part]) for part in self._picked(others, rows[order])]
        place = np.empty(len(rows), dtype=np.int64)
        place[order] = np.arange(len(rows))
        for name in others:
            columns = [part.column(name) for part in parts]
            if pa.types.is_dictionary(columns[0].type):  # each batch may have another dictionary
                columns = [column.cast(column.type.value_type) for column in columns]
            values = pa.concat_arrays([chunk for column in columns for chunk in column.chunks])
            found[name] = take_records(values, place)
        return found

    def field(self, name: str) -> pa.Field:
        return self.batches.schema.field(name)

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


class PublishedTable(Table):
    """A published table whose original is in batches: what replaces its columns, and those that are held.

    Any other column is handed on as it is, batch by batch; whoever asks for it has it read.

    replaced  per column that is changed its new values
    rows      the records that are published, in this order; None: all of them, as they came
    """

    def __init__(
        self,
        original: BatchTable,
        names: Sequence[str],
        replaced: Mapping[str, pa.Array],
        rows: np.ndarray | None,
    ) -> None:
        self.original = original
        self.names = tuple(names)
        self.replaced = replaced
        self.rows = rows
        self.n_records = original.n_records if rows is None else len(rows)
        self._stored: dict[str, StoredValues] = {}  # whose codes the columns share

    def _coded(self, name: str) -> Column:
        return self.stored(name).column(name, apart=self._missing_texts(name))

    def stored(self, name: str) -> StoredValues:
        """The published values of a column that is replaced, or held of the original."""
        if name not in self._stored:
            if name in self.replaced:
                values = StoredValues.of(self.replaced[name])
            else:
                self.original.column(name)  # held from now on
                values = self.original.held[name]
            self._stored[name] = values.at(self.rows)
        return self._stored[name]

    def arrow(self, name: str) -> pa.ChunkedArray:
        if name in self.replaced or name in self.original.held:
            return pa.chunked_array([self.stored(name).arrow()])
        values = self.original.arrow(name)
        return values if self.rows is None else take_records(values, self.rows)

    def taken(self, name: str, rows: np.ndarray) -> pa.ChunkedArray | pa.Array:
        if name in self.replaced:
            return self.stored(name).arrow(rows)
        return self.original.taken(name, rows if self.rows is None else self.rows[rows])

    def field(self, name: str) -> pa.Field:
        return self.original.field(name)

    def _missing_texts(self, name: str) -> Collection[str]:
        return frozenset() if name in self.replaced else self.original._missing_texts(name)

    def value_codes(self, name: str) -> np.ndarray:
        if name not in self.replaced and name not in self.original.held:
            return super().value_codes(name)
        stored = self.stored(name)
        used = stored.counts[:-1] > 0
        code_of = np.zeros(len(stored.counts), dtype=np.int64)
        code_of[:-1][used] = value_codes(stored.dictionary.filter(pa.array(used)))
        code_of[-1] = used.sum()
        return code_of[stored.codes]

    def formulas_in(self, name: str) -> int:
        if self.rows is None and name in self.original.formulas:
            return self.original.formulas[name]
        kind = self.replaced[name].type if name in self.replaced else self.field(name).type
        return super().formulas_in(name) if is_text(kind) else 0

    def hands_on(self, name: str, other: Table) -> bool:
        return other is self.original and name not in self.original.held and name not in self.replaced


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

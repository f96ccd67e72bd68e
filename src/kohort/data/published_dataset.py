"""A published table whose original is read in batches: its labels in small codes, the rest handed on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.compact_column import StoredValues
from kohort.data.dataset import Dataset
from kohort.data.formulas import holds_texts
from kohort.data.streamed_dataset import StreamedDataset
from kohort.data.taking import take_records
from kohort.data.value_codes import value_codes


class PublishedDataset(Dataset):
    """The columns that are published in the place of others, and those that are held of the original.

    Any other column is handed on as it is, batch by batch; whoever asks for it has it read.

    replaced  per column that is changed its new values; None: it is not published
    rows      the records that are published, in this order; None: all of them, as they came
    """

    def __init__(
        self,
        original: StreamedDataset,
        names: Sequence[str],
        replaced: Mapping[str, pa.Array | None],
        rows: np.ndarray | None,
    ) -> None:
        self.original = original
        self.names = tuple(names)
        self.replaced = replaced
        self.rows = rows
        self.n_records = original.n_records if rows is None else len(rows)
        self._columns: dict[str, Column] = {}
        self._stored: dict[str, StoredValues] = {}  # whose codes the columns share

    def column(self, name: str) -> Column:
        if name not in self._columns:
            self.require([name])
            self._columns[name] = self.stored(name).column(name, apart=self._missing_texts(name))
        return self._columns[name]

    def stored(self, name: str) -> StoredValues:
        """The published values of a column that is replaced, or held of the original."""
        if name not in self._stored:
            replaced = self.replaced.get(name)
            if replaced is None:
                self.original.column(name)  # held from now on
            values = self.original.held[name] if replaced is None else StoredValues.of(replaced)
            self._stored[name] = values.at(self.rows)
        return self._stored[name]

    def arrow(self, name: str) -> pa.ChunkedArray:
        if self.replaced.get(name) is not None or name in self.original.held:
            return pa.chunked_array([self.stored(name).arrow()])
        values = self.original.arrow(name)
        return values if self.rows is None else take_records(values, self.rows)

    def taken(self, name: str, rows: np.ndarray) -> pa.ChunkedArray | pa.Array:
        if self.replaced.get(name) is not None:
            return self.stored(name).taken(rows)
        return self.original.taken(name, rows if self.rows is None else self.rows[rows])

    def field(self, name: str) -> pa.Field:
        return self.original.field(name)

    def _missing_texts(self, name: str) -> Collection[str]:
        return frozenset() if name in self.replaced else self.original._missing_texts(name)

    def value_codes(self, name: str) -> np.ndarray:
        if self.replaced.get(name) is None and name not in self.original.held:
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
        return super().formulas_in(name) if holds_texts(self._type(name)) else 0

    def _type(self, name: str) -> pa.DataType:
        replaced = self.replaced.get(name)
        return self.field(name).type if replaced is None else replaced.type

    def hands_on(self, name: str, other: Dataset) -> bool:
        return other is self.original and name not in self.original.held and name not in self.replaced

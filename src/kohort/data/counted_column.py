"""Columns of a table that is elsewhere: their distinct values with counts, and the codes of parts of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column, code_column
from kohort.data.dataset import Dataset
from kohort.data.value_codes import long_decimals
from kohort.errors import InputError


@dataclass(frozen=True, eq=False)
class PartColumn(Column):
    """A column of some records of a table; `counts` are those of the whole table.

    Costs and models that compare with the whole table are then the same for every part of it.
    """

    is_part: ClassVar[bool] = True
    whole: np.ndarray | None = None

    @cached_property
    def counts(self) -> np.ndarray:
        assert self.whole is not None
        return self.whole


@dataclass(frozen=True, eq=False)
class CountedColumn(Column):
    """A column of which only the distinct values are at hand, each counted as often as it occurs.

    codes   the code of each distinct value, however it is written; the missing one among them
    values  these values such that equal ones are found equal: see `comparable`
    times   how many records have each
    given   these values as they came
    """

    values: Any = None
    times: np.ndarray | None = None
    given: Any = None

    def __len__(self) -> int:
        assert self.times is not None
        return int(self.times.sum())

    @cached_property
    def counts(self) -> np.ndarray:
        assert self.times is not None
        found = np.zeros(len(self.texts), dtype=np.int64)
        np.add.at(found, self.codes, self.times)
        return found

    def part(self, values: pa.Array | pa.ChunkedArray) -> PartColumn:
        """The column of some records, given their values as they came."""
        return self._part(self.codes_of(values))

    def part_at(self, places: np.ndarray) -> PartColumn:
        """The column of some records, given the place of each value among those that were counted."""
        return self._part(self.codes[places].astype(np.int32, copy=False))

    def _part(self, codes: np.ndarray) -> PartColumn:
        shared = self.texts, self.numbers, self.listed, self.apart
        return PartColumn(self.name, self.kind, codes, *shared, self.counts)

    def codes_of(self, values: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """The codes of values; one that was not counted is refused: the table is another than before."""
        return self.codes[self.places_of(values)].astype(np.int32, copy=False)

    def places_of(self, values: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """The place of each value among those that were counted; one that was not is refused."""
        place = pc.index_in(comparable(values).cast(self.values.type), value_set=self.values)
        if place.null_count:
            raise InputError(
                f"The table changed while it was read: column {self.name!r} has values that were not there "
                "before. Nothing was written. Run this again on a source that gives the same records at "
                "every reading."
            )
        if isinstance(place, pa.ChunkedArray):
            place = place.combine_chunks()
        return place.to_numpy(zero_copy_only=False)


def counted_column(name: str, values: pa.Array, times: np.ndarray) -> CountedColumn:
    """A column, given its distinct values (a missing one may be among them) and how often each occurs."""
    known = comparable(values)
    coded = code_column(name, known)
    found = coded.kind, coded.codes, coded.texts, coded.numbers, coded.listed, coded.apart
    return CountedColumn(name, *found, known, times, values)


def comparable(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values such that equal ones are found equal: one zero, and texts for long decimals."""
    if pa.types.is_null(values.type):
        return values.cast(pa.string())
    values = long_decimals(values)
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


class CountedDataset(Dataset):
    """A table that is elsewhere, of which the values of some columns were counted."""

    def __init__(self, schema: pa.Schema, n_records: int, columns: Mapping[str, CountedColumn]) -> None:
        self.schema = schema
        self.names = tuple(schema.names)
        self.n_records = n_records
        self._columns = dict(columns)

    def field(self, name: str) -> pa.Field:
        return self.schema.field(name)


class PartOfTable(Dataset):
    """Some records of a table; columns that are `known` are coded as in the whole table."""

    def __init__(self, table: pa.Table, known: Sequence[CountedColumn] = ()) -> None:
        super().__init__(table)
        self._columns.update({column.name: column.part(table.column(column.name)) for column in known})

"""Columns of large tables: in small codes, while they grow, and of tables that are elsewhere."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import long_decimals
from kohort.data.column import Column, code_column, refuse_uncodable
from kohort.data.counting import count_codes, stretches_of
from kohort.errors import InputError


@dataclass(frozen=True, eq=False)
class StoredValues:
    """The values of a column as they came: distinct ones in a dictionary, and small codes of it.

    codes       per record the place of its value in the dictionary; its length stands for a missing value
    dictionary  the distinct values in the order in which they were found; some may have no record
    ordered     whether that order means something
    """

    codes: np.ndarray
    dictionary: pa.Array
    ordered: bool = False

    @classmethod
    def of(cls, values: pa.DictionaryArray) -> StoredValues:
        """The values of a dictionary array; its indices are shared with it where none is missing."""
        n_values = len(values.dictionary)
        indices = values.indices
        if indices.null_count:
            wide = np.asarray(pc.fill_null(indices.cast(pa.int32()), n_values))
            return cls(wide.astype(smallest_type(n_values + 1)), values.dictionary, values.type.ordered)
        return cls(indices.to_numpy(), values.dictionary, values.type.ordered)

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, rows: np.ndarray | None) -> StoredValues:
        """The values of these records, in this order; None: of all of them."""
        return self if rows is None else StoredValues(self.codes[rows], self.dictionary, self.ordered)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many records have each value of the dictionary, and how many have none."""
        return count_codes(self.codes, len(self.dictionary) + 1)

    def arrow(self, rows: np.ndarray | slice = slice(None)) -> pa.DictionaryArray:
        """All records, or these in this order, as Arrow: a dictionary with small indices."""
        return self._as_arrow(self.codes[rows])

    def _as_arrow(self, codes: np.ndarray) -> pa.DictionaryArray:
        missing = codes == len(self.dictionary) if self.counts[-1] else None
        indices = pa.array(codes, mask=missing)
        return pa.DictionaryArray.from_arrays(indices, self.dictionary, ordered=self.ordered)

    def sorted(self) -> StoredValues:
        """The same values with a dictionary in natural order, as far as that is the order of their codes.

        The codes are changed where they are: these values are given up.
        """
        coded = code_column("", self._as_arrow(np.arange(len(self.dictionary))))
        if self.ordered or len(coded.texts) != len(self.dictionary) or coded.has_null:
            return self  # some values are written in several ways
        code_of = np.append(coded.codes, len(self.dictionary)).astype(self.codes.dtype)
        for rows in stretches_of(len(self.codes)):
            self.codes[rows] = code_of[self.codes[rows]]
        return StoredValues(self.codes, self.dictionary.take(pa.array(np.argsort(coded.codes))))

    def column(self, name: str, *, apart: Collection[str] = frozenset()) -> Column:
        """The column in codes: the same as `code_column` gives for the values, with small codes."""
        used = np.flatnonzero(self.counts)
        coded = code_column(name, self._as_arrow(used), apart=apart)
        code_of = np.zeros(len(self.counts), dtype=np.int32)
        code_of[used] = coded.codes
        return self.coded(coded, code_of)

    def coded(self, column: Column, code_of: np.ndarray) -> CompactColumn:
        """All records in the codes of a column, given the code of each value of the dictionary."""
        used = np.flatnonzero(self.counts)
        return column.like(CompactColumn, (self.codes, None if (code_of[used] == used).all() else code_of))


class _Codes:
    """The attribute `codes` of a compact column: given once, stored small, widened at every access.

    Stored are codes and what they are looked up in; None: they are the codes themselves.
    """

    def __get__(self, column: Any, owner: type | None = None) -> Any:
        return self if column is None else widened(*column.__dict__["_coded"])

    def __set__(self, column: Any, codes: Any) -> None:
        column.__dict__["_coded"] = codes if isinstance(codes, tuple) else (compacted(codes), None)


class CompactColumn(Column):
    """A column whose codes take one or two bytes a record, as far as its values are few.

    `codes` are 32-bit numbers as everywhere, made anew at every access: keep them while they are needed.
    """

    codes = _Codes()

    def __len__(self) -> int:
        return len(self.__dict__["_coded"][0])

    def at(self, rows: np.ndarray | slice) -> np.ndarray:
        stored, code_of = self.__dict__["_coded"]
        return widened(stored[rows], code_of)

    def code_of_stored(self, stored: np.ndarray) -> np.ndarray | None:
        """What the codes are looked up in, if it is by the very numbers of `stored`; else None."""
        own, code_of = self.__dict__["_coded"]
        ours, theirs = (each.__array_interface__ for each in (own, stored))
        if any(ours[what] != theirs[what] for what in ("data", "shape", "typestr", "strides")):
            return None
        return np.arange(int(stored.max(initial=0)) + 1) if code_of is None else code_of

    @cached_property
    def counts(self) -> np.ndarray:
        stored, code_of = self.__dict__["_coded"]
        if code_of is None:
            return count_codes(stored, len(self.texts))
        found = np.zeros(len(self.texts), dtype=np.int64)
        np.add.at(found, code_of, count_codes(stored, len(code_of)))
        return found


def compacted(codes: np.ndarray) -> np.ndarray:
    """Codes from 0 on in as few bytes as they need."""
    return codes.astype(smallest_type(int(codes.max(initial=0)) + 1), copy=False)


def smallest_type(n_codes: int) -> Any:
    """The smallest type of integers for codes below `n_codes`."""
    return np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.int32


def widened(stored: np.ndarray, code_of: np.ndarray | None = None) -> np.ndarray:
    """Small codes as 32-bit ones, looked up in `code_of` if it is given; a stretch at a time."""
    if code_of is None:
        return stored.astype(np.int32, copy=False)
    codes = np.empty(len(stored), dtype=np.int32)
    for rows in stretches_of(len(stored)):
        np.take(code_of, stored[rows], out=codes[rows])
    return codes


_PENDING = 1 << 20  # entries of dictionaries that wait to be joined


class GrowingValues:
    """The values of a column so far; memory is that of the distinct values and of small codes."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        refuse_uncodable(name, kind)
        self.ordered = bool(pa.types.is_dictionary(kind) and kind.ordered)
        self._known: list[pa.Array] = []  # one dictionary, once there is any
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
        dictionary = self._known[0] if self._known else pa.array([], pa.string())
        codes = np.empty(sum(map(len, self._parts)), dtype=smallest_type(len(dictionary) + 1))
        place = 0
        while self._parts:  # each is given up once it is in
            part = self._parts.pop(0)
            own = codes[place : place + len(part)]
            np.subtract(part, 1, out=own, casting="unsafe")
            own[part == 0] = len(dictionary)
            place += len(part)
        return StoredValues(codes, dictionary, self.ordered)

    def _join(self) -> None:
        """Join the dictionaries of the pending parts to the known values, and number the parts by these."""
        if not self._pending:
            return
        dictionaries = [*self._known, *self._pending]
        joined = pa.concat_arrays([d.cast(dictionaries[0].type) for d in dictionaries]).dictionary_encode()
        number = pc.fill_null(pc.add(joined.indices.cast(pa.int64()), 1), 0).to_numpy(zero_copy_only=False)
        place = sum(map(len, self._known))
        kind = smallest_type(len(joined.dictionary) + 1)
        first = len(self._parts) - len(self._pending)
        for which, dictionary in enumerate(self._pending, start=first):
            own = number[place : place + len(dictionary)]
            self._parts[which] = np.concatenate([[0], own]).astype(kind)[self._parts[which]]
            place += len(dictionary)
        self._known, self._pending, self._waiting = [joined.dictionary], [], 0


def _small(encoded: pa.DictionaryArray) -> np.ndarray:
    """The codes of a dictionary, plus 1, in few bytes; 0 where the value is missing."""
    kind = smallest_type(len(encoded.dictionary) + 1)
    indices = encoded.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), -1)
    return (indices.to_numpy(zero_copy_only=False).astype(np.int32) + 1).astype(kind)


@dataclass(frozen=True, eq=False, kw_only=True)
class PartColumn(Column):
    """A column of some records of a table; `counts` are those of the whole table.

    Costs and models that compare with the whole table are then the same for every part of it.
    """

    is_part: ClassVar[bool] = True
    counts: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedColumn(Column):
    """A column of which only the distinct values are at hand, each counted as often as it occurs.

    codes   the code of each distinct value, however it is written; the missing one among them
    values  these values such that equal ones are found equal: see `comparable`
    times   how many records have each
    given   these values as they came
    """

    values: Any
    times: np.ndarray
    given: Any

    def __len__(self) -> int:
        return int(self.times.sum())

    @cached_property
    def counts(self) -> np.ndarray:
        found = np.zeros(len(self.texts), dtype=np.int64)
        np.add.at(found, self.codes, self.times)
        return found

    def part(self, values: pa.Array | pa.ChunkedArray) -> PartColumn:
        """The column of some records, given their values as they came."""
        return self.like(PartColumn, self.codes_of(values), counts=self.counts)

    def part_at(self, places: np.ndarray) -> PartColumn:
        """The column of some records, given the place of each value among those that were counted."""
        return self.like(PartColumn, self.codes[places].astype(np.int32, copy=False), counts=self.counts)

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
    return coded.like(CountedColumn, coded.codes, values=known, times=times, given=values)


def comparable(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values such that equal ones are found equal: one zero, and texts for long decimals."""
    if pa.types.is_null(values.type):
        return values.cast(pa.string())
    values = long_decimals(values)
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values

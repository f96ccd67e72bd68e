"""Columns of large tables: one, two or four bytes for a code, widened when somebody asks for them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column, code_column
from kohort.data.counting import count_codes, stretches_of


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

    def arrow(self, start: int = 0, stop: int | None = None) -> pa.DictionaryArray:
        """Some of the records as Arrow: a dictionary with small indices."""
        return self._as_arrow(self.codes[start:stop])

    def taken(self, rows: np.ndarray) -> pa.DictionaryArray:
        """These records, in this order, as Arrow."""
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
        one_of_each = self._as_arrow(used)
        coded = code_column(name, one_of_each, apart=apart)
        code_of = np.zeros(len(self.counts), dtype=np.int32)
        code_of[used] = coded.codes
        same = bool((code_of[used] == used).all())
        return CompactColumn(
            name=name,
            kind=coded.kind,
            codes=_Coded(self.codes, None if same else code_of),  # type: ignore[arg-type]
            texts=coded.texts,
            numbers=coded.numbers,
            listed=coded.listed,
            apart=coded.apart,
        )


@dataclass(frozen=True, eq=False)
class _Coded:
    """Codes as they are stored: `code_of[stored]`, or `stored` itself."""

    stored: np.ndarray
    code_of: np.ndarray | None = None

    def at(self, rows: np.ndarray | slice) -> np.ndarray:
        stored = self.stored[rows]
        return stored.astype(np.int32) if self.code_of is None else self.code_of[stored]


class _Codes:
    """The attribute `codes` of a compact column: given once, stored small, widened at every access."""

    def __get__(self, column: Any, owner: type | None = None) -> Any:
        if column is None:
            return self
        coded = column.__dict__["_coded"]
        return widened(coded.stored, coded.code_of)

    def __set__(self, column: Any, codes: Any) -> None:
        coded = codes if isinstance(codes, _Coded) else _Coded(compacted(codes))
        column.__dict__["_coded"] = coded


class CompactColumn(Column):
    """A column whose codes take one or two bytes a record, as far as its values are few.

    `codes` are 32-bit numbers as everywhere, made anew at every access: keep them while they are needed.
    """

    codes = _Codes()

    def __len__(self) -> int:
        return len(self.__dict__["_coded"].stored)

    def at(self, rows: np.ndarray | slice) -> np.ndarray:
        return self.__dict__["_coded"].at(rows)

    @cached_property
    def counts(self) -> np.ndarray:
        coded = self.__dict__["_coded"]
        if coded.code_of is None:
            return count_codes(coded.stored, len(self.texts))
        found = np.zeros(len(self.texts), dtype=np.int64)
        np.add.at(found, coded.code_of, count_codes(coded.stored, len(coded.code_of)))
        return found


def compacted(codes: np.ndarray) -> np.ndarray:
    """Codes from 0 on in as few bytes as they need."""
    return codes.astype(smallest_type(int(codes.max(initial=0)) + 1), copy=False)


def smallest_type(n_codes: int) -> Any:
    """The smallest type of integers for codes below `n_codes`."""
    return next(
        t for t, most in ((np.uint8, 1 << 8), (np.uint16, 1 << 16), (np.int32, 1 << 31)) if n_codes <= most
    )


def widened(stored: np.ndarray, code_of: np.ndarray | None = None) -> np.ndarray:
    """Small codes as 32-bit ones, looked up in `code_of` if it is given; a stretch at a time."""
    if code_of is None:
        return stored.astype(np.int32, copy=False)
    codes = np.empty(len(stored), dtype=np.int32)
    for rows in stretches_of(len(stored)):
        np.take(code_of, stored[rows], out=codes[rows])
    return codes

"""How often each sensitive value occurs in each class: the input of every privacy model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.errors import InternalError

DENSE_CELLS_PER_RECORD = 4
"""Up to here a table of all classes x values is counted faster than the records are sorted."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How often each sensitive value occurs in each class, nonzero cells only, sorted by class.

    >>> counts = ClassCounts.from_records([0, 0, 1, 1, 1], [2, 2, 0, 2, 0], n_classes=2, n_values=3)
    >>> counts.largest
    array([2, 2])
    """

    sizes: np.ndarray  # int64 [classes], records per class, all > 0
    class_of: np.ndarray  # [cells], ascending; integers of any width, as those of the next two
    value_of: np.ndarray  # [cells], ascending inside a class
    count: np.ndarray  # [cells], > 0
    n_values: int

    @classmethod
    def from_records(
        cls, class_of_record: np.ndarray, value_of_record: np.ndarray, n_classes: int, n_values: int
    ) -> ClassCounts:
        """Count the records of each class by value; every class has at least one."""
        keys = _keys(class_of_record, value_of_record, n_classes, n_values)
        if n_classes * n_values <= DENSE_CELLS_PER_RECORD * len(keys):
            table = np.bincount(keys, minlength=n_classes * n_values)
            found = np.flatnonzero(table)
            return cls._from_sorted(found, table[found], n_classes, n_values)
        found, count = np.unique(keys, return_counts=True)
        return cls._from_sorted(found, count, n_classes, n_values)

    @classmethod
    def from_cells(
        cls, class_of: np.ndarray, value_of: np.ndarray, count: np.ndarray, n_classes: int, n_values: int
    ) -> ClassCounts:
        """Sum counts given in any order, also several or zero for the same class and value."""
        keys, count = _keys(class_of, value_of, n_classes, n_values), np.asarray(count)
        count = count if count.dtype == object else count.astype(np.int64, copy=False)
        if len(count) and count.min() <= 0:
            keys, count = keys[count != 0], _without_zeros(count)
        if not (keys[1:] > keys[:-1]).all():
            order = np.argsort(keys)
            keys, count = keys[order], count[order]
            first = np.flatnonzero(np.diff(keys, prepend=-1))
            keys, count = keys[first], np.add.reduceat(count, first)
        return cls._from_sorted(keys, count, n_classes, n_values)

    @classmethod
    def of_sizes(cls, sizes: np.ndarray) -> ClassCounts:
        """Classes of which only the number of records is known: enough for k-anonymity."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(np.asarray(sizes, dtype=np.int64), nothing, nothing, nothing, 0)

    @classmethod
    def _from_sorted(cls, keys: np.ndarray, count: np.ndarray, n_classes: int, n_values: int) -> ClassCounts:
        class_of = keys // max(n_values, 1)
        distinct = np.bincount(class_of, minlength=n_classes)
        if not distinct.all():
            raise InternalError("ClassCounts: a class has no records. Number only classes that occur.")
        sizes = np.add.reduceat(count, _starts(distinct))
        return cls(sizes, class_of, keys - class_of * n_values, count, n_values)

    @property
    def n_classes(self) -> int:
        return len(self.sizes)

    @cached_property
    def distinct(self) -> np.ndarray:
        """The number of different values in each class."""
        if self.class_of.dtype == np.int64:
            return np.bincount(self.class_of, minlength=self.n_classes)
        ends = np.searchsorted(
            self.class_of, np.arange(self.n_classes, dtype=self.class_of.dtype), side="right"
        )
        return np.diff(ends, prepend=0)  # without a wider copy of all cells

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each class, as np.ufunc.reduceat takes it."""
        return _starts(self.distinct)

    @cached_property
    def largest(self) -> np.ndarray:
        """The records of the most frequent value in each class."""
        return np.maximum.reduceat(self.count, self.starts)

    def overall(self) -> np.ndarray:
        """The records of each value in all classes together."""
        totals = np.bincount(self.value_of, weights=self.count, minlength=self.n_values)
        return totals.astype(np.int64)  # floats hold whole numbers exactly up to 2**53

    def recoded(self, new_value: np.ndarray, n_values: int) -> ClassCounts:
        """The counts after replacing every value by new_value[value]; equal ones are counted together."""
        return ClassCounts.from_cells(
            self.class_of, new_value[self.value_of], self.count, self.n_classes, n_values
        )

    def pieces(self, cells: int) -> Iterator[ClassCounts]:
        """Runs of classes of at most this many cells (or a single class), so that work fits in memory."""
        ends = self.starts + self.distinct
        first = 0
        while first < self.n_classes:
            fitting = int(np.searchsorted(ends, self.starts[first] + cells, side="right"))
            last = max(fitting, first + 1)
            yield self._run(first, last, slice(self.starts[first], ends[last - 1]))
            first = last

    def _run(self, first: int, last: int, cells: slice) -> ClassCounts:
        return ClassCounts(
            self.sizes[first:last],
            self.class_of[cells] - first,
            self.value_of[cells],
            self.count[cells],
            self.n_values,
        )


def _keys(class_of: np.ndarray, value_of: np.ndarray, n_classes: int, n_values: int) -> np.ndarray:
    """One number per (class, value) that sorts by class, then by value."""
    class_of, value_of = np.asarray(class_of, dtype=np.int64), np.asarray(value_of, dtype=np.int64)
    for codes, n in ((class_of, n_classes), (value_of, n_values)):
        if len(codes) and not 0 <= codes.min() <= codes.max() < n:
            raise InternalError("ClassCounts: a class or value code lies outside its range.")
    return class_of * n_values + value_of


def _without_zeros(count: np.ndarray) -> np.ndarray:
    if count.min() < 0:
        raise InternalError("ClassCounts: a count is negative.")
    return count[count != 0]


def _starts(distinct: np.ndarray) -> np.ndarray:
    return np.cumsum(distinct) - distinct

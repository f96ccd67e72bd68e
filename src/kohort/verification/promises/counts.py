"""How often each value occurs in each class, as verification counts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import numpy as np

from kohort.data.column import number_of, unsigned_zero
from kohort.data.hierarchy import Hierarchy

_CELLS_AT_ONCE = 1_000_000  # bounds the memory for work on cells


@dataclass(frozen=True, eq=False)
class Counts:
    """The sizes of classes, and the cells of classes and values that occur, in the order of the classes.

    sizes     per class: records; people where they are counted
    class_of, value_of, count  per cell; without values there are none. Of people who have several values in
              a class, the counts of its cells add up to more than its size
    """

    sizes: np.ndarray
    class_of: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    value_of: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    count: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_values: int = 0

    @classmethod
    def of_records(cls, class_of: np.ndarray, value_of: np.ndarray, n_classes: int, n_values: int) -> Counts:
        """Count records, given the class and the value of each."""
        keys, count = np.unique(class_of * max(n_values, 1) + value_of, return_counts=True)
        sizes = np.bincount(class_of, minlength=n_classes)
        return cls(sizes, *np.divmod(keys, max(n_values, 1)), count, n_values)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each class."""
        first = np.ones(len(self.class_of), dtype=bool)
        np.not_equal(self.class_of[1:], self.class_of[:-1], out=first[1:])
        return np.flatnonzero(first)

    @cached_property
    def distinct(self) -> np.ndarray:
        """How many different values each class has."""
        return np.diff(self.starts, append=len(self.class_of))

    @cached_property
    def largest(self) -> np.ndarray:
        """The count of the most frequent value of each class."""
        return self.most(self.count)

    def most(self, of_cell: np.ndarray) -> np.ndarray:
        """The largest number of the cells of each class."""
        return np.maximum.reduceat(of_cell, self.starts) if len(self.sizes) else of_cell[:0]

    def total(self, of_cell: np.ndarray) -> np.ndarray:
        """The sum over the cells of each class."""
        return np.add.reduceat(of_cell, self.starts) if len(self.sizes) else of_cell[:0]

    def pieces(self) -> Iterator[Counts]:
        """The same classes, some at a time, so that what is computed of their cells fits in memory."""
        first = 0
        while first < len(self.sizes):
            begin = self.starts[first]
            after = max(int(np.searchsorted(self.starts, begin + _CELLS_AT_ONCE)), first + 1)
            end = self.starts[after] if after < len(self.starts) else len(self.class_of)
            yield Counts(
                self.sizes[first:after],
                self.class_of[begin:end] - first,
                self.value_of[begin:end],
                self.count[begin:end],
                self.n_values,
            )
            first = after


@dataclass(frozen=True, eq=False)
class Values:
    """What promises need to know of the values of a sensitive column besides their counts in classes.

    texts      by code
    overall    the count of each value in the whole table, in units of any size
    ordered    whether the codes are in the order of the values
    hierarchy  of the values, where a promise compares them by it
    """

    texts: Sequence[str | None] = ()
    overall: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    ordered: bool = False
    hierarchy: Hierarchy | None = None

    def codes(self, listed: Sequence[str | None]) -> list[int]:
        """The codes of listed values; numbers may be written in another way, such as 1.50 for 1.5."""
        wanted, present = set(listed), set(self.texts)
        numbers = {_number(text) for text in wanted - present} - {None}
        if numbers and any(_number(text) is None for text in present - {None}):
            numbers = set()  # texts, which look like numbers
        return [c for c, t in enumerate(self.texts) if t in wanted or (numbers and _number(t) in numbers)]


def _number(text: str | None) -> Decimal | None:
    return None if text is None else number_of(unsigned_zero(text))

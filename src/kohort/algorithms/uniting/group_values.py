"""How often each value of a sensitive attribute occurs in each group, while groups are being united."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.uniting.kernels.diversify import merged_cells
from kohort.problem.models import ClassCounts

__all__ = ["GroupValues"]


class GroupValues:
    """Counts of sensitive values by group, in one pair of arrays. Each group has a run; unions are appended.

    >>> counts = ClassCounts.from_records([0, 0, 1, 2], [7, 7, 7, 3], n_classes=3, n_values=9)
    >>> values = GroupValues(counts)
    >>> values.unite(np.array([0]), np.array([1])).largest
    array([3])
    >>> values.of_unions(np.array([0]), np.array([2])).distinct
    array([2])
    """

    def __init__(self, counts: ClassCounts) -> None:
        self._n_values = counts.n_values
        self._start, self._end = counts.starts.copy(), counts.starts + counts.distinct
        self._value, self._count = counts.value_of, counts.count
        self._n_used = len(counts.count)

    def n_cells(self, groups: np.ndarray) -> np.ndarray:
        """The number of different values in each of these groups."""
        return self._end[groups] - self._start[groups]

    def of_unions(self, a: np.ndarray, b: np.ndarray) -> ClassCounts:
        """The counts of the unions of groups a[i] and b[i]."""
        return self._counts(*merged_cells(self._start, self._end, self._value, self._count, a, b))

    def unite(self, a: np.ndarray, b: np.ndarray) -> ClassCounts:
        """Replace group a[i] by the union of a[i] and b[i], empty b[i], and return the counts of unions."""
        first, value, count = merged_cells(self._start, self._end, self._value, self._count, a, b)
        self._end[a], self._end[b] = self._start[a], self._start[b]
        if self._n_used + len(value) > len(self._value):
            self._make_room(len(value))
        place = slice(self._n_used, self._n_used + len(value))
        self._value[place], self._count[place] = value, count
        self._start[a], self._end[a] = self._n_used + first[:-1], self._n_used + first[1:]
        self._n_used += len(value)
        return self._counts(first, value, count)

    def _counts(self, first: np.ndarray, value: np.ndarray, count: np.ndarray) -> ClassCounts:
        class_of = np.repeat(np.arange(len(first) - 1), np.diff(first))
        return ClassCounts(np.add.reduceat(count, first[:-1]), class_of, value, count, self._n_values)

    def _make_room(self, n_more: int) -> None:
        """Drop the cells of groups that were united, and leave room for `n_more` cells."""
        n_cells = self._end - self._start
        start = np.cumsum(n_cells) - n_cells
        kept = np.arange(n_cells.sum()) + np.repeat(self._start - start, n_cells)
        spare = np.zeros(len(kept) + 2 * n_more, dtype=np.int64)
        self._value = np.concatenate([self._value[kept], spare])
        self._count = np.concatenate([self._count[kept], spare])
        self._start, self._end, self._n_used = start, start + n_cells, len(kept)

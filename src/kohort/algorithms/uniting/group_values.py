"""How often each value of a sensitive attribute occurs in each group, while groups are being united."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.algorithms.uniting.kernels.diversify import merged_cells
from kohort.data.counting import distinct_rows
from kohort.data.domain import STAR
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts
from kohort.recoding.groups import Groups


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


def one_group_per_look(problem: Problem, groups: Groups) -> Groups:
    """The groups with those united that have the same labels; withheld records stay so.

    Only rules that do not survive unions need this: two valid groups that look alike are one class, which may
    break such a rule. A missing value counts as `*`, which it may be published as.
    """
    kept = ~groups.withheld
    looks = []
    for attribute in problem.attributes:
        published = groups.apply(attribute)
        texts = [STAR if label is None else label for label in published.labels]
        number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        looks.append(np.array([number[text] for text in texts])[published.of_record[kept]])
    _, sizes, look_of_record = distinct_rows(np.column_stack(looks))
    if len(sizes) == len(np.unique(groups.group_of_record[kept])):
        return groups
    united = np.full(len(kept), -1, dtype=np.int32)
    united[kept] = look_of_record
    return replace(groups, group_of_record=united, guarantee=None)

"""A table generalized to some levels: do its classes satisfy the models?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kohort.algorithms.counted_cells import CountedCells
from kohort.algorithms.hierarchy_trees import hierarchies_of
from kohort.algorithms.levels import level_nodes
from kohort.kernels.class_tables import number_classes, sum_by_class
from kohort.problem.models import Model
from kohort.problem.problem import Problem

__all__ = ["GeneralizedTable", "SubsetTables"]

KEPT = 64  # class tables of a subset to roll up from


class GeneralizedTable:
    """The cells of a problem, and what each leaf is mapped to at each level of its attribute."""

    def __init__(self, problem: Problem) -> None:
        self.cells = CountedCells.of(problem)
        self.values = np.column_stack([self.cells.leaves, self.cells.sensitive])
        self.nodes = [level_nodes(hierarchy) for hierarchy in hierarchies_of(problem)]
        self.shape = tuple(len(levels) for levels in self.nodes)
        unchanged = np.arange(int(self.cells.sensitive.max()) + 1)
        tables = [*(levels.ravel() for levels in self.nodes), unchanged]
        self._mapped = np.concatenate(tables).astype(np.int32)
        self._start = np.cumsum([0, *(len(table) for table in tables)])[:-1]
        self._n_leaves = np.array([levels.shape[1] for levels in self.nodes])

    @property
    def sensitive_column(self) -> int:
        return len(self.nodes)

    def classes(
        self, rows: np.ndarray, columns: Sequence[int], attributes: Sequence[int], levels: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The class of each row by some columns, attributes at these levels, and the first row of each."""
        start = self._start.copy()
        chosen = np.array(attributes)
        start[chosen] += np.array(levels) * self._n_leaves[chosen]
        return number_classes(self.values, rows, np.array(columns), start, self._mapped)


class _ClassTable(NamedTuple):
    """Cells that stand for all that look alike at these levels and have the same sensitive values."""

    levels: tuple[int, ...]
    rows: np.ndarray
    counts: np.ndarray


class SubsetTables:
    """A table generalized in some attributes and without the others.

    `lowest` are the least levels that will be asked for. A class at some levels is a part of a class at
    higher ones, so the table at these is had from the cells that stand for the classes: rolled up.
    """

    def __init__(self, table: GeneralizedTable, attributes: Sequence[int], lowest: Sequence[int]) -> None:
        self._table, self._attributes = table, tuple(attributes)
        everything = np.arange(len(table.values), dtype=np.int32)
        whole = _ClassTable((0,) * len(self._attributes), everything, table.cells.counts)
        self._tables = [self._rolled_up(whole, tuple(lowest))]

    def satisfied(self, models: Sequence[Model], levels: tuple[int, ...]) -> bool:
        """Whether every class at these levels satisfies the models. O(classes of the table rolled up)."""
        source = self._smallest_below(levels)
        class_of, _ = self._table.classes(source.rows, self._attributes, self._attributes, levels)
        cells = self._table.cells
        if all(cells.satisfied(model, source.rows, class_of, source.counts).all() for model in models):
            return True
        if len(self._tables) < KEPT:
            rolled = self._rolled_up(source, levels)
            if 2 * len(rolled.rows) < len(source.rows):
                self._tables.append(rolled)
        return False

    def _smallest_below(self, levels: tuple[int, ...]) -> _ClassTable:
        below = (t for t in self._tables if all(low <= level for low, level in zip(t.levels, levels)))
        return min(below, key=lambda table: len(table.rows))

    def _rolled_up(self, source: _ClassTable, levels: tuple[int, ...]) -> _ClassTable:
        columns = (*self._attributes, self._table.sensitive_column)
        class_of, first = self._table.classes(source.rows, columns, self._attributes, levels)
        return _ClassTable(levels, source.rows[first], sum_by_class(class_of, source.counts, len(first)))

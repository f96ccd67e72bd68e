"""A table generalized to some levels: do its classes satisfy the models?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kohort.algorithms.counted_cells import CountedCells
from kohort.algorithms.hierarchy_trees import hierarchies_of
from kohort.algorithms.levels import level_nodes
from kohort.kernels.class_tables import number_classes, sum_by_class
from kohort.problem.models import ClassCounts, Model
from kohort.problem.problem import Problem

__all__ = ["GeneralizedTable", "Levels", "SubsetTables"]

ROOM = 16  # class tables that are kept to roll up from have together so many times the rows of the table

Levels = tuple[int, ...]  # one per attribute: a node of the lattice of generalizations


class GeneralizedTable:
    """The cells of a problem, and what each leaf is mapped to at each level of its attribute."""

    def __init__(self, problem: Problem) -> None:
        self.cells = CountedCells.of(problem)
        self.values = np.column_stack([self.cells.leaves, self.cells.sensitive])
        self.nodes = [level_nodes(hierarchy) for hierarchy in hierarchies_of(problem)]
        self.n_nodes = [[len(np.unique(level)) for level in levels] for levels in self.nodes]
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


class SubsetTables:
    """A table generalized in some attributes and without the others.

    Sizes of classes are counted apart from sensitive values, of which there may be many in a class.
    `lowest` are the least levels that will be asked for.
    """

    def __init__(self, table: GeneralizedTable, attributes: Sequence[int], lowest: Sequence[int]) -> None:
        self._table, self._attributes = table, tuple(attributes)
        self._sizes = _RollUps(table, self._attributes, self._attributes, tuple(lowest))
        columns = (*self._attributes, table.sensitive_column)
        self._values = _RollUps(table, columns, self._attributes, tuple(lowest))

    def satisfied(self, models: Sequence[Model], levels: Levels) -> bool:
        """Whether every class at these levels satisfies the models. O(rows of the table rolled up from)."""
        sizes = ClassCounts.of_sizes(self._sizes.at(levels).counts)
        if not all(model.holds(sizes).all() for model in models if model.attribute is None):
            return False
        of_values = [model for model in models if model.attribute is not None]
        if not of_values:
            return True
        values, cells = self._values.at(levels), self._table.cells
        class_of, _ = self._table.classes(values.rows, self._attributes, self._attributes, levels)
        return all(cells.satisfied(model, values.rows, class_of, values.counts).all() for model in of_values)


class _ClassTable(NamedTuple):
    """Cells that stand for all that are alike, and how many records each stands for."""

    rows: np.ndarray
    counts: np.ndarray


class _RollUps:
    """Class tables at any levels, each rolled up from a finer one.

    A class at some levels is a part of a class at higher ones, so the table at these is had from the cells
    that stand for the classes. It is rolled up from the table where one attribute more is at its lowest
    level, and so on. Attributes that lose most of their values are raised first, to have few rows soon.
    """

    def __init__(
        self, table: GeneralizedTable, columns: Sequence[int], attributes: Levels, lowest: Levels
    ) -> None:
        self._table, self._columns, self._attributes, self._lowest = table, columns, attributes, lowest
        self._n_nodes = [table.n_nodes[j] for j in attributes]
        self._kept: dict[Levels, _ClassTable] = {}
        self._room = ROOM * len(table.values)

    def at(self, levels: Levels) -> _ClassTable:
        """The table at these levels."""
        if levels in self._kept:
            return self._kept[levels]
        if levels == self._lowest:
            every_cell = np.arange(len(self._table.values), dtype=np.int32)
            source = _ClassTable(every_cell, self._table.cells.counts)
        else:
            raised = (j for j in range(len(levels)) if levels[j] > self._lowest[j])
            last = min(raised, key=lambda j: self._n_nodes[j][self._lowest[j]] / self._n_nodes[j][levels[j]])
            source = self.at((*levels[:last], self._lowest[last], *levels[last + 1 :]))
        class_of, first = self._table.classes(source.rows, self._columns, self._attributes, levels)
        counts = sum_by_class(class_of, source.counts, len(first))
        return self._keep(levels, _ClassTable(source.rows[first], counts))

    def _keep(self, levels: Levels, table: _ClassTable) -> _ClassTable:
        """Keep a table to roll up from, and forget those that have been kept longest."""
        self._kept[levels] = table
        self._room -= len(table.rows)
        while self._room < 0 and len(self._kept) > 2:
            oldest = next(kept for kept in self._kept if kept not in (levels, self._lowest))
            self._room += len(self._kept.pop(oldest).rows)
        return table

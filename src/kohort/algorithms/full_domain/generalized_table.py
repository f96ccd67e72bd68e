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

__all__ = ["GeneralizedTable", "Levels"]

ROOM = 16  # class tables that are kept to roll up from have together so many times the rows of the table

Levels = tuple[int, ...]  # one per attribute: a node of the lattice of generalizations


class GeneralizedTable:
    """The cells of a problem, generalized to levels; an attribute at its highest level is as good as gone.

    Sizes of classes are counted apart from sensitive values, of which there may be many in a class.
    """

    def __init__(self, problem: Problem) -> None:
        self.cells = CountedCells.of(problem)
        self.nodes = [level_nodes(hierarchy) for hierarchy in hierarchies_of(problem)]
        self.shape = tuple(len(levels) for levels in self.nodes)
        mapping = _Mapping(self.cells, self.nodes)
        self._sizes = _RollUps(mapping, len(self.nodes))
        self._values = _RollUps(mapping, len(self.nodes) + 1)

    def satisfied(self, models: Sequence[Model], levels: Levels) -> bool:
        """Whether every class at these levels satisfies the models. O(rows of the table rolled up from)."""
        sizes = ClassCounts.of_sizes(self._sizes.at(levels).counts)
        if not all(model.holds(sizes).all() for model in models if model.attribute is None):
            return False
        of_values = [model for model in models if model.attribute is not None]
        if not of_values:
            return True
        values = self._values.at(levels)
        class_of = self._sizes.classes(values.rows, levels)[0]
        return all(
            self.cells.satisfied(model, values.rows, class_of, values.counts).all() for model in of_values
        )


class _Mapping:
    """What each leaf is mapped to at each level of its attribute; sensitive values stay as they are."""

    def __init__(self, cells: CountedCells, nodes: Sequence[np.ndarray]) -> None:
        self.values = np.column_stack([cells.leaves, cells.sensitive])
        self.counts = cells.counts
        self.n_nodes = [[len(np.unique(level)) for level in levels] for levels in nodes]
        tables = [*(levels.ravel() for levels in nodes), np.arange(int(cells.sensitive.max()) + 1)]
        self.mapped = np.concatenate(tables).astype(np.int32)
        self._start = np.cumsum([0, *(len(table) for table in tables)])[:-1]
        self._n_leaves = np.array([levels.shape[1] for levels in nodes])

    def start(self, levels: Levels) -> np.ndarray:
        """Where the mapping of each column begins, at these levels."""
        return self._start + np.append(self._n_leaves * levels, 0)


class _ClassTable(NamedTuple):
    """Cells that stand for all that are alike, and how many records each stands for."""

    rows: np.ndarray
    counts: np.ndarray


class _RollUps:
    """Class tables at any levels by the first so many columns, each rolled up from a finer one.

    A class at some levels is a part of a class at higher ones, so the table at these is had from the cells
    that stand for the classes. It is rolled up from the table where one attribute more is not generalized,
    and so on. Attributes that lose most of their values are generalized first, to have few rows soon.
    """

    def __init__(self, mapping: _Mapping, n_columns: int) -> None:
        self._mapping, self._columns = mapping, np.arange(n_columns)
        self._kept: dict[Levels, _ClassTable] = {}
        self._room = ROOM * len(mapping.values)

    def at(self, levels: Levels) -> _ClassTable:
        """The table at these levels."""
        if levels in self._kept:
            self._kept[levels] = self._kept.pop(levels)  # those that were asked for last are forgotten last
            return self._kept[levels]
        source = self._source(levels)
        class_of, first = self.classes(source.rows, levels)
        table = _ClassTable(source.rows[first], sum_by_class(class_of, source.counts, len(first)))
        self._keep(levels, table)
        return table

    def _source(self, levels: Levels) -> _ClassTable:
        if not any(levels):
            return _ClassTable(np.arange(len(self._mapping.values), dtype=np.int32), self._mapping.counts)
        raised = [j for j, level in enumerate(levels) if level]
        left = {j: self._mapping.n_nodes[j][levels[j]] / self._mapping.n_nodes[j][0] for j in raised}
        last = max(raised, key=left.__getitem__)
        return self.at((*levels[:last], 0, *levels[last + 1 :]))

    def classes(self, rows: np.ndarray, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """The class of each row at these levels, and the first row of each class."""
        mapping = self._mapping
        return number_classes(mapping.values, rows, self._columns, mapping.start(levels), mapping.mapped)

    def _keep(self, levels: Levels, table: _ClassTable) -> None:
        """Keep a table to roll up from, and forget those that have not been asked for longest."""
        self._kept[levels] = table
        self._room -= len(table.rows)
        while self._room < 0 and len(self._kept) > 1:
            self._room += len(self._kept.pop(next(iter(self._kept))).rows)

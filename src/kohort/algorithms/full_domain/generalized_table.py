"""A table generalized to some levels: its equivalence classes, and whether they satisfy the models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.class_tables import number_classes, sum_by_class
from kohort.algorithms.levels import level_nodes
from kohort.data.dataset import distinct_rows
from kohort.problem.counted_cells import CountedCells
from kohort.problem.models import ClassCounts, LabelledClasses, Model, TableModel
from kohort.problem.problem import Problem

__all__ = ["ClassTable", "GeneralizedTable", "Levels"]

ROOM = 16  # times the rows of the table: total rows of the class tables that are kept to roll up from

Levels = tuple[int, ...]  # one per attribute: a node of the lattice of generalizations


class GeneralizedTable:
    """The cells of a problem, generalized to levels; an attribute at its highest level separates nothing.

    Class sizes are counted separately from sensitive values, of which there may be many in a class.
    """

    def __init__(self, problem: Problem) -> None:
        self.cells, self._population = CountedCells.of(problem), problem.population
        self.nodes = [level_nodes(hierarchy) for hierarchy in problem.coded.hierarchies]
        self.shape = tuple(len(levels) for levels in self.nodes)
        self._mapping = mapping = _Mapping(self.cells, self.nodes)
        self._sizes = _RollUps(mapping, len(self.nodes))
        self._values = _RollUps(mapping, len(self.nodes) + 1)

    def satisfied(self, models: Sequence[Model], levels: Levels) -> bool:
        """Whether every class at these levels satisfies the models. O(rows of the table rolled up from)."""
        return all(holds.all() for _, holds in self.holding(models, self.classes(levels), levels))

    def classes(self, levels: Levels) -> ClassTable:
        """The classes at these levels. O(rows of the table rolled up from)."""
        return self._sizes.at(levels)

    def holding(
        self, models: Sequence[Model], classes: ClassTable, levels: Levels
    ) -> Iterator[tuple[Model, np.ndarray]]:
        """For each model, whether each class at these levels satisfies it; models of sizes come first."""
        sizes = ClassCounts.of_sizes(self.people(classes, levels))
        for model in models:
            if isinstance(model, TableModel):
                yield model, model.holds_in(self.labelled(classes, levels))
            elif model.attribute is None:
                yield model, model.holds(sizes)
        of_values = [model for model in models if model.attribute is not None]
        if of_values:
            values = self._values.at(levels)
            class_of = self.class_of(values.rows, classes, levels)
            for model in of_values:
                yield model, self.cells.satisfied(model, values.rows, class_of, values.counts)

    def labelled(self, classes: ClassTable, levels: Levels) -> LabelledClasses:
        """The classes at these levels with their labels, and how many of a population fit each."""
        labels = self._mapping.numbers(self.cells.leaves[classes.rows], levels)
        if self._population is None:
            return LabelledClasses(labels, classes.counts)
        everybody = self._mapping.numbers(self._population.leaves, levels)
        people, elsewhere = _fitting(labels, everybody, self._population.counts)
        return LabelledClasses(labels, classes.counts, people, elsewhere)

    def people(self, classes: ClassTable, levels: Levels) -> np.ndarray:
        """How many people each class has: its records, unless people have several."""
        if self.cells.persons is None:
            return classes.counts
        values = self._values.at(levels)
        class_of = self.class_of(values.rows, classes, levels)
        return self.cells.people(values.rows, class_of, len(classes.rows))

    def class_of(self, cells: np.ndarray, classes: ClassTable, levels: Levels) -> np.ndarray:
        """The class of each of these cells at these levels, in the numbers of the given table."""
        known = len(classes.rows)  # these come first, so they keep their numbers
        return self._sizes.classes(np.concatenate([classes.rows, cells]), levels)[0][known:]


class _Mapping:
    """The number that each leaf is mapped to at each level; sensitive values are mapped to themselves."""

    def __init__(self, cells: CountedCells, nodes: Sequence[np.ndarray]) -> None:
        self.values = np.column_stack([cells.leaves, cells.sensitive])
        self.counts = cells.counts
        self.n_nodes = [[len(np.unique(level)) for level in levels] for levels in nodes]
        self._n_values = int(cells.sensitive.max()) + 1
        tables = [*(_numbered(levels).ravel() for levels in nodes), np.arange(self._n_values)]
        self.mapped = np.concatenate(tables).astype(np.int32)
        self._start = np.cumsum([0, *(len(table) for table in tables)])[:-1]
        self._n_leaves = np.array([*(levels.shape[1] for levels in nodes), 0])

    def numbers(self, leaves: np.ndarray, levels: Levels) -> np.ndarray:
        """The numbers of the labels that rows of leaves have at these levels; -1 for a leaf of -1.

        A value that a hierarchy lacks has the leaf -1: it is covered by a level with a single label alone.
        """
        start, columns = self.start(levels), []
        for place, level in enumerate(levels):
            number = self.mapped[start[place] + leaves[:, place]]
            lacking = 0 if self.n_nodes[place][level] == 1 else -1
            columns.append(np.where(leaves[:, place] < 0, lacking, number))
        return np.column_stack(columns).astype(np.int64)

    def start(self, levels: Levels) -> np.ndarray:
        """Where the mapping of each column begins, at these levels."""
        return self._start + self._n_leaves * (*levels, 0)

    def radix(self, levels: Levels) -> np.ndarray:
        """How many numbers each column is mapped to, at these levels."""
        return np.array([*(n[level] for n, level in zip(self.n_nodes, levels)), self._n_values])


def _fitting(labels: np.ndarray, everybody: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, int]:
    """How many people have the labels of each class, and how many have those of none."""
    _, _, number = distinct_rows(np.concatenate([labels, everybody]) + 1)  # no code is below 0
    n_classes = len(labels)
    found = np.bincount(number[n_classes:], weights=counts, minlength=int(number.max()) + 1)
    people = found[number[:n_classes]].astype(np.int64)
    return people, int(counts.sum() - people.sum())


def _numbered(levels: np.ndarray) -> np.ndarray:
    """The nodes of each level numbered from 0."""
    return np.array([np.unique(level, return_inverse=True)[1] for level in levels])


class ClassTable(NamedTuple):
    """Equivalence classes: a cell of each class, and how many records the class has."""

    rows: np.ndarray
    counts: np.ndarray


class _RollUps:
    """Class tables at any levels by the first `n_columns` columns, each rolled up from a finer one.

    A class at some levels is a part of a class at higher ones, so the table at higher levels is made from one
    cell of each class. It is rolled up from the table where one more attribute is not generalized, and so on.
    Attributes that lose most of their values are generalized first, so that few rows are left soon.
    """

    def __init__(self, mapping: _Mapping, n_columns: int) -> None:
        self._mapping, self._n_columns = mapping, n_columns
        self._kept: dict[Levels, ClassTable] = {}
        self._room = ROOM * len(mapping.values)

    def at(self, levels: Levels) -> ClassTable:
        """The table at these levels."""
        if levels in self._kept:
            self._kept[levels] = self._kept.pop(levels)  # the least recently used is dropped first
            return self._kept[levels]
        source = self._source(levels)
        class_of, first = self.classes(source.rows, levels)
        table = ClassTable(source.rows[first], sum_by_class(class_of, source.counts, len(first)))
        self._keep(levels, table)
        return table

    def _source(self, levels: Levels) -> ClassTable:
        if not any(levels):
            return ClassTable(np.arange(len(self._mapping.values), dtype=np.int32), self._mapping.counts)
        raised = [j for j, level in enumerate(levels) if level]
        left = {j: self._mapping.n_nodes[j][levels[j]] / self._mapping.n_nodes[j][0] for j in raised}
        last = max(raised, key=left.__getitem__)
        return self.at((*levels[:last], 0, *levels[last + 1 :]))

    def classes(self, rows: np.ndarray, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """The class of each row at these levels, and the first row of each class."""
        mapping = self._mapping
        varied = [j for j, level in enumerate(levels) if mapping.n_nodes[j][level] > 1]  # others are constant
        columns = np.array([*varied, *range(len(levels), self._n_columns)], dtype=np.int64)
        return number_classes(
            mapping.values, rows, columns, mapping.start(levels), mapping.mapped, mapping.radix(levels)
        )

    def _keep(self, levels: Levels, table: ClassTable) -> None:
        """Keep a table to roll up from, and drop the least recently used ones."""
        self._kept[levels] = table
        self._room -= len(table.rows)
        while self._room < 0 and len(self._kept) > 1:
            self._room += len(self._kept.pop(next(iter(self._kept))).rows)

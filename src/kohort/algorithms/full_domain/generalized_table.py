"""Equivalence classes of a table at any levels, each set rolled up from one at lower levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.class_tables import number_classes, roll_up
from kohort.algorithms.levels import level_nodes
from kohort.data.counting import distinct_rows
from kohort.problem.counted_cells import CountedCells
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, LabelledClasses, Model, TableModel

ROOM = 16  # times the rows of the table: total rows of the class tables that are kept to roll up from
MOST_KEPT = 500  # class tables, since all that are kept are looked through for the smallest

Levels = tuple[int, ...]  # one per attribute: a node of the lattice of generalizations


class ClassTable(NamedTuple):
    """Equivalence classes: a cell of each class, and how many records the class has."""

    rows: np.ndarray
    counts: np.ndarray


class LevelNumbers:
    """The number that each leaf is mapped to at each level; sensitive values are mapped to themselves.

    values    cells by columns, the attributes and the sensitive values, stored column by column
    mapped    the numbers of all leaves at all levels of all attributes, one after the other
    n_labels  columns by levels: how many numbers there are
    """

    def __init__(self, cells: CountedCells, nodes: Sequence[np.ndarray]) -> None:
        self.values = np.empty((len(cells.counts), len(nodes) + 1), dtype=np.int32, order="F")
        self.values[:, :-1] = cells.leaves
        self.values[:, -1] = cells.sensitive
        self.counts = cells.counts
        numbers = [*map(_numbered, nodes), np.arange(int(cells.sensitive.max()) + 1)[np.newaxis]]
        self.mapped = np.concatenate([levels.ravel() for levels in numbers]).astype(np.int32)
        self.n_labels = np.zeros((len(numbers), max(map(len, numbers))), dtype=np.int64)
        for column, levels in enumerate(numbers):
            self.n_labels[column, : len(levels)] = levels.max(axis=1) + 1
        self._every = np.arange(len(numbers))
        self._start = np.cumsum([0, *(levels.size for levels in numbers)])[:-1]
        self._n_leaves = np.array([levels.shape[1] for levels in numbers])

    def numbers(self, leaves: np.ndarray, levels: Levels) -> np.ndarray:
        """The numbers of the labels that rows of leaves have at these levels; -1 for a leaf of -1.

        A value that a hierarchy lacks has the leaf -1: it is covered by a level with a single label alone.
        """
        start, n_labels = self.places(levels)
        columns = []
        for place in range(len(levels)):
            number = self.mapped[start[place] + leaves[:, place]]
            columns.append(np.where(leaves[:, place] < 0, 0 if n_labels[place] == 1 else -1, number))
        return np.column_stack(columns).astype(np.int64)

    def places(self, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """Where the numbers of each column begin in `mapped` at these levels, and how many there are."""
        at = np.array((*levels, 0))
        return self._start + self._n_leaves * at, self.n_labels[self._every, at]


def _numbered(levels: np.ndarray) -> np.ndarray:
    """The nodes of each level numbered from 0, in their order. O(levels * (leaves + nodes))."""
    every = np.arange(len(levels))[:, np.newaxis]
    occurs = np.zeros((len(levels), int(levels.max()) + 1), dtype=bool)
    occurs[every, levels] = True
    return (occurs.cumsum(axis=1) - 1)[every, levels]


class RollUps:
    """Class tables at any levels by the first `n_columns` columns, each rolled up from a finer one.

    A class at some levels is a part of a class at higher ones, so the table at higher levels is made from one
    cell of each class of the smallest table at lower levels that is kept. So that there is a small one, the
    table in which only the two attributes that lose most of their values are generalized is made first: many
    levels share it. The classes are the same, in the same order, whichever table they are made from.
    """

    def __init__(self, numbers: LevelNumbers, n_columns: int) -> None:
        self._numbers, self._n_columns = numbers, n_columns
        everything = np.arange(len(numbers.values), dtype=np.int32)
        self._cells = ClassTable(everything, numbers.counts)
        self._kept: dict[int, ClassTable] = {}  # by packed levels; the least recently used is first
        self._room = ROOM * len(everything)
        self._left = (numbers.n_labels / numbers.n_labels[:, :1]).tolist()
        field = numbers.n_labels.shape[1].bit_length() + 1
        self._shifts = range(0, field * (len(numbers.n_labels) - 1), field)
        self._guards = sum(1 << (shift + field - 1) for shift in self._shifts)

    def at(self, levels: Levels) -> ClassTable:
        """The table at these levels. O(rows of the table rolled up from * columns)."""
        key = self._packed(levels)
        if key in self._kept:
            return self._used(key)
        self._make_source_for(levels)
        return self._made(levels, key)

    def classes(self, rows: np.ndarray, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """The class of each row at these levels, and the first row of each class. O(rows * columns)."""
        return number_classes(self._numbers.values, rows, *self._columns(levels))

    def _make_source_for(self, levels: Levels) -> None:
        """Make the table in which only two attributes are at these levels, unless it is kept."""
        raised = [j for j, level in enumerate(levels) if level]
        if len(raised) > 2:
            left = self._left
            most_lost = sorted(raised, key=lambda j: left[j][levels[j]])[:2]
            few = tuple(level if j in most_lost else 0 for j, level in enumerate(levels))
            key = self._packed(few)
            if key not in self._kept:
                self._made(few, key)

    def _made(self, levels: Levels, key: int) -> ClassTable:
        source = self._smallest_below(key)
        columns, start, mapped, n_labels = self._columns(levels)
        table = ClassTable(
            *roll_up(self._numbers.values, source.rows, source.counts, columns, start, mapped, n_labels)
        )
        self._keep(key, table)
        return table

    def _columns(self, levels: Levels) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The columns that distinguish cells at these levels, and what their values are mapped to."""
        start, n_labels = self._numbers.places(levels)
        columns = np.flatnonzero(n_labels[: self._n_columns] > 1)
        return columns, start, self._numbers.mapped, n_labels

    def _packed(self, levels: Levels) -> int:
        """The levels as one number, with a spare bit above each."""
        return sum(level << shift for level, shift in zip(levels, self._shifts))

    def _smallest_below(self, key: int) -> ClassTable:
        """The kept table with the fewest classes at levels that are nowhere higher; else all cells."""
        guards = self._guards
        high = key | guards  # where a level is higher than here, subtracting it takes the spare bit
        below = [other for other in self._kept if (high - other) & guards == guards]
        if not below:
            return self._cells
        return self._used(min(below, key=lambda other: len(self._kept[other].rows)))

    def _used(self, key: int) -> ClassTable:
        self._kept[key] = table = self._kept.pop(key)
        return table

    def _keep(self, key: int, table: ClassTable) -> None:
        """Keep a table to roll up from, and drop the least recently used ones."""
        self._kept[key] = table
        self._room -= len(table.rows)
        while (self._room < 0 and len(self._kept) > 1) or len(self._kept) > MOST_KEPT:
            self._room += len(self._kept.pop(next(iter(self._kept))).rows)


class GeneralizedTable:
    """The cells of a problem, generalized to levels; an attribute at its highest level separates nothing.

    Class sizes are counted separately from sensitive values, of which there may be many in a class.
    """

    def __init__(self, problem: Problem) -> None:
        self.cells, self._population = CountedCells.of(problem), problem.population
        self.nodes = [level_nodes(hierarchy) for hierarchy in problem.coded.hierarchies]
        self.shape = tuple(len(levels) for levels in self.nodes)
        self._numbers = LevelNumbers(self.cells, self.nodes)
        self._sizes = RollUps(self._numbers, len(self.nodes))
        self._values = RollUps(self._numbers, len(self.nodes) + 1)

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
            elif not model.attribute:
                yield model, model.holds(sizes)
        of_values = [model for model in models if model.attribute]
        if of_values:
            values = self._values.at(levels)
            class_of = self.class_of(values.rows, classes, levels)
            for model in of_values:
                yield model, self.cells.satisfied(model, values.rows, class_of, values.counts)

    def labelled(self, classes: ClassTable, levels: Levels) -> LabelledClasses:
        """The classes at these levels with their labels, and how many of a population fit each."""
        labels = self._numbers.numbers(self.cells.leaves[classes.rows], levels)
        if not self._population.given:
            return LabelledClasses(labels, classes.counts)
        everybody = self._numbers.numbers(self._population.leaves, levels)
        people, elsewhere = _fitting(labels, everybody, self._population.counts)
        return LabelledClasses(labels, classes.counts, people, elsewhere)

    def people(self, classes: ClassTable, levels: Levels) -> np.ndarray:
        """How many people each class has: its records, unless people have several."""
        if not self.cells.units.several:
            return classes.counts
        values = self._values.at(levels)
        class_of = self.class_of(values.rows, classes, levels)
        return self.cells.units.per_class(class_of, classes.counts, values.rows)

    def class_of(self, cells: np.ndarray, classes: ClassTable, levels: Levels) -> np.ndarray:
        """The class of each of these cells at these levels, in the numbers of the given table."""
        known = len(classes.rows)  # these come first, so they keep their numbers
        return self._sizes.classes(np.concatenate([classes.rows, cells]), levels)[0][known:]


def _fitting(labels: np.ndarray, everybody: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, int]:
    """How many people have the labels of each class, and how many have those of none."""
    _, _, number = distinct_rows(np.concatenate([labels, everybody]) + 1)  # no code is below 0
    n_classes = len(labels)
    found = np.bincount(number[n_classes:], weights=counts, minlength=int(number.max()) + 1)
    people = found[number[:n_classes]].astype(np.int64)
    return people, int(counts.sum() - people.sum())

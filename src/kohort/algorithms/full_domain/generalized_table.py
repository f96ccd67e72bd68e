"""A table generalized to some levels: its equivalence classes, and whether they satisfy the models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kohort.algorithms.full_domain.roll_ups import ClassTable, LevelNumbers, Levels, RollUps
from kohort.algorithms.levels import level_nodes
from kohort.data.counting import distinct_rows
from kohort.problem.counted_cells import CountedCells
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, LabelledClasses, Model, TableModel


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

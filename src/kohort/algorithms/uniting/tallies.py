"""What is counted of groups while they are united: records by sensitive value, or people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, Model, PersonCells

Counts = Mapping[str, ClassCounts]
"""Counts of cells of groups, by sensitive attribute; what a cell is, the tallies know."""


class Tallies(Protocol):
    """How groups are counted, and how a model is judged by these counts."""

    def of_groups(self, group_of: np.ndarray, records: np.ndarray, n_groups: int) -> Counts:
        """The cells of each group; group_of[i] is the group of records[i]."""
        ...

    def deficit(self, model: Model, sizes: np.ndarray, counts: Counts) -> np.ndarray:
        """How far each group is from keeping a model, given its number of records and its cells."""
        ...


def tallies_of(problem: Problem) -> Tallies:
    """The tallies for a problem: of people where people have several records."""
    return PeopleTallies(problem) if problem.units.several else RecordTallies(problem)


class RecordTallies:
    """Cells are sensitive values."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def of_groups(self, group_of: np.ndarray, records: np.ndarray, n_groups: int) -> Counts:
        return {
            name: ClassCounts.from_records(
                group_of, sensitive.column.codes[records], n_groups, sensitive.n_values
            )
            for name, sensitive in self.problem.sensitive.items()
            if any(model.attribute == name for model in self.problem.models)
        }

    def deficit(self, model: Model, sizes: np.ndarray, counts: Counts) -> np.ndarray:
        if not model.attribute:
            return model.deficit(ClassCounts.of_sizes(sizes))
        return model.deficit(counts[model.attribute], self.problem.context(model))


class PeopleTallies:
    """Cells are pairs of a person and a sensitive value, or people alone (no attribute).

    The pair of person p and value v is the number p * n_values + v.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        names = dict.fromkeys(model.attribute for model in problem.models)
        self._n_values = {name: problem.sensitive[name].n_values if name else 1 for name in names}

    def of_groups(self, group_of: np.ndarray, records: np.ndarray, n_groups: int) -> Counts:
        persons = self.problem.units.of(records)
        return {name: self._pairs(name, group_of, persons, records, n_groups) for name in self._n_values}

    def _pairs(
        self, name: str, group_of: np.ndarray, persons: np.ndarray, records: np.ndarray, n_groups: int
    ) -> ClassCounts:
        codes = self.problem.sensitive[name].column.codes[records] if name else None
        n_values = self._n_values[name]
        cells = PersonCells.from_records(group_of, persons, codes, n_groups, n_values)
        pair = cells.person_of * n_values + cells.value_of
        sizes = np.bincount(cells.class_of, weights=cells.records, minlength=n_groups).astype(np.int64)
        return ClassCounts(sizes, cells.class_of, pair, cells.records, self.problem.n_people * n_values)

    def deficit(self, model: Model, sizes: np.ndarray, counts: Counts) -> np.ndarray:
        pairs, n_values = counts[model.attribute], self._n_values[model.attribute]
        person, value = np.divmod(pairs.value_of, n_values)
        cells = PersonCells(pairs.class_of, person, value, pairs.count, pairs.n_classes, n_values)
        context = self.problem.context(model)
        return model.deficit(cells.counts_for(model, context), context)

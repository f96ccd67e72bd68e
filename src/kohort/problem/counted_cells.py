"""Distinct rows counted, together with their sensitive values; and how records are grouped by their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.counting import distinct_rows
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, Model, PersonCells
from kohort.problem.units import People, Units


@dataclass(frozen=True, eq=False)
class CountedCells:
    """Records with equal quasi-identifiers and with sensitive values that no model distinguishes, counted.

    leaves     cells by attributes
    codes      per sensitive column the code of each cell's value, or of one that no model distinguishes
    counts     records of each cell
    of_record  the cell of each record
    units      whose the cells are: where people have several records, a cell is of one person
    """

    problem: Problem
    leaves: np.ndarray
    codes: Mapping[str, np.ndarray]
    counts: np.ndarray
    of_record: np.ndarray
    units: Units

    @classmethod
    def of(cls, problem: Problem) -> CountedCells:
        names = sorted({model.attribute for model in problem.models if model.attribute})
        whose = [problem.units.persons] if problem.units.several else []
        more = [*(_codes(problem, name) for name in names), *whose]
        columns = np.column_stack([problem.leaves, *more]) if more else problem.leaves
        distinct, counts, of_record = distinct_rows(columns)
        n_attributes = len(problem.attributes)
        codes = {name: distinct[:, n_attributes + place] for place, name in enumerate(names)}
        leaves = np.ascontiguousarray(distinct[:, :n_attributes], dtype=np.int32)
        units = People(distinct[:, -1]) if whose else Units()
        return cls(problem, leaves, codes, counts.astype(np.int64), of_record, units)

    @cached_property
    def sensitive(self) -> np.ndarray:
        """A number per cell that stands for the combination of its sensitive values and its person."""
        columns = [*self.codes.values(), *([self.units.persons] if self.units.several else [])]
        if not columns:
            return np.zeros(len(self.counts), dtype=np.int32)
        return distinct_rows(np.column_stack(columns))[2].astype(np.int32)

    def satisfied(
        self, model: Model, cells: np.ndarray, class_of: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Whether each class satisfies a model, where counts[i] records of cells[i] are in class_of[i]."""
        sizes = np.bincount(class_of, weights=counts).astype(np.int64)
        if not model.attribute:
            return model.holds(ClassCounts.of_sizes(self.units.per_class(class_of, sizes, cells)))
        sensitive = self.problem.sensitive[model.attribute]
        codes, n_values = self.codes[model.attribute][cells], sensitive.n_values
        if self.units.several:
            people = self.units.of(cells)
            of_people = PersonCells.from_records(class_of, people, codes, len(sizes), n_values, counts)
            table = of_people.counts_for(model, sensitive.context)
        else:
            table = ClassCounts.from_cells(class_of, codes, counts, len(sizes), n_values)
        return model.holds(table, sensitive.context)

    def groups(self, cells: np.ndarray, copies: np.ndarray, group: np.ndarray) -> np.ndarray:
        """The group of each record, given pieces: copies[i] records of cells[i] are in group[i]."""
        return groups_from_pieces(self.of_record, cells, copies, group)


def _codes(problem: Problem, name: str) -> np.ndarray:
    """The code of each record's sensitive value, or of the first that no model distinguishes from it."""
    sensitive = problem.sensitive[name]
    kinds = [model.distinguishes(sensitive.context) for model in problem.models if model.attribute == name]
    _, first, number = np.unique(np.column_stack(kinds), axis=0, return_index=True, return_inverse=True)
    return first[number.ravel()].astype(np.int32)[sensitive.column.codes]


# -- slots: the copies of distinct rows, side by side in the order of the rows -----------------------


def first_slots(counts: np.ndarray) -> np.ndarray:
    """The first slot of each distinct row, given its copies, and one more entry: the number of slots."""
    return np.concatenate([[0], np.cumsum(counts)])


def groups_from_slots(row_of_record: np.ndarray, group_of_slot: np.ndarray) -> np.ndarray:
    """The group of each record, numbered from 0, given the group of each slot."""
    slots = np.argsort(row_of_record, kind="stable")
    _, dense = np.unique(group_of_slot, return_inverse=True)
    groups = np.empty(len(slots), dtype=np.int32)
    groups[slots] = dense
    return groups


def groups_from_pieces(
    row_of_record: np.ndarray, row: np.ndarray, copies: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """The group of each record, numbered from 0: copies[i] records of row[i] are in group[i]."""
    by_row = np.argsort(row, kind="stable")
    return groups_from_slots(row_of_record, np.repeat(group[by_row], copies[by_row]))

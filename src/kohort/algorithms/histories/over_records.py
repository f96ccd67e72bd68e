"""A privacy model of people who have several records each: a class is judged by all values of its people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kohort.problem.promises import NO_CONTEXT, ClassCounts, Model, ValueContext


class ValueSets(NamedTuple):
    """Sets of values: those of set i are value[start[i]:start[i + 1]], and records[...] have each of them."""

    start: np.ndarray
    value: np.ndarray
    records: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, n_values: int) -> ValueSets:
        """The sets of the values in each row."""
        number = np.repeat(np.arange(len(rows)), rows.shape[1])
        cells, records = np.unique(number * n_values + rows.ravel(), return_counts=True)
        lengths = np.bincount(cells // n_values, minlength=len(rows))
        return cls(np.concatenate([[0], np.cumsum(lengths)]), cells % n_values, records)


@dataclass(frozen=True, eq=False)
class OverRecords(Model):
    """A model over people, where the value of a person is a set of values: those of all its records.

    inner    the model of the sensitive values
    sets     the different sets, in codes: their values, and how many records have each; all people have the
             same number of records
    context  of the sensitive values
    spread   whether a person counts for each value by the share of its records that have it; otherwise it
             counts for every value that any of its records has
    """

    inner: Model
    sets: ValueSets
    context: ValueContext
    attribute: str
    spread: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    def survives_unions(self) -> bool:
        return self.inner.survives_unions

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        return self.inner.holds(self.of_values(counts), self.context)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        return self.inner._gaps(self.of_values(counts), self.context)

    def describe(self) -> str:
        return self.inner.describe()

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        return self.inner._refusal(self.of_values(whole_table), self.context)

    def of_values(self, counts: ClassCounts) -> ClassCounts:
        """The counts of values, given those of sets of values."""
        length = np.diff(self.sets.start)[counts.value_of]
        cell = np.repeat(np.arange(len(length)), length)
        before = np.cumsum(length) - length
        place = np.arange(len(cell)) + np.repeat(self.sets.start[counts.value_of] - before, length)
        count = counts.count[cell] * (self.sets.records[place] if self.spread else 1)
        n_values = len(self.context.labels)
        found = ClassCounts.from_cells(
            counts.class_of[cell], self.sets.value[place], count, counts.n_classes, n_values
        )
        if self.spread:
            return found
        return ClassCounts(counts.sizes, found.class_of, found.value_of, found.count, n_values)

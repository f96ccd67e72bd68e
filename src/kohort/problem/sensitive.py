"""A sensitive column: its values in codes, and what distances between them need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.problem.promises import ClassCounts, Model, PersonCells, ValueContext, ValueTree, spread_overall


@dataclass(frozen=True, eq=False)
class SensitiveAttribute:
    """A sensitive column; hierarchical t-closeness measures distances between its values by `hierarchy`.

    persons  the number of each record's person, where people have several records
    overall  how many people have each value in a table that is elsewhere: see `spread_overall`
    """

    column: Column
    hierarchy: Hierarchy | None = None
    persons: np.ndarray | None = None
    overall: np.ndarray | None = None

    @property
    def n_values(self) -> int:
        return len(self.column.texts)

    @cached_property
    def context(self) -> ValueContext:
        return ValueContext(
            labels=self.column.texts,
            order=np.arange(self.n_values) if self.column.ordered else None,
            tree=self._tree(),
            overall=self._overall(),
        )

    def _overall(self) -> np.ndarray:
        if self.overall is not None:
            return self.overall
        if self.persons is None:
            return self.column.counts
        return spread_overall(self.persons, self.column.codes, self.n_values)

    def _tree(self) -> ValueTree | None:
        if self.hierarchy is None:
            return None
        leaf_of = self.hierarchy.leaf_of
        nodes = [int(self.hierarchy.leaf_node[leaf_of[text]]) for text in self.column.texts]
        return ValueTree(parent=self.hierarchy.parent, leaf_node=np.array(nodes), height=self.hierarchy.level)


def group_counts(
    model: Model,
    sensitive: SensitiveAttribute | None,
    group_of_record: np.ndarray,
    persons: np.ndarray | None,
    records: np.ndarray | slice,
    n_groups: int,
) -> ClassCounts:
    """The counts of each group that a model is to be judged by.

    sensitive        the attribute that the model is about; None where it only counts
    group_of_record  the group of each of `records`; every group has at least one
    persons          the number of each record's person, of all records; None: each has a person of its own
    """
    everybody = n_groups == 1 and isinstance(records, slice) and records == slice(None) and persons is None
    if everybody and not (sensitive is not None and sensitive.column.is_part):
        return counts_of_all(sensitive, len(group_of_record))
    codes = None if sensitive is None else sensitive.column.at(records)
    n_values = 1 if sensitive is None else sensitive.n_values
    if persons is not None:
        cells = PersonCells.from_records(group_of_record, persons[records], codes, n_groups, n_values)
        return cells.counts_for(model, None if sensitive is None else sensitive.context)
    if codes is None:
        return ClassCounts.of_sizes(np.bincount(group_of_record, minlength=n_groups))
    return ClassCounts.from_records(group_of_record, codes, n_groups, n_values)


def counts_of_all(sensitive: SensitiveAttribute | None, n_records: int) -> ClassCounts:
    """The counts of all records as one group, which are known already."""
    if sensitive is None:
        return ClassCounts.of_sizes(np.array([n_records]))
    counts = sensitive.column.counts
    there = np.flatnonzero(counts)
    return ClassCounts.from_cells(np.zeros(len(there)), there, counts[there], 1, sensitive.n_values)

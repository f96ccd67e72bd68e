"""A sensitive column: its values in codes, and what distances between them need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.problem.models import ValueContext, ValueTree, spread_overall

__all__ = ["SensitiveAttribute"]


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

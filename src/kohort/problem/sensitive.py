"""A sensitive column: its values in codes, and what distances between them need."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.problem.promises import ValueContext, ValueTree
from kohort.problem.units import Units


@dataclass(frozen=True, eq=False)
class SensitiveAttribute:
    """A sensitive column; hierarchical t-closeness measures distances between its values by `hierarchy`.

    units  whose the records are, in the whole table
    """

    column: Column
    hierarchy: Hierarchy | None = None
    units: Units = field(default_factory=Units)

    @property
    def n_values(self) -> int:
        return len(self.column.texts)

    @cached_property
    def context(self) -> ValueContext:
        return ValueContext(
            labels=self.column.texts,
            order=np.arange(self.n_values) if self.column.ordered else None,
            tree=self._tree(),
            overall=self.units.overall(self.column),
        )

    def _tree(self) -> ValueTree | None:
        if self.hierarchy is None:
            return None
        leaf_of = self.hierarchy.leaf_of
        nodes = [int(self.hierarchy.leaf_node[leaf_of[text]]) for text in self.column.texts]
        return ValueTree(parent=self.hierarchy.parent, leaf_node=np.array(nodes), height=self.hierarchy.level)

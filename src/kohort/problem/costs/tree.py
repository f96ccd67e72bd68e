"""Costs that look at levels and stars: the tree measure, the distortion ratio, the count of starred cells."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.problem.costs.cost import PublishedTable, SeparableCost

__all__ = ["Distortion", "Suppressions", "Tree"]


class Tree(SeparableCost):
    """Levels climbed over the height of the hierarchy per cell: the cost of Aggarwal et al. (2005)."""

    name: ClassVar[str] = "tree"
    meaning: ClassVar[str] = "levels climbed in the hierarchy over its height: 0 exact, 1 the root"

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.level


class Distortion(SeparableCost):
    """All levels climbed over all levels there are: the distortion ratio of Wong et al. (2009, section 2).

    An attribute with a tall hierarchy counts for more than in the tree measure, where each counts the same.
    """

    name: ClassVar[str] = "distortion"
    meaning: ClassVar[str] = "levels climbed in all hierarchies over the levels there are: 0 exact, 1 all *"

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.level * values.height

    def measure(self, table: PublishedTable) -> float:
        levels = table.weighted([attribute.values.height for attribute in table.attributes])
        return super().measure(table) / levels if levels else 0.0


class Suppressions(SeparableCost):
    """How many cells are published as `*`."""

    name: ClassVar[str] = "suppressions"
    meaning: ClassVar[str] = "number of cells published as *"

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        """1 for what covers everything. A value of the table that is `*` itself is searched as exact: it is
        measured as 1, but if it cost more than the node above it, the search would not be monotone."""
        return (values.star & (values.level >= 1)).astype(float)

    def measure(self, table: PublishedTable) -> float:
        return float(sum(int(a.uses[a.values.star].sum()) for a in table.attributes))

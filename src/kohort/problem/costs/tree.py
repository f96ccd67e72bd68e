"""Costs that look at levels and stars: the tree measure and the count of suppressed cells."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.problem.costs.cost import PublishedTable, SeparableCost

__all__ = ["Suppressions", "Tree"]


class Tree(SeparableCost):
    """Levels climbed over the height of the hierarchy per cell.

    The cost of Aggarwal et al. (2005). With attribute weights equal to the heights of the hierarchies it
    is the distortion ratio of Wong et al. (all levels climbed over all levels there are).
    """

    name: ClassVar[str] = "tree"
    meaning: ClassVar[str] = "levels climbed in the hierarchy over its height: 0 exact, 1 the root"

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.level


class Suppressions(SeparableCost):
    """How many cells are published as `*`."""

    name: ClassVar[str] = "suppressions"
    meaning: ClassVar[str] = "number of cells published as *"

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.star.astype(float)

    def measure(self, table: PublishedTable) -> float:
        return float(sum(int(a.uses[a.values.star].sum()) for a in table.attributes))

"""Costs of single cells: levels and stars, the share of other leaves (LM, NCP), entropy."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.problem.costs.cost import Line, SeparableCost


class Tree(SeparableCost):
    """Levels climbed over the height of the hierarchy per cell: the cost of Aggarwal et al. (2005)."""

    name: ClassVar[str] = "tree"
    meaning: ClassVar[str] = (
        "share of the hierarchy's levels that a cell was generalized: 0 for the exact value, 1 for the root"
    )
    mean_of_cells: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.level

    def line(self, n_values: int) -> Line:
        return Line(0.0, 1 / max(n_values - 1, 1))


class Distortion(SeparableCost):
    """All levels climbed over all levels there are: the distortion ratio of Wong et al. (2009, section 2).

    An attribute with a tall hierarchy counts for more than in the tree measure, where each counts the same:
    without the heights of the hierarchies, a sum of cell costs does not determine the measure.
    """

    name: ClassVar[str] = "distortion"
    meaning: ClassVar[str] = (
        "levels generalized in all hierarchies, as a share of all their levels: 0 if exact, 1 if all is *"
    )
    adds_up: ClassVar[bool] = False
    prices_blocks: ClassVar[bool] = False

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.level * values.height

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float | None:
        return None

    def cell_weights(self, weights: np.ndarray, heights: np.ndarray, n_records: int) -> np.ndarray:
        return weights / n_records / (weights @ heights)


class Suppressions(SeparableCost):
    """How many cells are published as `*`, whatever their attributes weigh.

    Which sets of values are published as `*` depends on their labels, so blocks have no price.
    """

    is_mean: ClassVar[bool] = False
    name: ClassVar[str] = "suppressions"
    meaning: ClassVar[str] = "number of cells published as *"
    prices_blocks: ClassVar[bool] = False

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        """1 for what covers everything. A value of the table that is `*` itself is searched as exact: it is
        measured as 1, but if it cost more than the node above it, the search would not be monotone."""
        return (values.star & (values.level >= 1)).astype(float)

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float | None:
        """None for unequal weights: then the weighted sum does not determine how many cells are `*`."""
        return total * len(weights) if np.ptp(weights) == 0 else None

    def cell_weights(self, weights: np.ndarray, heights: np.ndarray, n_records: int) -> np.ndarray:
        return np.ones(len(weights))


class Entropy(SeparableCost):
    """H(X | B): entropy of the column's distribution inside the published value, in bits per cell.

    Not monotone: two equally rare values cost one bit, and adding a frequent value lowers it.
    """

    name: ClassVar[str] = "entropy"
    meaning: ClassVar[str] = "bits per cell that are missing to know the original value"
    monotone: ClassVar[bool] = False

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        mass = np.maximum(values.mass, 1)
        return np.maximum(np.log2(mass) - values.mass_log / mass, 0.0)


class MonotoneEntropy(Entropy):
    """Pr(B) * H(X | B): the monotone variant, for which approximation guarantees hold."""

    name: ClassVar[str] = "monotone-entropy"
    meaning: ClassVar[str] = "bits that are missing per cell, weighted by how common the published value is"
    monotone: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return super().cell(values) * values.mass / values.n_records


class Loss(SeparableCost):
    """(leaves covered - 1) / (leaves - 1) per cell (Iyengar 2002; Kenig and Tassa, Eq. 3)."""

    name: ClassVar[str] = "loss"
    meaning: ClassVar[str] = (
        "share of the other values that a published cell also covers: 0 for the exact value, 1 for *"
    )
    mean_of_cells: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return (values.width - 1) / max(values.n_leaves - 1, 1)

    def line(self, n_values: int) -> Line:
        return Line(0.0, 1 / max(n_values - 1, 1))

    def least_added(self, values: GeneralizedValues) -> np.ndarray:
        return values.width / max(values.n_leaves - 1, 1)


class NormalizedCertaintyPenalty(SeparableCost):
    """leaves covered / leaves per cell, 0 for an exact value (Terrovitis et al., section 3.3)."""

    name: ClassVar[str] = "ncp"
    meaning: ClassVar[str] = "share of all values that a published cell covers; 0 for an exact one"
    of_items: ClassVar[bool] = True
    mean_of_cells: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return np.where(values.width > 1, values.width / max(values.n_leaves, 1), 0.0)

    def line(self, n_values: int) -> Line:
        return Line(1 / n_values, 1 / n_values)

    def least_added(self, values: GeneralizedValues) -> np.ndarray:
        return values.width / max(values.n_leaves, 1)

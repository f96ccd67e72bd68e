"""Costs by their spec names: a cost is a number for a published table, lower is better.

Searches know them by their traits and their formula; verification measures them by formulas of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.errors import InputError, did_you_mean


class Line(NamedTuple):
    """The cost of a cell as a straight line in the width of an interval: base + slope * (width - 1)."""

    base: float
    slope: float


class Cost:
    """A measure of what a published table has lost. Its traits say which searches can minimise it.

    separable          the cost of a cell depends on its generalized value alone; `cell` gives it
    adds_up            separable, and a sum of weighted cell costs determines the measure: `measure_of_sum`
    prices_blocks      a search for a recoding of whole columns can price a block of values by itself
    counts_classmates  a published record costs the size of its class, a withheld one that of the table
    monotone           a more general value never costs less, which the approximation guarantees need
    of_items           it measures published items, too
    mean_of_cells      the weighted mean over all cells of what their labels cost, which depends on the
                       attribute's domain alone and not on how often its values occur
    is_mean            it is a mean over records, which sampling weights may weigh
    of_numbers         it is about numbers themselves, not about labels, and measured only where asked for
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    separable: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    prices_blocks: ClassVar[bool] = False
    counts_classmates: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    of_items: ClassVar[bool] = False
    mean_of_cells: ClassVar[bool] = False
    is_mean: ClassVar[bool] = False
    of_numbers: ClassVar[bool] = False

    @property
    def metric(self) -> bool:
        """Whether any record that covers two others costs at least as much as their closure."""
        return self.adds_up and self.monotone

    @property
    def linear(self) -> bool:
        """Whether it can be minimised over free intervals and sets: see `line`."""
        return self.line(2) is not None

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float | None:
        """The measure of a release whose records cost `total`: weighted cells, or the sizes of their classes.

        weights  the weights of the attributes; their sum is 1

        None where the total alone does not determine it.
        """
        return None

    def line(self, n_values: int) -> Line | None:
        """Cost of an interval or a set of an attribute with `n_values` values, as a line in its width.

        None where the cost is no straight line: then it can only be minimised over hierarchies.
        """
        return None


class CellCost(Cost, ABC):
    """A cost that is a sum over cells, where a cell's cost depends on its published and original value.

    withheld_record  the cost of a withheld record, where it is not that of `*` in every column

    A record's cell costs the price of the `block` that it is published as, times the `factors` entry of its
    original value, less the `offsets` entry of its original value.
    """

    withheld_record: ClassVar[float | None] = None
    prices_blocks = True

    @abstractmethod
    def by_original(self, values: GeneralizedValues, published: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Cost of a record's cell, by its original value.

        values     all generalized values of the attribute
        published  which of these each original value (the last axis) is published as
        counts     how many records have each original value
        """

    def cell_weights(self, weights: np.ndarray, heights: np.ndarray, n_records: int) -> np.ndarray:
        """Per attribute what the cost of a single cell contributes to the measure."""
        return weights / n_records

    @abstractmethod
    def block(self, values: GeneralizedValues) -> np.ndarray:
        """Price of each of these blocks of values."""

    def factors(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        """Per original value what the price of its block is multiplied by, weight of the attribute included.

        counts  how many of all `n_records` records have each original value
        """
        return np.full(len(counts), weight)

    def offsets(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        """Per original value what is subtracted from the price of its block, weight included."""
        return np.zeros(len(counts))


class SeparableCost(CellCost):
    """A cost of cells that depends on their generalized values alone; the mean over cells is the measure."""

    separable = True
    adds_up = True
    is_mean = True

    @abstractmethod
    def cell(self, values: GeneralizedValues) -> np.ndarray:
        """Cost of a cell for each of these generalized values."""

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float | None:
        return total / n_records

    def by_original(self, values: GeneralizedValues, published: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return self.cell(values)[published]

    def block(self, values: GeneralizedValues) -> np.ndarray:
        return self.cell(values)


# -- of cells: the share of other leaves, levels and stars, entropy --------------------------------


class Loss(SeparableCost):
    """(leaves covered - 1) / (leaves - 1) per cell (Iyengar 2002; Kenig and Tassa, Eq. 3)."""

    name = "loss"
    meaning = "share of the other values that a published cell also covers: 0 for the exact value, 1 for *"
    mean_of_cells = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return (values.width - 1) / max(values.n_leaves - 1, 1)

    def line(self, n_values: int) -> Line:
        return Line(0.0, 1 / max(n_values - 1, 1))


class NormalizedCertaintyPenalty(SeparableCost):
    """leaves covered / leaves per cell, 0 for an exact value (Terrovitis et al., section 3.3)."""

    name = "ncp"
    meaning = "share of all values that a published cell covers; 0 for an exact one"
    of_items = True
    mean_of_cells = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return np.where(values.width > 1, values.width / max(values.n_leaves, 1), 0.0)

    def line(self, n_values: int) -> Line:
        return Line(1 / n_values, 1 / n_values)


class Tree(SeparableCost):
    """Levels climbed over the height of the hierarchy per cell: the cost of Aggarwal et al. (2005)."""

    name = "tree"
    meaning = (
        "share of the hierarchy's levels that a cell was generalized: 0 for the exact value, 1 for the root"
    )
    mean_of_cells = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return values.level

    def line(self, n_values: int) -> Line:
        return Line(0.0, 1 / max(n_values - 1, 1))


class Distortion(SeparableCost):
    """All levels climbed over all levels there are: the distortion ratio of Wong et al. (2009, section 2).

    An attribute with a tall hierarchy counts for more than in the tree measure, where each counts the same:
    without the heights of the hierarchies, a sum of cell costs does not determine the measure.
    """

    name = "distortion"
    meaning = (
        "levels generalized in all hierarchies, as a share of all their levels: 0 if exact, 1 if all is *"
    )
    adds_up = False
    prices_blocks = False

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

    name = "suppressions"
    meaning = "number of cells published as *"
    is_mean = False
    prices_blocks = False

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

    name = "entropy"
    meaning = "bits per cell that are missing to know the original value"
    monotone = False

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        mass = np.maximum(values.mass, 1)
        return np.maximum(np.log2(mass) - values.mass_log / mass, 0.0)


class MonotoneEntropy(Entropy):
    """Pr(B) * H(X | B): the monotone variant, for which approximation guarantees hold."""

    name = "monotone-entropy"
    meaning = "bits that are missing per cell, weighted by how common the published value is"
    monotone = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return super().cell(values) * values.mass / values.n_records


# -- no means of cells: of whole records, of classes, of numbers -----------------------------------


class Ambiguity(Cost):
    """The mean over records of the product of the leaves covered (Nergiz and Clifton, 2007).

    Hundreds of attributes make it larger than any floating-point number: then it is the largest one, 1.8e308.
    """

    name = "ambiguity"
    meaning = "combinations of original values that a published record could stand for, on average"


class Discernibility(Cost):
    """Each record costs the size of its class; a withheld one the size of the table (raw sum)."""

    name = "discernibility"
    meaning = "sum over records of the size of their class; a withheld record counts the whole table"
    counts_classmates = True

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float:
        return total


class HierarchicalDiscernibility(CellCost):
    """(N_e - N_v) / (N - N_v) per cell with original value v published as e (Li and Li, section 4.1).

    N_v and N_e count the records of the original table with value v and with any value that e covers.
    The sum over records of the mean over attributes; a withheld record costs 1.
    """

    name = "hierarchical-discernibility"
    meaning = "records per cell that became alike by generalizing it, 0 to 1, summed over records"
    withheld_record = 1.0

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float:
        return total

    def by_original(self, values: GeneralizedValues, published: np.ndarray, counts: np.ndarray) -> np.ndarray:
        others = values.n_records - counts
        return np.where(others > 0, (values.mass[published] - counts) / np.maximum(others, 1), 0.0)

    def cell_weights(self, weights: np.ndarray, heights: np.ndarray, n_records: int) -> np.ndarray:
        return weights

    def block(self, values: GeneralizedValues) -> np.ndarray:
        return values.mass.astype(float)

    def factors(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        return np.where(counts < n_records, weight / np.maximum(n_records - counts, 1), 0.0)

    def offsets(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        return self.factors(counts, n_records, weight) * counts


class AverageClassSize(Cost):
    """The mean size of classes: records that are not withheld over the number of classes."""

    name = "average-class-size"
    meaning = "records per class"
    monotone = False


class Squares(Cost):
    """SSE / SST: the squared distances of numbers to the mean of their class, over those to the mean of all.

    A weighted mean over the quasi-identifiers, each by its own variance. It depends on the numbers themselves
    and not on labels, so it is measured on classes and their originals, where it is asked for.
    """

    name = "squares"
    meaning = "share of the variance of numbers that is lost within classes"
    of_numbers = True


_EVERY: tuple[type[Cost], ...] = (
    Loss,
    NormalizedCertaintyPenalty,
    Tree,
    Distortion,
    Suppressions,
    Entropy,
    MonotoneEntropy,
    Ambiguity,
    Discernibility,
    HierarchicalDiscernibility,
    AverageClassSize,
)
COSTS: dict[str, type[Cost]] = {cost.name: cost for cost in _EVERY}
"""Those that every release is measured by."""


def cost_named(name: str) -> Cost:
    """The cost with this spec name: one that every release is measured by, or squares."""
    known = {**COSTS, Squares.name: Squares}
    if name not in known:
        raise InputError(f"There is no cost {name!r}. {did_you_mean(name, known)}")
    return known[name]()

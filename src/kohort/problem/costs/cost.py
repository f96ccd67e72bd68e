"""What a cost is: a number for a published table, lower is better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from kohort.data.domain import GeneralizedValues


class Line(NamedTuple):
    """The cost of a cell as a straight line in the width of an interval: base + slope * (width - 1)."""

    base: float
    slope: float


class Cost:
    """A measure of what a published table has lost, as searches need to know it; verification measures it.

    Its traits say which searches can minimise it.

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
    prices_blocks: ClassVar[bool] = True

    @abstractmethod
    def by_original(self, values: GeneralizedValues, published: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Cost of a record's cell, by its original value.

        values     all generalized values of the attribute
        published  which of these each original value (the last axis) is published as
        counts     how many records have each original value
        """

    @abstractmethod
    def cell_weights(self, weights: np.ndarray, heights: np.ndarray, n_records: int) -> np.ndarray:
        """Per attribute what the cost of a single cell contributes to the measure."""

    @abstractmethod
    def block(self, values: GeneralizedValues) -> np.ndarray:
        """Price of each of these blocks of values."""

    @abstractmethod
    def factors(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        """Per original value what the price of its block is multiplied by, weight of the attribute included.

        counts  how many of all `n_records` records have each original value
        """

    def offsets(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        """Per original value what is subtracted from the price of its block, weight included."""
        return np.zeros(len(counts))

    def least_added(self, values: GeneralizedValues) -> np.ndarray:
        """A lower bound on what each block adds to the price of another that it is merged with."""
        return np.zeros(len(values.width))


class SeparableCost(CellCost):
    """A cost of cells that depends on their generalized values alone.

    Subclasses state `cell`; the mean over cells is the measure.
    """

    separable: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True
    is_mean: ClassVar[bool] = True

    @abstractmethod
    def cell(self, values: GeneralizedValues) -> np.ndarray:
        """Cost of a cell for each of these generalized values."""

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float | None:
        return total / n_records

    def by_original(self, values: GeneralizedValues, published: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return self.cell(values)[published]

    def cell_weights(self, weights: np.ndarray, heights: np.ndarray, n_records: int) -> np.ndarray:
        return weights / n_records

    def block(self, values: GeneralizedValues) -> np.ndarray:
        return self.cell(values)

    def factors(self, counts: np.ndarray, n_records: int, weight: float) -> np.ndarray:
        return np.full(len(counts), weight)

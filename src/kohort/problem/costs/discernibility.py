"""Costs that are no means of cells: of classes (DM, HDM, the mean class), of whole records, of numbers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.problem.costs.cost import CellCost, Cost


class Discernibility(Cost):
    """Each record costs the size of its class; a withheld one the size of the table (raw sum)."""

    name: ClassVar[str] = "discernibility"
    meaning: ClassVar[str] = (
        "sum over records of the size of their class; a withheld record counts the whole table"
    )
    counts_classmates: ClassVar[bool] = True

    def measure_of_sum(self, total: float, n_records: int, weights: np.ndarray) -> float:
        return total


class HierarchicalDiscernibility(CellCost):
    """(N_e - N_v) / (N - N_v) per cell with original value v published as e (Li and Li, section 4.1).

    N_v and N_e count the records of the original table with value v and with any value that e covers.
    The sum over records of the mean over attributes; a withheld record costs 1.
    """

    name: ClassVar[str] = "hierarchical-discernibility"
    meaning: ClassVar[str] = (
        "records per cell that became alike by generalizing it, 0 to 1, summed over records"
    )
    withheld_record: ClassVar[float | None] = 1.0

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

    def least_added(self, values: GeneralizedValues) -> np.ndarray:
        return self.block(values)


class AverageClassSize(Cost):
    """The mean size of classes: records that are not withheld over the number of classes."""

    name: ClassVar[str] = "average-class-size"
    meaning: ClassVar[str] = "records per class"
    monotone: ClassVar[bool] = False


class Ambiguity(Cost):
    """The mean over records of the product of the leaves covered (Nergiz and Clifton, 2007).

    Hundreds of attributes make it larger than any floating-point number: then it is the largest one, 1.8e308.
    """

    name: ClassVar[str] = "ambiguity"
    meaning: ClassVar[str] = (
        "combinations of original values that a published record could stand for, on average"
    )


class Squares(Cost):
    """SSE / SST: the squared distances of numbers to the mean of their class, over those to the mean of all.

    A weighted mean over the quasi-identifiers, each by its own variance. It depends on the numbers themselves
    and not on labels, so it is measured on classes and their originals, where it is asked for.
    """

    name: ClassVar[str] = "squares"
    meaning: ClassVar[str] = "share of the variance of numbers that is lost within classes"
    of_numbers: ClassVar[bool] = True

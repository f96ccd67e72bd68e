"""What a cost is: a number for a published table, lower is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from kohort.data.domain import GeneralizedValues

__all__ = ["Cost", "PublishedAttribute", "PublishedTable", "SeparableCost"]


@dataclass(frozen=True, eq=False)
class PublishedAttribute:
    """One quasi-identifier as published: its distinct generalized values, and which one each record has.

    `code_of_record` are the codes of the original values and `counts` how often each occurs.
    """

    name: str
    values: GeneralizedValues
    value_of_record: np.ndarray
    code_of_record: np.ndarray
    counts: np.ndarray
    weight: float = 1.0

    @cached_property
    def uses(self) -> np.ndarray:
        """How many records have each generalized value."""
        return np.bincount(self.value_of_record, minlength=len(self.values.width))


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """All that costs need: attributes as published, which records are withheld, the other ones' classes.

    Withheld records are here with `*` everywhere, even if they were left out of the file.
    """

    attributes: Sequence[PublishedAttribute]
    withheld: np.ndarray
    class_sizes: np.ndarray

    @property
    def n_records(self) -> int:
        return len(self.withheld)

    def weighted(self, per_attribute: Sequence[float]) -> float:
        """The mean over attributes by their weights."""
        weights = [a.weight for a in self.attributes]
        total = sum(weights)
        return float(np.dot(weights, per_attribute) / total) if total else 0.0


class Cost(Protocol):
    """A measure of what a published table has lost.

    separable  the cost of a cell depends on its generalized value alone; `cell` gives it
    monotone   a more general value never costs less, which the approximation guarantees need
    by_record  it depends on which original each published record is, so that in another order it is not known
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    separable: ClassVar[bool]
    monotone: ClassVar[bool]
    by_record: ClassVar[bool]

    def measure(self, table: PublishedTable) -> float: ...


class SeparableCost:
    """A cost that is a sum over cells: subclasses state `cell`, the mean over cells is the measure."""

    separable: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    by_record: ClassVar[bool] = False

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        """Cost of a cell for each of these generalized values."""
        raise NotImplementedError

    def measure(self, table: PublishedTable) -> float:
        """The mean over records of the weighted mean over attributes."""
        return table.weighted([self._mean(attribute) for attribute in table.attributes])

    def _mean(self, attribute: PublishedAttribute) -> float:
        return float(np.dot(attribute.uses, self.cell(attribute.values)) / len(attribute.value_of_record))

"""Population uniqueness: few of those who are unique in a release are unique in the population."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from kohort.problem.promises.exact import Number, choice, exact_number, readable
from kohort.problem.promises.table_promise import LabelledClasses, TableModel
from kohort.problem.uniqueness import estimated_uniqueness


@dataclass(frozen=True)
class PopulationUniqueness(TableModel):
    """The estimated share of the population that is unique in it is at most `share`.

    The sizes of the published classes are taken for a sample of the population, of which the table is
    `sampling_fraction`. An estimate is no proof: it is as good as its model of the population.

    estimate : pitman or zayatz; auto is Pitman's for samples of up to a tenth, else Zayatz's

    >>> PopulationUniqueness(0.01, sampling_fraction=0.1).describe()
    'by estimate (auto), at most 0.01 of the population is unique in it'
    """

    name: ClassVar[str] = "population-uniqueness"
    spec_key: ClassVar[str] = "uniqueness"
    stops: ClassVar[str] = "most matches with a register of the population from being certain"
    leaves: ClassVar[str] = "everything about those who remain unique; it is an estimate"
    typical: ClassVar[str] = "share: 0.01"
    share: Number
    sampling_fraction: Number
    estimate: str = "auto"

    def __post_init__(self) -> None:
        share = exact_number(
            "PopulationUniqueness", "share", self.share, "a number from 0 to 1", lambda n: 0 <= n <= 1
        )
        fraction = exact_number(
            "PopulationUniqueness",
            "sampling_fraction",
            self.sampling_fraction,
            "a number > 0 and <= 1",
            lambda n: 0 < n <= 1,
        )
        object.__setattr__(self, "share", share)
        object.__setattr__(self, "sampling_fraction", fraction)
        choice("PopulationUniqueness", "estimate", self.estimate, ("auto", "pitman", "zayatz"))

    @property
    def asked(self) -> Fraction:
        return Fraction(self.share)

    @property
    def survives_unions(self) -> bool:
        return False  # an estimate may rise where classes grow

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        kept = self._estimated(table) <= float(self.asked)
        return np.full(len(table.sizes), kept)

    def _estimated(self, table: LabelledClasses) -> float:
        sizes, times = np.unique(table.sizes, return_counts=True)
        counted = tuple(zip(sizes.tolist(), times.tolist()))
        return _estimate(counted, float(Fraction(self.sampling_fraction)), self.estimate)

    def describe(self) -> str:
        return (
            f"by estimate ({self.estimate}), at most {readable(self.asked)} of the population is unique in it"
        )

    def _refusal_in(self, whole: LabelledClasses) -> str:
        best = self._estimated(whole)
        return (
            f"a population uniqueness of {readable(self.asked)} is impossible: with all records alike the "
            f"estimate is {best:.3g}, so share must be at least that"
        )


@lru_cache(maxsize=4096)
def _estimate(counted: tuple[tuple[int, int], ...], fraction: float, estimate: str) -> float:
    """The estimate for so many classes of each size: fitting takes a moment, and tables recur in a search."""
    sizes = np.repeat([size for size, _ in counted], [times for _, times in counted])
    return estimated_uniqueness(sizes, fraction, estimate)

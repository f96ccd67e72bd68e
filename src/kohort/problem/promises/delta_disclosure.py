"""delta-disclosure: no class makes a value much likelier or less likely (Brickell and Shmatikov, 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf
from typing import ClassVar

import numpy as np

from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.exact import Number, exact_number, product_at_least_one, readable
from kohort.problem.promises.promise import NEAR, NO_CONTEXT, ValueContext, check_attribute
from kohort.problem.promises.share_band import ShareBand


@dataclass(frozen=True)
class DeltaDisclosure(ShareBand):
    """In every class E, |log2(share of s in E / share of s in the table)| < delta for every value s.

    A value of the table that does not occur in a class breaks the rule: its logarithm is infinite.

    >>> DeltaDisclosure("diagnosis", 1).describe()
    "in every class each value of 'diagnosis' is less than 2**1 times likelier or rarer than in the table"
    """

    name: ClassVar[str] = "delta-disclosure"
    spec_key: ClassVar[str] = "disclosure"
    stops: ClassVar[str] = (
        "learning that a value is much likelier, or less likely, in a class than in the table"
    )
    leaves: ClassVar[str] = (
        "what the whole table says about everybody, and finding a record: ask for k as well"
    )
    typical: ClassVar[str] = "delta: 1"
    attribute: str
    delta: Number

    def __post_init__(self) -> None:
        check_attribute("DeltaDisclosure", self.attribute)
        delta = exact_number(
            "DeltaDisclosure", "delta", self.delta, "a number > 0", lambda number: number > 0
        )
        object.__setattr__(self, "delta", delta)

    @property
    def asked(self) -> Fraction:
        return Fraction(self.delta)

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        if not counts.n_classes:
            return np.zeros(0, dtype=bool)
        top, bottom = self._ratios(counts, context)
        margin = np.abs(_logs(top, bottom)) - float(self.asked)
        within = margin < 0
        decided = cache(self._ratio_within)
        for cell in np.flatnonzero(np.abs(margin) < NEAR):
            within[cell] = decided(Fraction(int(top[cell]), int(bottom[cell])))
        holds = np.logical_and.reduceat(within, counts.starts)
        return holds & ~self._lacks_values(counts, context)

    def _ratio_within(self, ratio: Fraction) -> bool:
        """Whether 2**-delta < ratio < 2**delta."""
        a, b = self.asked.numerator, self.asked.denominator
        up = [(ratio.numerator, b), (ratio.denominator, -b), (2, -a)]
        down = [(ratio.numerator, -b), (ratio.denominator, b), (2, -a)]
        return not product_at_least_one(up) and not product_at_least_one(down)

    def band(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        factor = 2.0 ** min(float(self.asked), 1000.0)
        return shares / factor, np.minimum(shares * factor, 1.0)

    def describe(self) -> str:
        return (
            f"in every class each value of {self.attribute!r} is less than 2**{readable(self.asked)} times "
            "likelier or rarer than in the table"
        )

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        lacks = self._lacks_values(whole_table, context).any()
        best = inf if lacks else float(np.abs(_logs(*self._ratios(whole_table, context))).max())
        return (
            f"delta = {readable(self.asked)} is impossible: all records as one class lie {best:.3g} from the "
            f"shares of {self.attribute!r} that they are compared with, so delta must be above that"
        )


def _logs(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.log2(top.astype(float)) - np.log2(bottom.astype(float))

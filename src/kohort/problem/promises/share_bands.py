"""Rules that keep the share of every sensitive value in a class near its share in the whole table.

beta-likeness (Cao and Karras, 2012): no value is much likelier in a class than in the whole table.
delta-disclosure (Brickell and Shmatikov, 2008): no class makes a value much likelier or less likely.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import inf
from typing import Annotated

import numpy as np

from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import (
    Column,
    OneOf,
    Positive,
    at_most,
    integers,
    largest_ratio,
    product_at_least_one,
    readable,
    rounded_up,
)
from kohort.problem.promises.promise import NEAR, NO_CONTEXT, ComparedModel, TallyRule, ValueContext

Ratios = tuple[np.ndarray, np.ndarray]
"""Per cell of a class, the share of its value there over that in the table: numerator and denominator."""


class ShareBand(ComparedModel):
    """A rule of the form: in every class, the share of each value lies between two limits of its own.

    The limits follow from the share of the value in the whole table. Such a rule survives unions: the share
    in a union lies between the shares in its parts.
    """

    @abstractmethod
    def band(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest share that each value may have in a class, in floating point.

        shares  of the values in the whole table
        """

    def tally_rule(self) -> TallyRule | None:
        return TallyRule("within", 0.0, band=self.band)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        """The shares of values outside their bands, added up."""
        overall = self._overall(counts, context).astype(float)
        low, high = self.band(overall / max(overall.sum(), 1.0))
        share = (counts.count / counts.sizes[counts.class_of]).astype(float)
        below, above = low[counts.value_of], high[counts.value_of]
        outside = np.maximum(share - above, 0.0) + np.maximum(below - share, 0.0) - below
        return np.add.reduceat(outside, counts.starts) + low.sum(), 1.0

    def _ratios(self, counts: ClassCounts, context: ValueContext) -> Ratios:
        """(c / n) / (q / N) of each cell, in whole numbers."""
        overall = self._overall(counts, context)
        total = int(overall.sum())
        bound = total * int(counts.sizes.max(initial=1))
        sizes, count, overall = (integers(each, bound) for each in (counts.sizes, counts.count, overall))
        return count * total, overall[counts.value_of] * sizes[counts.class_of]


DIGITS = 60
"""Enough to compare a ratio of 64-bit numbers with a logarithm: the two are never equal, but for 0 and 0."""


@dataclass(frozen=True)
class BetaLikeness(ShareBand):
    """In every class E, (q - p) / p <= beta for every value with the share p in the table and q in E.

    kind : basic: as above; enhanced: (q - p) / p <= min(beta, -ln p), so that frequent values are bounded too

    A value may be less likely in a class than in the table, or absent.

    >>> BetaLikeness("diagnosis", 2).describe()
    "in every class the share of each value of 'diagnosis' exceeds that in the whole table by at most 2 times"
    """

    name = "beta-likeness"
    spec_key = "likeness"
    stops = "learning that a value is much likelier in a class than in the whole table"
    leaves = "learning that somebody does not have a value, and finding a record: ask for k as well"
    typical = "beta: 2"
    limited_by = "beta"
    attribute: Column
    beta: Positive
    kind: Annotated[str, OneOf(("basic", "enhanced"))] = "basic"

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        if not counts.n_classes:
            return np.zeros(0, dtype=bool)
        top, bottom = self._ratios(counts, context)
        most = self.asked + 1
        fine = at_most(top, most.denominator, bottom, most.numerator)
        if self.kind == "enhanced":
            fine &= self._below_logarithm(counts, context)
        return np.logical_and.reduceat(fine, counts.starts)

    def _below_logarithm(self, counts: ClassCounts, context: ValueContext) -> np.ndarray:
        """Per cell whether its gain is at most -ln of the value's share in the table."""
        top, bottom = self._ratios(counts, context)
        overall = self._overall(counts, context)
        total = int(overall.sum())
        share = overall[counts.value_of].astype(float) / total
        margin = (top / bottom).astype(float) - 1 + np.log(share)
        below = margin < 0
        decided = cache(_gain_at_most_log)
        for cell in np.flatnonzero(np.abs(margin) < NEAR):
            ratio = Fraction(int(top[cell]), int(bottom[cell]))
            below[cell] = decided(ratio, Fraction(total, int(overall[counts.value_of[cell]])))
        return below

    def band(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gain = np.full(len(shares), float(self.asked))
        if self.kind == "enhanced":
            gain = np.minimum(gain, -np.log(np.maximum(shares, 1e-300)))
        return np.zeros(len(shares)), np.minimum(shares * (1 + gain), 1.0)

    def describe(self) -> str:
        enhanced = "" if self.kind == "basic" else ", and by at most minus its logarithm"
        return (
            f"in every class the share of each value of {self.attribute!r} exceeds that in the whole table "
            f"by at most {readable(self.asked)} times{enhanced}"
        )

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        least = rounded_up(max(largest_ratio(*self._ratios(whole_table, context)) - 1, Fraction(0)))
        if self.kind == "enhanced" and not self._below_logarithm(whole_table, context).all():
            least = "infinite"  # no beta would do
        return (
            f"beta = {readable(self.asked)} is impossible: with all records as one class, the share of a "
            f"value of {self.attribute!r} exceeds the one that it is compared with {least} times, so beta "
            f"must be at least {least}"
        )


def _gain_at_most_log(ratio: Fraction, inverse_share: Fraction) -> bool:
    """Whether ratio - 1 <= ln(inverse_share)."""
    if inverse_share == 1:
        return ratio <= 1
    with localcontext() as context:
        context.prec = DIGITS
        log = Decimal(inverse_share.numerator).ln() - Decimal(inverse_share.denominator).ln()
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) - 1 <= log


@dataclass(frozen=True)
class DeltaDisclosure(ShareBand):
    """In every class E, |log2(share of s in E / share of s in the table)| < delta for every value s.

    A value of the table that does not occur in a class breaks the rule: its logarithm is infinite.

    >>> DeltaDisclosure("diagnosis", 1).describe()
    "in every class each value of 'diagnosis' is less than 2**1 times likelier or rarer than in the table"
    """

    name = "delta-disclosure"
    spec_key = "disclosure"
    stops = "learning that a value is much likelier, or less likely, in a class than in the table"
    leaves = "what the whole table says about everybody, and finding a record: ask for k as well"
    typical = "delta: 1"
    limited_by = "delta"
    attribute: Column
    delta: Positive

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        if not counts.n_classes:
            return np.zeros(0, dtype=bool)
        top, bottom = self._ratios(counts, context)
        margin = np.abs(_logs(top, bottom)) - float(self.asked)
        within = margin < 0
        decided = cache(self._within)
        for cell in np.flatnonzero(np.abs(margin) < NEAR):
            within[cell] = decided(Fraction(int(top[cell]), int(bottom[cell])))
        return np.logical_and.reduceat(within, counts.starts) & ~self._lacks_values(counts, context)

    def _lacks_values(self, counts: ClassCounts, context: ValueContext) -> np.ndarray:
        """Per class whether a value of the whole table does not occur in it."""
        return counts.distinct < int(np.count_nonzero(self._overall(counts, context)))

    def _within(self, ratio: Fraction) -> bool:
        """Whether 2**-delta < ratio < 2**delta."""
        a, b = self.asked.numerator, self.asked.denominator
        ways = ([(part.numerator, b), (part.denominator, -b), (2, -a)] for part in (ratio, 1 / ratio))
        return not any(map(product_at_least_one, ways))

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

"""beta-likeness: no value is much likelier in a class than in the whole table (Cao and Karras, 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np

from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.exact import (
    Number,
    at_most,
    choice,
    exact_number,
    largest_ratio,
    readable,
    rounded_up,
)
from kohort.problem.promises.promise import NEAR, NO_CONTEXT, ValueContext, check_attribute
from kohort.problem.promises.share_band import ShareBand

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

    name: ClassVar[str] = "beta-likeness"
    spec_key: ClassVar[str] = "likeness"
    stops: ClassVar[str] = "learning that a value is much likelier in a class than in the whole table"
    leaves: ClassVar[str] = (
        "learning that somebody does not have a value, and finding a record: ask for k as well"
    )
    typical: ClassVar[str] = "beta: 2"
    attribute: str
    beta: Number
    kind: str = "basic"

    def __post_init__(self) -> None:
        check_attribute("BetaLikeness", self.attribute)
        beta = exact_number("BetaLikeness", "beta", self.beta, "a number > 0", lambda number: number > 0)
        object.__setattr__(self, "beta", beta)
        choice("BetaLikeness", "kind", self.kind, ("basic", "enhanced"))

    @property
    def asked(self) -> Fraction:
        return Fraction(self.beta)

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

"""Promises that compare the values of a class with those of the whole table."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import inf

import numpy as np

from kohort.errors import InputError
from kohort.verification.promises.counts import Counts, Values
from kohort.verification.promises.distances import equal_distance, hierarchical_distance, ordered_distance
from kohort.verification.promises.exact import at_most, greatest_share, power_product_sign, wide
from kohort.verification.promises.promise import Judged, Measure, Promise

__all__ = ["beta_likeness", "delta_disclosure", "t_closeness"]

_NEAR = 1e-9
_DIGITS = 60  # decide between a fraction of long numbers and a logarithm: these are equal only if both are 0


def t_closeness(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The earth mover's distance between a class and the table is at most t."""
    t, how = promise.number("t"), promise.parameters.get("distance", "equal")
    if how == "ordered" and not values.ordered:
        raise InputError(f"The ordered distance needs the 'order' of {promise.attribute!r}.")
    if how == "hierarchical" and values.hierarchy is None:
        raise InputError(f"The hierarchical distance needs a 'hierarchy' of {promise.attribute!r}.")
    distance = {"equal": equal_distance, "ordered": ordered_distance, "hierarchical": hierarchical_distance}
    parts = [distance[how](piece, values) for piece in counts.pieces()]
    top, bottom = map(np.concatenate, zip((counts.sizes[:0], counts.sizes[:0]), *parts))
    return Judged(t, at_most(top, bottom, t), lambda chosen: greatest_share(top[chosen], bottom[chosen]))


def delta_disclosure(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The logarithm of class share over table share is above -delta and below delta, for every value."""
    delta = promise.number("delta")
    top, bottom = _gains(counts, values)
    logs = np.abs(np.log2(top.astype(float)) - np.log2(bottom.astype(float)))
    within = logs < float(delta)
    a, b = delta.numerator, delta.denominator

    @cache
    def decided(share: int, of: int) -> bool:
        ratio = (share, b), (of, -b), (2, -a)
        inverse = (share, -b), (of, b), (2, -a)
        return power_product_sign(ratio) < 0 and power_product_sign(inverse) < 0

    for cell in np.flatnonzero(np.abs(logs - float(delta)) < _NEAR).tolist():
        within[cell] = decided(*Fraction(int(top[cell]), int(bottom[cell])).as_integer_ratio())
    complete = counts.distinct == np.count_nonzero(
        values.overall
    )  # a value that is absent is infinitely rarer
    holds = complete.copy()
    holds[counts.class_of[~within]] = False
    greatest = counts.most(logs)
    return Judged(
        delta, holds, lambda chosen: float(greatest[chosen].max()) if complete[chosen].all() else inf
    )


def beta_likeness(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The share of no value exceeds that in the table more than beta times; enhanced, than -ln of it."""
    beta = promise.number("beta")
    top, bottom = _gains(counts, values)
    broken = ~at_most(top, bottom, beta + 1)
    beyond = np.zeros(len(counts.sizes), dtype=bool)  # more than any beta allows
    if promise.is_kind("enhanced"):
        above = _above_logarithm(top, bottom, counts, values)
        beyond[counts.class_of[above]] = True
    holds = ~beyond
    holds[counts.class_of[broken]] = False

    def worst(chosen: np.ndarray) -> Measure:
        if beyond[chosen].any():
            return inf
        cells = chosen[counts.class_of]
        shares = _gains(counts, values)  # again, rather than held until all promises are judged
        return max(greatest_share(shares[0][cells], shares[1][cells]) - 1, Fraction(0))

    return Judged(beta, holds, worst)


def _gains(counts: Counts, values: Values) -> tuple[np.ndarray, np.ndarray]:
    """Per cell the share of its value in the class over that in the table: numerators and denominators."""
    total = int(values.overall.sum())
    greatest = total * int(counts.sizes.max(initial=1))
    count, sizes, overall = (wide(a, greatest) for a in (counts.count, counts.sizes, values.overall))
    return count * total, sizes[counts.class_of] * overall[counts.value_of]


def _above_logarithm(top: np.ndarray, bottom: np.ndarray, counts: Counts, values: Values) -> np.ndarray:
    """Per cell whether the gain of its value is above -ln of the value's share in the table."""
    total = int(values.overall.sum())
    share = (values.overall[counts.value_of] / total).astype(float)
    excess = (top / bottom).astype(float) - 1 + np.log(share)
    above = excess > 0

    @cache
    def decided(gain: Fraction, frequency: Fraction) -> bool:
        if frequency == 1:
            return gain > 0
        with localcontext() as context:
            context.prec = _DIGITS
            n, q = Decimal(frequency.numerator), Decimal(frequency.denominator)
            return Decimal(gain.numerator) / Decimal(gain.denominator) > q.ln() - n.ln()

    for cell in np.flatnonzero(np.abs(excess) < _NEAR).tolist():
        frequency = Fraction(int(values.overall[counts.value_of[cell]]), total)
        above[cell] = decided(Fraction(int(top[cell]), int(bottom[cell])) - 1, frequency)
    return above

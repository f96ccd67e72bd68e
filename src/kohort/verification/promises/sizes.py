"""Promises about the number of records of classes: k-anonymity, risk limits, differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import comb, log

import numpy as np

from kohort.verification.promises.counts import Counts, Values
from kohort.verification.promises.promise import Judged, Measure, Promise


def k_anonymity(promise: Promise, counts: Counts, values: Values) -> Judged:
    """At least k records in every class."""
    k = int(promise.number("k"))
    return Judged(k, counts.sizes >= k, lambda chosen: int(counts.sizes[chosen].min()))


def differential_privacy(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The chance delta that classes of these sizes leave for a breach of epsilon is low enough."""
    epsilon, delta = promise.number("epsilon"), promise.number("delta")
    large = _enough(counts.sizes, lambda size: Fraction(failure_chance(size, epsilon)) <= delta)
    return Judged(
        delta, large, lambda chosen: float(failure_chance(int(counts.sizes[chosen].min()), epsilon))
    )


def risk_limit(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The chance that somebody is found is below a limit: for everybody, for most people, or on average."""
    limit, sizes = promise.number("limit"), counts.sizes
    strict = promise.parameters.get("strict", True)
    fraction = None
    if promise.parameters.get("against", "sample") == "population":
        fraction = promise.number("sampling_fraction")

    def fine(risk: Measure) -> bool:
        bound = limit if isinstance(risk, Fraction) else float(limit)
        return risk < bound if strict else risk <= bound

    def risk_of(size: int) -> Measure:
        return Fraction(1, size) if fraction is None else expected_risk(size, float(fraction))

    within = _enough(sizes, lambda size: fine(risk_of(size)))
    if "share" in promise.parameters:
        share = promise.number("share")

        def above(chosen: np.ndarray) -> Fraction:
            return Fraction(int(sizes[chosen & ~within].sum()), int(sizes[chosen].sum()))

        return Judged(share, within | _all(sizes, above, lambda found: found <= share), above)
    if promise.parameters.get("of", "maximum") == "maximum":
        return Judged(limit, within, lambda chosen: risk_of(int(sizes[chosen].min())))

    def average(chosen: np.ndarray) -> Measure:
        if fraction is None:  # the records of a class share a risk of 1 out of as many
            return Fraction(int(chosen.sum()), int(sizes[chosen].sum()))
        size, place = np.unique(sizes[chosen], return_inverse=True)
        risks = np.array([expected_risk(int(one), float(fraction)) for one in size])[place]
        return float((risks * sizes[chosen]).sum() / int(sizes[chosen].sum()))

    return Judged(limit, within | _all(sizes, average, fine), average)


def _enough(sizes: np.ndarray, fine: Callable[[int], bool]) -> np.ndarray:
    """Per class whether its size is enough, where every size above an enough one is, too.

    Small sizes are tried first: of large ones the answer may take long.
    """
    distinct = np.unique(sizes).tolist()
    below, enough = -1, 0
    while enough < len(distinct) and not fine(distinct[enough]):
        below, enough = enough, 2 * enough + 1
    enough = min(enough, len(distinct))
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if fine(distinct[middle]) else (middle, enough)
    return sizes >= distinct[enough] if enough < len(distinct) else np.zeros(len(sizes), dtype=bool)


def _all(
    sizes: np.ndarray, found: Callable[[np.ndarray], Measure], fine: Callable[[Measure], bool]
) -> np.ndarray:
    """Of a promise about all classes together: for every class whether it is kept."""
    everything = np.ones(len(sizes), dtype=bool)
    return np.full(len(sizes), bool(len(sizes)) and fine(found(everything)))


_DIGITS = 60


@lru_cache(maxsize=4096)
def expected_risk(size: int, fraction: float) -> float:
    """The expectation of 1 / F, where the F people of a class have so many of their records in a sample.

    F is negative binomial (Benedetti and Franconi, 1998). With p the fraction, f the size and q = 1 - p, it
    is I(f) = p / q (1 / (f - 1) - I(f - 1)) with I(1) = -p log(p) / q, and p times the sum over j of
    q^j j! / (f (f + 1) ... (f + j)), which is taken where the recursion would lose digits.
    """
    p, q = fraction, 1 - fraction
    if q == 0:
        return 1 / size
    if p <= q and size <= 200:
        found = p / q * -log(p)
        for f in range(2, size + 1):
            found = p / q * (1 / (f - 1) - found)
        return found
    total, term, j = 0.0, 1 / size, 0
    while total + term > total:
        total, j = total + term, j + 1
        term *= q * j / (size + j)
    return p * total


@lru_cache(maxsize=512)
def failure_chance(size: int, epsilon: Fraction) -> Decimal:
    """The delta of (epsilon, delta)-differential privacy where every class has at least so many records.

    Records are drawn with the chance b = 1 - e^-epsilon and recoded in a way that does not look at them (Li,
    Qardaji and Su, 2012): with c = (e^epsilon - 1 + b) / e^epsilon, delta is the greatest chance, over all n
    from size / c - 1 on, that more than c n of n records are drawn.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        grows = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        drawn = 1 - 1 / grows
        share = (grows - 1 + drawn) / grows
        n = first = max(int((size / share - 1).to_integral_value(ROUND_CEILING)), 0)
        # of n records, the chance is at most exp(-n rate) (Chernoff): from some n on, none can be greater
        rate = share * (share / drawn).ln() + (1 - share) * ((1 - share) / (1 - drawn)).ln()
        greatest = Decimal(0)
        while n == first or greatest < (-n * rate).exp():
            greatest = max(greatest, _more_than(share, n, drawn))
            n += 1
        return greatest


def _more_than(share: Decimal, n: int, drawn: Decimal) -> Decimal:
    """The chance that more than a share of n records are drawn."""
    least = int((share * n).to_integral_value(ROUND_FLOOR)) + 1
    total = Decimal(0)
    term = comb(n, least) * drawn**least * (1 - drawn) ** (n - least) if least <= n else Decimal(0)
    for number in range(least, n + 1):
        total += term
        term *= drawn / (1 - drawn) * (n - number) / (number + 1)
        if term * 10**40 < total:
            break
    return total

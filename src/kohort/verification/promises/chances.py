"""Chances that promises bound: of being found in a population, and of a breach under sampling."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import comb, log

__all__ = ["expected_risk", "failure_chance"]

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

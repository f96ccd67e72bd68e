"""The chance that a record is found in a population, estimated from its class in a sample of it.

Benedetti and Franconi (1998): a class with f records of the sample has F people in the population, where F
follows the negative binomial distribution with f successes and the sampling fraction p. The chance is the
expectation of 1 / F.
"""

from __future__ import annotations

from functools import lru_cache
from math import log

import numpy as np

__all__ = ["expected_risk", "least_size"]

_ENOUGH = 1e-16  # terms below this part of the sum do not change it


def expected_risk(sizes: np.ndarray, fraction: float) -> np.ndarray:
    """The expectation of 1 / F for classes of these sizes in a sample of this fraction of the population."""
    distinct, place = np.unique(sizes, return_inverse=True)
    return np.array([_of_size(int(size), fraction) for size in distinct])[place]


def least_size(limit: float, fraction: float, *, strict: bool) -> int:
    """The smallest class whose expected risk is within the limit; the risk falls as classes grow."""
    low, high = 0, 1
    while not _within(_of_size(high, fraction), limit, strict):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _within(_of_size(middle, fraction), limit, strict) else (middle, high)
    return high


def _within(risk: float, limit: float, strict: bool) -> bool:
    return risk < limit if strict else risk <= limit


@lru_cache(maxsize=4096)
def _of_size(size: int, p: float) -> float:
    """p times the integral of u^(f - 1) / (p + q u) over u from 0 to 1, which equals the expectation.

    By a recursion in f where it is stable (p at most a half) and f is small, else by a series whose terms
    shrink at least as fast as the powers of q f / (f + 1).
    """
    if p == 1:
        return 1 / size
    q = 1 - p
    if p <= 0.5 and size <= 200:
        risk = p / q * -log(p)
        for f in range(1, size):
            risk = p / q * (1 / f - risk)
        return risk
    term = total = 1 / size
    j = 0
    while term > _ENOUGH * total:
        j += 1
        term *= q * j / (size + j)
        total += term
    return p * total

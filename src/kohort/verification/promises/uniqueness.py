"""Estimates of how many people are unique in a population, from the sizes of classes of a sample.

By Pitman's sampling model (1996), with the likelihood as in Hoshino (2001), for samples of up to a tenth;
by Zayatz (1991) for others: so Dankar, El Emam, Neisa and Roffey (2012) found on clinical data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import exp, lgamma, log, sqrt

import numpy as np

__all__ = ["unique_share"]

_MOST_FOR_PITMAN = 0.1
_STEPS = 60  # of a golden section: it narrows an interval to a part of 1e-12


def unique_share(sizes: np.ndarray, fraction: float, estimate: str) -> float:
    """The estimated share of a population that is unique in it, of which a fraction is the sample."""
    n = int(sizes.sum())
    population = max(round(n / fraction), n)
    times = dict(sorted(Counter(sizes.tolist()).items()))
    if population == n:
        return times.get(1, 0) / n
    if estimate == "auto":
        estimate = "pitman" if fraction <= _MOST_FOR_PITMAN else "zayatz"
    uniques = (_pitman if estimate == "pitman" else _zayatz)(times, n, population)
    return min(uniques / population, 1.0)


def _pitman(times: dict[int, int], n: int, population: int) -> float:
    """N times the chance that N - 1 others differ from somebody, with the likeliest theta and alpha.

    The likelihood of sizes is the product of (theta + i alpha) for new classes, over that of theta + i for
    all records, times (1 - alpha) (2 - alpha) ... (size - 1 - alpha) for each class; by logarithms of gamma.
    """
    classes = sum(times.values())

    def likelihood(theta: float, alpha: float) -> float:
        joining = sum(t * (lgamma(size - alpha) - lgamma(1 - alpha)) for size, t in times.items())
        opening = (classes - 1) * log(alpha) + lgamma(theta / alpha + classes) - lgamma(theta / alpha + 1)
        return opening + joining - lgamma(theta + n) + lgamma(theta + 1)

    def likeliest(alpha: float) -> float:
        return exp(_peak(lambda x: likelihood(exp(x) - alpha, alpha), -15.0, log(n) + 15.0)) - alpha

    alpha = _peak(lambda a: likelihood(likeliest(a), a), 1e-6, 1 - 1e-6)
    theta = likeliest(alpha)
    others = lgamma(theta + alpha + population - 1) - lgamma(theta + alpha)
    return population * exp(others + lgamma(theta + 1) - lgamma(theta + population))


def _zayatz(times: dict[int, int], n: int, population: int) -> float:
    """The uniques of the sample that are expected to be unique in the population, over the fraction.

    If the population had classes of the same sizes, a class of this size would show one member in the sample
    with a hypergeometric chance; by Bayes' rule follows how likely a class that shows one has no other.
    """

    def shows_one(size: int) -> float:
        rest = population - size
        if rest < n - 1:
            return 0.0
        return size * exp(
            lgamma(rest + 1)
            - lgamma(n)
            - lgamma(rest - n + 2)
            - lgamma(population + 1)
            + lgamma(n + 1)
            + lgamma(population - n + 1)
        )

    alone = times.get(1, 0)
    if not alone:
        return 0.0
    has_no_other = alone * n / population / sum(t * shows_one(size) for size, t in times.items())
    return alone * has_no_other * population / n


def _peak(height: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one hill is highest, by golden section."""
    golden = (sqrt(5) - 1) / 2
    inner = [high - golden * (high - low), low + golden * (high - low)]
    heights = [height(x) for x in inner]
    for _ in range(_STEPS):
        if heights[0] >= heights[1]:
            high = inner[1]
            inner = [high - golden * (high - low), inner[0]]
            heights = [height(inner[0]), heights[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + golden * (high - low)]
            heights = [heights[1], height(inner[1])]
    return (low + high) / 2

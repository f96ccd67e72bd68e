"""How many people are unique in a population, estimated from a sample of it.

Pitman's sampling model (Pitman, 1996; fitted by maximum likelihood as by Hoshino, 2001) and Zayatz's estimate
(1991). Dankar, El Emam, Neisa and Roffey (2012) compared such models on clinical data: Pitman's is the one to
take for a sample of up to a tenth of the population, Zayatz's for larger ones.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log
from typing import Any

import numpy as np

_SMALL_SAMPLE = 0.1
_GOLDEN = (5**0.5 - 1) / 2


def population_uniqueness(sizes: np.ndarray, fraction: float) -> dict[str, Any]:
    """The estimated share of the population that is unique, by both models and by the one to take."""
    found = {model: estimated_uniqueness(sizes, fraction, model) for model in ("pitman", "zayatz")}
    model = _model_to_take(fraction)
    return {"share": found[model], "model": model, **found}


def estimated_uniqueness(sizes: np.ndarray, fraction: float, model: str = "auto") -> float:
    """The estimated share of the population that is unique, by a model: pitman, zayatz or the one to take."""
    n = int(sizes.sum())
    population = max(round(n / fraction), n)
    if not n:
        return 0.0
    if population == n:
        return float((sizes == 1).sum() / n)  # the sample is the population: nothing to estimate
    if (_model_to_take(fraction) if model == "auto" else model) == "pitman":
        return min(pitman_uniques(*fit_pitman(sizes), population) / population, 1.0)
    return min(zayatz_uniques(sizes, population) / population, 1.0)


def _model_to_take(fraction: float) -> str:
    return "pitman" if fraction <= _SMALL_SAMPLE else "zayatz"


def fit_pitman(sizes: np.ndarray) -> tuple[float, float]:
    """The theta and alpha of Pitman's model that make the sizes of classes most likely.

    The likelihood is a sum over distinct sizes, by logarithms of the gamma function; for each alpha the best
    theta, and of those the best alpha, by golden section: about 4,000 sums over distinct sizes.
    """
    size, times = np.unique(sizes, return_counts=True)
    classes, n = int(times.sum()), int(sizes.sum())
    counted = list(zip(size.tolist(), times.tolist()))

    def likelihood(theta: float, alpha: float) -> float:
        joins = sum(s * (lgamma(j - alpha) - lgamma(1 - alpha)) for j, s in counted)
        new = (classes - 1) * log(alpha) + lgamma(theta / alpha + classes) - lgamma(theta / alpha + 1)
        return new + joins - lgamma(theta + n) + lgamma(theta + 1)

    def best_theta(alpha: float) -> float:
        return exp(_maximum(lambda x: likelihood(exp(x) - alpha, alpha), -15.0, log(n) + 15.0)) - alpha

    alpha = _maximum(lambda a: likelihood(best_theta(a), a), 1e-6, 1 - 1e-6)
    return best_theta(alpha), alpha


def pitman_uniques(theta: float, alpha: float, population: int) -> float:
    """How many of a population are expected to be unique: N times the chance that N - 1 others differ."""
    differ = lgamma(theta + alpha + population - 1) - lgamma(theta + alpha)
    return population * exp(differ + lgamma(theta + 1) - lgamma(theta + population))


def zayatz_uniques(sizes: np.ndarray, population: int) -> float:
    """The expected uniques of the population, if its classes had the same sizes as those of the sample.

    A unique of the sample is unique in the population if its class has one member there; the probability
    of that follows by Bayes' rule from the sizes of classes.
    """
    n = int(sizes.sum())
    size, times = np.unique(sizes, return_counts=True)
    chances = [_one_drawn(int(i), n, population) for i in size]
    alone = int(times[size == 1].sum())
    if not alone:
        return 0.0
    unique = alone * n / population / sum(t * c for t, c in zip(times.tolist(), chances))
    return alone * unique * population / n


def _one_drawn(size: int, n: int, population: int) -> float:
    """The chance that a sample holds exactly one of the members of a class (hypergeometric)."""
    if population - size < n - 1:
        return 0.0
    return size * exp(
        lgamma(population - size + 1)
        - lgamma(n)
        - lgamma(population - size - n + 2)
        - lgamma(population + 1)
        + lgamma(n + 1)
        + lgamma(population - n + 1)
    )


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one hill is highest, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(60):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2

"""The arithmetic of SafePub against its definition, in fractions and floats."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, exp, floor

import pytest

from kohort.problem.promises.differential_privacy import attained_delta, least_class, sampling_rate


def delta_by_definition(k, epsilon, beyond=400):
    """The largest tail of all n from n_m on; `beyond` n_m + 400 all are smaller in these cases."""
    beta = 1 - exp(-epsilon)
    gamma = (exp(epsilon) - 1 + beta) / exp(epsilon)
    first = ceil(k / gamma - 1)
    return max(tail_by_definition(n, beta, gamma) for n in range(first, first + beyond))


def tail_by_definition(n, beta, gamma):
    chance = Fraction(beta)
    terms = (comb(n, j) * chance**j * (1 - chance) ** (n - j) for j in range(floor(gamma * n) + 1, n + 1))
    return float(sum(terms, Fraction(0)))


@pytest.mark.parametrize("epsilon", ["1/2", 1, "3/2"])
@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_delta_is_by_definition(k, epsilon):
    found = attained_delta(k, Fraction(epsilon))
    assert float(found) == pytest.approx(delta_by_definition(k, float(Fraction(epsilon)), 60), rel=1e-9)


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**9)])
def test_the_least_class_attains_delta_and_a_smaller_one_does_not(epsilon, delta):
    k = least_class(epsilon, delta)
    assert attained_delta(k, epsilon) <= delta < attained_delta(k - 1, epsilon)


def test_delta_falls_with_k():
    found = [attained_delta(k, Fraction(1)) for k in range(1, 40)]
    assert found == sorted(found, reverse=True)


def test_the_sampling_rate_is_the_largest_that_epsilon_allows():
    assert float(sampling_rate(Fraction(1))) == pytest.approx(1 - exp(-1), rel=1e-15)


@pytest.mark.parametrize("epsilon, beta, n", [(1.0, 1 - exp(-1), 9), (0.5, 1 - exp(-0.5), 14)])
def test_what_delta_means_for_one_class(epsilon, beta, n):
    """One class with or without one person: with k, odds beyond e^epsilon have a chance of at most delta.

    The mechanism publishes how many of n people were drawn, or nothing if fewer than k. Over all k the two
    tables are compared outcome by outcome, in both directions.
    """
    for k in range(1, n + 2):
        with_, without = (published(size, beta, k) for size in (n, n - 1))
        for left, right in ((with_, without), (without, with_)):
            excess = sum(max(p - exp(epsilon) * right.get(o, 0.0), 0.0) for o, p in left.items())
            assert excess <= float(attained_delta(k, Fraction(epsilon))) + 1e-12


def published(size, beta, k):
    found = {}
    for j in range(size + 1):
        outcome = j if j >= k else None
        found[outcome] = found.get(outcome, 0.0) + comb(size, j) * beta**j * (1 - beta) ** (size - j)
    return found

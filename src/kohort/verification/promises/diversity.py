"""Promises about how frequent values are in a class: l-diversity and alpha-deassociation."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, exp, gcd, inf, log

import numpy as np

from kohort.verification.promises.counts import Counts, Values
from kohort.verification.promises.exact import at_most, greatest_share, power_product_sign
from kohort.verification.promises.promise import Judged, Measure, Promise

_NEAR = 1e-9


def l_diversity(promise: Promise, counts: Counts, values: Values) -> Judged:
    """Every class has l well-represented values: by frequency, number, entropy, or the recursive rule."""
    if promise.is_kind("recursive"):
        return _recursive(int(promise.number("l")), promise.number("c"), counts)
    l = promise.number("l")  # noqa: E741 (the name it has in every paper)
    if promise.is_kind("distinct"):
        return Judged(l, counts.distinct >= ceil(l), lambda chosen: int(counts.distinct[chosen].min()))
    if promise.is_kind("entropy"):
        return _entropy(l, counts)
    return Judged(
        l,
        at_most(counts.largest, counts.sizes, 1 / l),
        lambda chosen: 1 / greatest_share(counts.largest[chosen], counts.sizes[chosen]),
    )


def _entropy(l: Fraction, counts: Counts) -> Judged:  # noqa: E741
    """The entropy of every class, log n - sum of (c log c) / n, is at least log l."""
    count, sizes = counts.count.astype(float), counts.sizes.astype(float)
    entropy = np.log(sizes) - counts.total(count * np.log(count)) / sizes
    missing = (log(l.numerator) - log(l.denominator)) - entropy
    holds = missing < 0
    decided: dict[tuple[int, ...], bool] = {}
    ends = counts.starts + counts.distinct
    for place in np.flatnonzero(np.abs(missing) < _NEAR).tolist():
        cells = counts.count[counts.starts[place] : ends[place]].tolist()
        cells = tuple(sorted(c // gcd(*cells) for c in cells))  # the same distribution, in the least numbers
        if cells not in decided:
            n, times = sum(cells), Counter(cells)  # n^n >= l^n times the product of all c^c
            powers = [(n, n), (l.denominator, n), (l.numerator, -n)]
            decided[cells] = power_product_sign([*powers, *((c, -c * t) for c, t in times.items())]) >= 0
        holds[place] = decided[cells]
    return Judged(l, holds, lambda chosen: exp(entropy[chosen].min()))


def _recursive(l: int, c: Fraction, counts: Counts) -> Judged:  # noqa: E741
    """The most frequent value occurs less than c times as often as all from the l-th on together."""
    tails = counts.sizes - _most_frequent(counts, l - 1)

    def worst(chosen: np.ndarray) -> Measure:
        return greatest_share(counts.largest[chosen], tails[chosen]) if tails[chosen].all() else inf

    return Judged(c, ~at_most(tails, counts.largest, 1 / c), worst)


def _most_frequent(counts: Counts, number: int) -> np.ndarray:
    """How many records of each class have one of its so many most frequent values."""
    left, found = counts.count.copy(), counts.sizes * 0
    for _ in range(min(number, int(counts.distinct.max(initial=0)))):
        most = counts.most(left)
        found = found + most
        first = np.flatnonzero(left == np.repeat(most, counts.distinct))
        first = first[np.unique(counts.class_of[first], return_index=True)[1]]
        left[first] = 0
    return found


def alpha_deassociation(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The listed values, together or each by itself, or else every value, make up at most the share alpha."""
    alpha, listed = promise.number("alpha"), promise.parameters.get("values")
    count = counts.count
    if listed is not None:
        is_listed = np.zeros(max(counts.n_values, 1), dtype=bool)
        is_listed[values.codes(listed)] = True
        count = count * is_listed[counts.value_of]
    together = listed is not None and promise.parameters.get("combine", True)
    bounded = counts.total(count) if together else counts.most(count)
    if promise.parameters.get("rounding", "none") == "none":
        holds = at_most(bounded, counts.sizes, alpha)
    else:  # at most alpha n, rounded up: one less is below alpha n
        holds = ~at_most(counts.sizes, bounded - 1, 1 / alpha)
    return Judged(alpha, holds, lambda chosen: greatest_share(bounded[chosen], counts.sizes[chosen]))

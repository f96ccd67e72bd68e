"""How many records of a group can have the same sensitive value, for the sizes that need a check."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, LDiversity, Model

_BEYOND = 6  # times k or l: for larger groups of entropy l-diversity only the size is checked
_ROUNDING = 1e-9


def limited_sizes(problem: Problem, model: Model) -> list[tuple[int, int]]:
    """Sizes of groups that need a check, and the most records that can have one value; none for other models.

    For entropy, groups of `_BEYOND` times k, or times l, and more count as one size without a limit.
    """
    share = greatest_share(model)
    if share is not None:
        return [(size, math.floor(size * share)) for size in _sizes(share, problem.k)]
    if not (isinstance(model, LDiversity) and model.kind == "entropy"):
        return []
    n_values, least = problem.sensitive[model.attribute].n_values, float(model.exact_l)
    beyond = _BEYOND * max(problem.k, math.ceil(least))
    caps = [(size, _most_alike(size, n_values, least)) for size in range(problem.k, beyond)]
    return [*((size, cap) for size, cap in caps if cap), (beyond, beyond)]


def greatest_share(model: Model) -> Fraction | None:
    if isinstance(model, LDiversity):
        return 1 / model.exact_l if model.kind == "frequency" else None
    if isinstance(model, AlphaDeassociation) and model.rounding == "none":
        return model.asked
    return None


def _sizes(share: Fraction, k: int) -> range:
    """The sizes of groups that need a check where listed values make up at most `share` = a / b.

    A larger group has a share of at least m = a * ceil(k / b) + ceil(k * share) records, so it can be split
    into two valid groups of k or more, one of them of b * ceil(k / b) records (the proof: docs, `improve`).
    """
    most = share.numerator * math.ceil(Fraction(k, share.denominator)) + math.ceil(k * share)
    return range(k, max(math.ceil(most / share), k + 1))


def _most_alike(size: int, n_values: int, least: float) -> int:
    """How many of `size` records can have the same value where exp(entropy) is at least `least`; 0 if none.

    With the others spread evenly, the entropy is highest.
    """
    most = 0
    for alike in range(1, size + 1):
        others = np.array_split(np.ones(size - alike), n_values - 1) if n_values > 1 else []
        counts = np.array([alike, *map(len, others)], dtype=float)
        shares = counts[counts > 0] / size
        complete = counts.sum() == size
        if complete and -(shares * np.log(shares)).sum() >= math.log(least) - _ROUNDING:
            most = alike
    return most

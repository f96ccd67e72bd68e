"""Promises about how frequent values are in a class: l-diversity and alpha-deassociation."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import ceil, exp, gcd, inf, log

import numpy as np

from kohort.errors import InputError
from kohort.verification.promises.promise import (
    Counts,
    Judged,
    Measure,
    Promise,
    Values,
    at_most,
    greatest_share,
    power_product_sign,
    wide,
)

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


_NEAR = 1e-9
_DIGITS = 60  # decide between a fraction of long numbers and a logarithm: these are equal only if both are 0


def t_closeness(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The earth mover's distance between a class and the table is at most t."""
    t, how = promise.number("t"), promise.parameters.get("distance", "equal")
    if how == "ordered" and not values.ordered:
        raise InputError(f"The ordered distance needs the 'order' of {promise.attribute!r}.")
    if how == "hierarchical" and values.hierarchy is None:
        raise InputError(f"The hierarchical distance needs a 'hierarchy' of {promise.attribute!r}.")
    distance = {
        "equal": _equal_distance,
        "ordered": _ordered_distance,
        "hierarchical": _hierarchical_distance,
    }
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


Ratios = tuple[np.ndarray, np.ndarray]


def _equal_distance(counts: Counts, values: Values) -> Ratios:
    """Every move costs 1: all that is surplus is moved."""
    total = int(values.overall.sum())
    return _surplus(counts, values.overall, total, 1), _whole(counts, total, 1)


def _hierarchical_distance(counts: Counts, values: Values) -> Ratios:
    """A move costs the height of the lowest common ancestor over that of the root.

    At a node of height h, what its children have too much goes to those that have too little; what is left
    is its own surplus. So h times (the surplus of its children less its own) is paid, and added up a surplus
    costs the climb to its parent.
    """
    tree = values.hierarchy
    assert tree is not None
    total, height = int(values.overall.sum()), max(int(tree.level[0]), 1)
    leaf = np.array([tree.leaf_of[text] for text in values.texts], dtype=np.int64)
    node_of = tree.leaf_node[leaf].astype(np.int64)
    moved = _whole(counts, total, height) * 0
    # nodes are numbered with parents first: below is complete once all higher numbers are added
    below = np.zeros(len(tree.parent), dtype=values.overall.dtype)
    np.add.at(below, node_of, values.overall)
    for node in range(len(below) - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    depth = np.zeros(len(below), dtype=np.int64)
    for node in range(1, len(below)):
        depth[node] = depth[tree.parent[node]] + 1
    at = _by_node(counts, node_of, len(below))
    for level in range(int(depth.max()), 0, -1):
        climb = np.where(depth == level, tree.level[tree.parent] - tree.level, 0)
        moved = moved + _surplus(at, below, total, height, climb)
        at = _by_node(at, np.where(depth == level, tree.parent, np.arange(len(below))), len(below))
    return moved, _whole(counts, total, height)


def _ordered_distance(counts: Counts, values: Values) -> Ratios:
    """A move costs the steps between two values over the most steps possible.

    Past each value, as much is moved as the class has more or less up to there than the table. Up to the
    next cell that occurs the class has the same, F; the table has Q[v] up to value v, which never falls.
    """
    steps, total = max(len(values.overall) - 1, 1), int(values.overall.sum())
    greatest = 4 * len(values.overall) * total * int(counts.sizes.max(initial=1))
    upto = np.cumsum(values.overall)
    table, sum_of_table = (wide(a, greatest) for a in (upto, np.append(0, np.cumsum(wide(upto, greatest)))))
    sizes, count = wide(counts.sizes, greatest), wide(counts.count, greatest)
    n = sizes[counts.class_of]
    running = np.cumsum(count)
    before = np.append(0, running)[counts.starts]
    have = (running - np.repeat(before, counts.distinct)) * total  # F N n
    begin = counts.value_of.astype(np.int64)
    end = np.append(begin[1:], 0)
    end[counts.starts + counts.distinct - 1] = len(table)
    ahead = np.clip(np.searchsorted(table, have // n, side="right"), begin, end)  # Q <= F up to here

    def apart(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return (last - first) * have - n * (sum_of_table[last] - sum_of_table[first])

    moved = counts.total(apart(begin, ahead) - apart(ahead, end))
    first = sum_of_table[begin[counts.starts]] * sizes  # before its first cell a class has nothing
    return moved + first, _whole(counts, total, steps)


def _whole(counts: Counts, total: int, steps: int) -> np.ndarray:
    """The denominators: n N, times how many steps the longest move has."""
    return wide(counts.sizes, 4 * total * steps * int(counts.sizes.max(initial=1))) * (total * steps)


def _surplus(
    counts: Counts, overall: np.ndarray, total: int, steps: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Per class the sum of what its cells have too much, each times the weight of its value."""
    greatest = 4 * total * steps * int(counts.sizes.max(initial=1))
    count, sizes, fair = (wide(a, greatest) for a in (counts.count, counts.sizes, overall))
    more = np.maximum(count * total - fair[counts.value_of] * sizes[counts.class_of], 0)
    return counts.total(more if weight is None else more * wide(weight, greatest)[counts.value_of])


def _by_node(counts: Counts, node_of: np.ndarray, n_nodes: int) -> Counts:
    """The counts with each value replaced by a node."""
    keys = counts.class_of * np.int64(n_nodes) + node_of[counts.value_of]
    order = np.argsort(keys, kind="stable")  # fast, as classes are in order
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    count = np.add.reduceat(counts.count[order].astype(counts.sizes.dtype), first)
    class_of, node = np.divmod(keys[first], n_nodes)
    return Counts(counts.sizes, class_of, node, count, n_nodes)

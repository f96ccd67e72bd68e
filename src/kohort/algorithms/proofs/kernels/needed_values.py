"""The value that a search for dear boxes branches on: one that many of the dearest records need."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order
from kohort.problem.encoding.layout import ORDERED

__all__ = ["needed_value"]


@kernel
def needed_value(rows, search, level, price, cost, taken):
    """A column and a value that the box does not have, and that about half of the dearest records need.

    The dearest are k records by price, less half of what a box costs at least that holds them. Values that
    cost more are preferred. In an ordered column, records need a value if they lie at or beyond it.

    cost   per candidate: what a box costs at least that holds it
    taken  room: per candidate how many of its records are among the dearest
    """
    _take_dearest(rows, search, level, price, cost, taken)
    best, column, value = -1.0, -1, 0
    for a in range(rows.leaves.shape[1]):
        attribute = rows.cells.attribute[a]
        tally, growth = search.tally[: attribute.n_leaves], search.price[: attribute.n_leaves]
        tally[:] = 0
        for i in range(search.n[level]):
            if taken[i] > 0 and search.more[level, i, a] > 0.0:
                leaf = rows.leaves[search.rows[level, i], a]
                tally[leaf] += taken[i]
                growth[leaf] = search.more[level, i, a]
        if attribute.kind == ORDERED:
            score, leaf = _best_end(tally, growth, search.lo[level, a], search.hi[level, a], rows.k)
        else:
            score, leaf = _best_leaf(tally, growth, rows.k)
        if score > best:
            best, column, value = score, a, leaf
    if column >= 0:
        return column, value
    i = 0  # the dearest are all inside: any other
    while search.more[level, i].max() <= 0.0:
        i += 1
    column = int(np.argmax(search.more[level, i]))
    return column, rows.leaves[search.rows[level, i], column]


@kernel
def _take_dearest(rows, search, level, price, cost, taken):
    """Fill how many records of each candidate are among the dearest."""
    n, left = search.n[level], rows.k
    merit = np.empty(n)
    for i in range(n):
        merit[i] = cost[i] / 2 - price[search.rows[level, i]]
        taken[i] = 0
    for i in stable_order(merit):
        taken[i] = min(rows.copies[search.rows[level, i]], left)
        left -= taken[i]
        if left == 0:
            break


@kernel
def _best_leaf(tally, growth, k):
    """The value that parts the dearest records best, and its score; -1 if none is needed."""
    best, value = -1.0, 0
    for leaf in range(len(tally)):
        if tally[leaf] > 0:
            score = growth[leaf] * min(tally[leaf], k - tally[leaf] + 0.5)
            if score > best:
                best, value = score, leaf
    return best, value


@kernel
def _best_end(tally, growth, lo, hi, k):
    """As `_best_leaf` for an interval: on each side a value that half of the records need that lie there."""
    best, value = -1.0, 0
    for step in (-1, 1):
        side = tally[:lo] if step < 0 else tally[hi + 1 :]
        count, leaf, passed = side.sum(), lo if step < 0 else hi, 0
        if count == 0:
            continue
        while passed < (count + 1) // 2:
            leaf += step
            passed += tally[leaf]
        needed = count - passed + tally[leaf]
        score = growth[leaf] * min(needed, k - needed + 0.5)
        if score > best:
            best, value = score, leaf
    return best, value

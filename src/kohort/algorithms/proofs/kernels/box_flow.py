"""A flow that proves of a node in the tree of boxes that no group in it is priced above its cost.

For a number t, let every candidate have an excess, its price above t. The k dearest records of a group that
the box may grow to hold are priced at most k * t plus the excesses of the group. Each value that the box does
not have yet would cost each of k records something: so much of the excesses of the candidates that need the
value is paid by it. If what is left unpaid is at most k * (cost of the box - t), no such group is priced
above its cost.
"""

from __future__ import annotations

from kohort.kernels.compiled import lean
from kohort.problem.encoding.layout import ORDERED

__all__ = ["MOST_TIMES", "is_paid"]

_NEAR = 1e-10
MOST_TIMES = 8  # k: so many of the dearest candidates are looked at in a flow


@lean
def is_paid(rows, tree, level, price, spent):
    """Whether a flow proves that no group which the box may grow to hold is priced above its cost."""
    some, k = tree.rows[level, : tree.n[level]], rows.k
    n, records, times = 0, 0, 1
    while n < len(some) and times <= MOST_TIMES:
        while n < len(some) and (records < times * k or price[some[n]] >= spent):
            records += rows.copies[some[n]]
            n += 1
        times = max(2 * times, records // k + 1)
        base = max(price[some[n]], 0.0) if n < len(some) else 0.0
        if base <= spent:
            _make_room(rows, tree, level)
            if _unpaid(rows, tree, level, some[:n], price, base, k * (spent - base) + _NEAR):
                return True
    return False


@lean
def _make_room(rows, tree, level):
    """What each value that the box does not have may be paid."""
    for a in range(rows.leaves.shape[1]):
        attribute = rows.cells.attribute[a]
        most = rows.k * tree.slope[a] if tree.width[level, a] > 0 else 0.0
        for place in range(attribute.leaf_start, attribute.leaf_start + attribute.n_leaves):
            tree.room[place] = most if tree.need[level, place] > 0.0 else 0.0


@lean
def _unpaid(rows, tree, level, some, price, base, most):
    """Whether excesses above `base` that no value pays add up to at most `most`."""
    left = 0.0
    for row in some:
        excess = rows.copies[row] * max(price[row] - base, 0.0)
        for a in tree.order:
            if excess <= 0.0 or tree.slope[a] == 0.0:
                break
            start, leaf = tree.start[a], rows.leaves[row, a]
            if tree.width[level, a] == 0 or tree.need[level, start + leaf] <= 0.0:
                continue
            step, end = 0, leaf
            if rows.cells.attribute[a].kind == ORDERED:  # all values up to the box are needed
                step = -1 if leaf > tree.hi[level, a] else 1
                end = tree.hi[level, a] + 1 if leaf > tree.hi[level, a] else tree.lo[level, a] - 1
            excess = _pay(tree.room, start + leaf, start + end, step, excess)
        left += excess
        if left > most:
            return False
    return True


@lean
def _pay(room, place, end, step, excess):
    """Let values from one place to another pay an excess; what is left of it."""
    while excess > 0.0:
        paid = min(room[place], excess)
        room[place] -= paid
        excess -= paid
        if place == end or step == 0:
            break
        place += step
    return excess

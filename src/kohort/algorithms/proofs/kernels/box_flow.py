"""A flow that proves of a node in the tree of boxes that no k records in it are priced above their cost.

For a number t, let every candidate have an excess, its price above t. k records that the box may grow to hold
are priced at most k * t plus their excesses. Each value that the box does not have yet would cost each of the
k records something: so much of the excesses of the candidates that need the value is paid by it. If what is
left unpaid is at most k * (cost of the box - t), no such records are priced above their cost.

A value pays the same share of the excess of every candidate that needs it, column by column. In a column
whose first value is not known, which costs nothing, the most that one value pays is taken back.

Where too much is left unpaid, by an amount that is called short, the flow still says which candidates cannot
be among such records: those that need values which could have paid `short` more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import lean
from kohort.problem.encoding.layout import ORDERED

_NEAR = 1e-10
_LANES = 4
_MOST_TIMES = 8  # k: so many of the dearest candidates are looked at in a flow


class BoxFlow(NamedTuple):
    """Room for flows: of the candidates that have an excess, and of leaves."""

    row: np.ndarray  # per candidate
    leaves: np.ndarray  # columns by candidates
    excess: np.ndarray  # per candidate: what is not paid
    load: np.ndarray  # per leaf of a column: the excess that needs it
    lanes: np.ndarray  # leaves of a column by lanes: parts of the load
    kept: np.ndarray  # per leaf of a column: the share of an excess that it leaves unpaid
    spare: np.ndarray  # per leaf of all columns: what a candidate's need of it could have paid more
    best_excess: np.ndarray  # per candidate: what is not paid by the flow that leaves least
    best_spare: np.ndarray  # per leaf of all columns: the same as `spare`, of that flow
    best: np.ndarray  # of that flow: by how much it is short, and t
    n: np.ndarray  # how many candidates that flow has; cells looked at by all flows


def new_box_flow(candidates: int, columns: int, widest: int, leaves: int) -> BoxFlow:
    """Room for flows in a table of so many rows and columns, leaves in one column, and in all."""
    return BoxFlow(
        row=np.empty(candidates, np.int32),
        leaves=np.empty((columns, candidates), np.int32),
        excess=np.empty(candidates),
        load=np.empty(widest),
        lanes=np.empty((widest, _LANES)),
        kept=np.empty(widest),
        spare=np.zeros(leaves),
        best_excess=np.empty(candidates),
        best_spare=np.zeros(leaves),
        best=np.zeros(2),
        n=np.zeros(2, np.int64),
    )


@lean
def flow_short(rows, tree, level, price, spent):
    """By how much the best flow is short of a proof: at most 0 if the node is done, inf if there was none."""
    flow, some, k = tree.flow, tree.rows[level, : tree.n[level]], rows.k
    flow.best[0], flow.n[1] = np.inf, 0
    n, records, times, filled = 0, 0, 1, 0
    while n < len(some) and times <= _MOST_TIMES:
        while n < len(some) and (records < times * k or price[some[n]] >= spent):
            records += rows.copies[some[n]]
            n += 1
        times = max(2 * times, records // k + 1)
        base = max(price[some[n]], 0.0) if n < len(some) else 0.0
        if base > spent:
            continue
        for i in range(filled, n):
            for a in range(rows.leaves.shape[1]):
                flow.leaves[a, i] = rows.leaves[some[i], a]
            flow.row[i] = some[i]
        filled = n
        for i in range(n):
            flow.excess[i] = rows.copies[some[i]] * max(price[some[i]] - base, 0.0)
        flow.n[1] += n * rows.leaves.shape[1]
        short = _short(rows, tree, level, n, rows.k * (spent - base) + _NEAR)
        if short <= 0.0:
            return short
        if short < flow.best[0]:
            _keep(flow, short, base, n)
    return flow.best[0]


@lean
def _keep(flow, short, base, n):
    """Note the flow that leaves least unpaid so far."""
    flow.best[0], flow.best[1], flow.n[0] = short, base, n
    for i in range(n):
        flow.best_excess[i] = flow.excess[i]
    for leaf in range(len(flow.spare)):
        flow.best_spare[leaf] = flow.spare[leaf]


@lean
def _short(rows, tree, level, n, most):
    """By how much more than `most` is left of the excesses of n candidates once all columns have paid."""
    flow, left, before = tree.flow, 0.0, -1
    for leaf in range(len(flow.spare)):
        flow.spare[leaf] = 0.0
    for i in range(n):
        left += flow.excess[i]
    for a in tree.order:
        if left <= most:
            break
        is_known = tree.width[level, a] > 0
        is_ordered = rows.cells.attribute[a].kind == ORDERED
        if tree.slope[a] == 0.0 or (is_ordered and not is_known):
            continue
        _add_loads(flow, before, a, n, rows.cells.attribute[a].n_leaves)
        before, room = a, rows.k * tree.slope[a]
        if is_ordered:
            left -= _paid_by_interval(rows, tree, level, a, room)
        elif is_known:
            left -= _paid_by_set(rows, tree, level, a, room)
        else:
            left -= _paid_by_any(rows, tree, a, room)
    if left > most and before >= 0:
        for i in range(n):
            flow.excess[i] *= flow.kept[flow.leaves[before, i]]
    return left - most


@lean
def _add_loads(flow, before, a, n, n_leaves):
    """Add up by the leaves of a column the excesses that the column before, if any, has left.

    Neighbours are added up apart: most have the same leaf, and an addition would wait for the one before.
    """
    for leaf in range(n_leaves):
        for lane in range(_LANES):
            flow.lanes[leaf, lane] = 0.0
    if before >= 0:
        for i in range(n):
            flow.excess[i] *= flow.kept[flow.leaves[before, i]]
    for i in range(n):
        flow.lanes[flow.leaves[a, i], i % _LANES] += flow.excess[i]
    for leaf in range(n_leaves):
        total = 0.0
        for lane in range(_LANES):
            total += flow.lanes[leaf, lane]
        flow.load[leaf] = total


@lean
def _paid_by_set(rows, tree, level, a, room):
    """What the values pay that a set does not have yet."""
    flow, start, total = tree.flow, tree.start[a], 0.0
    for leaf in range(rows.cells.attribute[a].n_leaves):
        flow.kept[leaf] = 1.0
        if tree.need[level, start + leaf] > 0.0:
            paid = min(room, flow.load[leaf])
            flow.spare[start + leaf] = room - paid
            if paid > 0.0:
                flow.kept[leaf] = 1.0 - paid / flow.load[leaf]
                total += paid
    return total


@lean
def _paid_by_any(rows, tree, a, room):
    """What the values of a column pay of which none is known, but for the one that pays most."""
    flow, total, greatest = tree.flow, 0.0, 0.0
    for leaf in range(rows.cells.attribute[a].n_leaves):
        flow.kept[leaf] = 1.0
        paid = min(room, flow.load[leaf])
        if paid > 0.0:
            flow.kept[leaf] = 1.0 - paid / flow.load[leaf]
            total += paid
            greatest = max(greatest, paid)
    return total - greatest


@lean
def _paid_by_interval(rows, tree, level, a, room):
    """What the values outside an interval pay, each for all candidates at it or beyond it."""
    flow, start, n_leaves = tree.flow, tree.start[a], rows.cells.attribute[a].n_leaves
    lo, hi = tree.lo[level, a], tree.hi[level, a]
    for leaf in range(lo, hi + 1):
        flow.kept[leaf] = 1.0
    above = _paid_on_a_side(flow, start, n_leaves - 1, hi, -1, room)
    return above + _paid_on_a_side(flow, start, 0, lo, 1, room)


@lean
def _paid_on_a_side(flow, start, first, end, step, room):
    """What the values from the outermost one to an end of the interval pay."""
    total, beyond = 0.0, 0.0
    for leaf in range(first, end, step):
        beyond += flow.load[leaf]
        paid = min(room, beyond)
        flow.kept[leaf] = 1.0 - paid / beyond if paid > 0.0 else 1.0
        flow.spare[start + leaf] = room - paid
        beyond -= paid
        total += paid
    for leaf in range(end - 2 * step, first - step, -step):  # what is beyond needs what is nearer
        flow.kept[leaf] *= flow.kept[leaf + step]
        flow.spare[start + leaf] += flow.spare[start + leaf + step]
    return total


@lean
def drop_short(rows, tree, level, price):
    """Drop candidates that need values which could have paid what the flow was short of; how many there were.

    With one of them among the k records, that much more is paid, or less is owed: its price is below t.
    """
    flow, some, before, n = tree.flow, tree.rows[level], tree.n[level], 0
    short, base = flow.best[0] + _NEAR, flow.best[1]
    for i in range(before):
        row = some[i]
        spare = max(base - price[row], 0.0)
        for a in range(rows.leaves.shape[1]):
            spare += flow.best_spare[tree.start[a] + rows.leaves[row, a]]
        some[n] = row
        n += spare < short
    tree.n[level] = n
    return before - n


@lean
def add_unpaid(rows, tree, share):
    """Scale the weights of leaves, and add what the best flow leaves unpaid of candidates that have them.

    None of these was dropped: all values that they need pay as much as they can. The work of the flow counts
    as strain on them, in proportion to what is unpaid.
    """
    flow, total = tree.flow, 0.0
    for i in range(flow.n[0]):
        total += flow.best_excess[i]
    each = flow.n[0] / total if total > 0.0 else 0.0
    for leaf in range(len(tree.weight)):
        tree.weight[leaf] *= share
    for i in range(flow.n[0]):
        unpaid = flow.best_excess[i]
        if unpaid > 0.0:
            tree.strain[flow.row[i]] += each * unpaid
            for a in range(rows.leaves.shape[1]):
                tree.weight[tree.start[a] + flow.leaves[a, i]] += unpaid

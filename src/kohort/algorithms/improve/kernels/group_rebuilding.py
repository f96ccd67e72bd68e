"""Rebuild a few groups together: gather their records into new groups, then move and exchange records."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.group_counts import (
    add,
    added_by,
    cells_joined,
    cost_exchanged,
    cost_joined,
    cost_without,
    forget,
    take_out,
)
from kohort.algorithms.improve.kernels.promises import drop_tally, recount, shortfall
from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel, lean

_EPSILON = 1e-9
_PASSES = 4


@lean
def pool_cost(counts, numbers):
    """Total cost of the records of the groups `numbers`."""
    total = 0.0
    for group in numbers:
        total += counts.size[group] * counts.cost[group]
    return total


@lean
def clear_groups(cells, counts, numbers, rows, group_of):
    """Take all rows out of their groups."""
    for i in range(len(rows)):
        if group_of[i] >= 0:
            forget(cells, counts, group_of[i], rows, i)
            group_of[i] = -1
    for group in numbers:
        counts.size[group], counts.cost[group] = 0, 0.0


@lean
def gather_groups(cells, counts, numbers, rows, group_of, k, cost):
    """Make groups of k rows, each around a seed far from the last one, and let the others join them.

    cost  a scratch array with one entry per row
    """
    seed = np.random.randint(len(rows))
    for place in range(len(numbers)):
        group = numbers[place]
        if place > 0:
            seed = _farthest(cells, rows, group_of, seed)
        _join(cells, counts, rows, group_of, seed, group)
        for i in range(len(rows)):
            cost[i] = cost_joined(cells, counts, group, rows, i) if group_of[i] < 0 else np.inf
        while counts.size[group] < k:
            best = _cheapest(cost)
            cost[best] = np.inf
            _join_and_tell(cells, counts, rows, group_of, best, group, cost)
    for i in range(len(rows)):
        if group_of[i] < 0:
            best, least = numbers[0], np.inf
            for group in numbers:
                added = added_by(cells, counts, group, rows, i)
                if added < least:
                    best, least = group, added
            _join(cells, counts, rows, group_of, i, best)


@lean
def _cheapest(cost):
    best = 0
    for i in range(len(cost)):
        if cost[i] < cost[best]:
            best = i
    return best


@lean
def _join_and_tell(cells, counts, rows, group_of, i, group, cost):
    """Let a row join a group, and update `cost`: what the group would cost with each free row."""
    for a in range(rows.shape[1]):
        if counts.copies[group, cells.attribute[a].leaf_start + rows[i, a]] == 0:
            cells_joined(cells, counts, group, a, rows, -1, cost)
    _join(cells, counts, rows, group_of, i, group)
    for a in range(rows.shape[1]):
        if counts.copies[group, cells.attribute[a].leaf_start + rows[i, a]] == 1:
            cells_joined(cells, counts, group, a, rows, 1, cost)


@lean
def _join(cells, counts, rows, group_of, i, group):
    add(cells, counts, group, rows, i)
    group_of[i] = group


@lean
def _farthest(cells, rows, group_of, seed):
    """The row without a group that would cost most together with the seed."""
    best, most = -1, -1.0
    for i in range(len(rows)):
        if group_of[i] < 0:
            cost = 0.0
            for a in range(rows.shape[1]):
                x, y = rows[i, a], rows[seed, a]
                cost += cell_cost(cells, a, min(x, y), max(x, y), 1 + (x != y))
            if cost > most:
                best, most = i, cost
    return best


@lean
def polish_groups(cells, counts, numbers, rows, group_of, k):
    """Move single rows between groups, or exchange two, while that lowers the cost."""
    for _ in range(_PASSES):
        before = pool_cost(counts, numbers)
        for i in range(len(rows)):
            group = group_of[i]
            left = cost_without(cells, counts, group, rows, i)
            if counts.size[group] > k:
                won = counts.size[group] * counts.cost[group] - (counts.size[group] - 1) * left
                if _moved(cells, counts, numbers, rows, group_of, i, won):
                    continue
            if counts.size[group] > 1 and left < counts.cost[group] - _EPSILON:
                _exchange(cells, counts, rows, group_of, i)
        if pool_cost(counts, numbers) > before - _EPSILON:
            return


@lean
def _moved(cells, counts, numbers, rows, group_of, i, won):
    """Move a row to the group where it adds least, if that is less than `won`; return whether it moved.

    won  how much leaving its own group saves
    """
    best, least = -1, won - _EPSILON
    for group in numbers:
        if group != group_of[i]:
            added = added_by(cells, counts, group, rows, i)
            if added < least:
                best, least = group, added
    if best < 0:
        return False
    take_out(cells, counts, group_of[i], rows, i)
    _join(cells, counts, rows, group_of, i, best)
    return True


@lean
def _exchange(cells, counts, rows, group_of, i):
    """Exchange a row with the row of another group that lowers the total cost most, if any does.

    Only exchanges that lower the cost of its own group are tried: others are found from the other row.
    """
    mine = group_of[i]
    size, cost = counts.size, counts.cost
    best, most = -1, _EPSILON
    for other in range(len(rows)):
        group = group_of[other]
        if group == mine:
            continue
        won = size[mine] * (cost[mine] - cost_exchanged(cells, counts, mine, rows, i, other))
        if won > max(most - size[group] * cost[group], 0.0):
            won += size[group] * (cost[group] - cost_exchanged(cells, counts, group, rows, other, i))
            if won > most:
                best, most = other, won
    if best >= 0:
        theirs = group_of[best]
        take_out(cells, counts, mine, rows, i)
        take_out(cells, counts, theirs, rows, best)
        _join(cells, counts, rows, group_of, i, theirs)
        _join(cells, counts, rows, group_of, best, mine)


@kernel
def keeps_promises(promises, records, labels, n_labels):
    """Whether the records of every label satisfy the rules. Each label must have at least k records.

    The tallies of slots 0, 1, ... are used as scratch.
    """
    size = np.zeros(n_labels, np.int64)
    for i in range(len(records)):
        recount(promises, records[i], labels[i], 1)
        size[labels[i]] += 1
    kept = True
    for label in range(n_labels):
        kept = kept and shortfall(promises, label, size[label]) == 0
    for i in range(len(records)):
        recount(promises, records[i], labels[i], -1)
    for label in range(n_labels):
        drop_tally(promises, label)
    return kept

"""Ruin and recreate of groups without a list of what they could be published as: any labels, any table.

There are two kinds of rounds. In one, a few groups around a random record are pooled and built anew. In the
other, the few records of a group that have a value are ejected: they go where they add least, so that the
group loses the value, which no single move would do; if it has too few records then, others that fit come
in. A round is kept if it costs no more, or only a little more while the search is hot.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kohort.kernels.counted_groups import add, forget, give_back, link, members, show, take_number
from kohort.kernels.eject import ejected, look_around
from kohort.kernels.pool import clear, gather, keeps_promises, polish, pool_cost

__all__ = ["MOST_POOLED", "regroup"]

MOST_POOLED = 6  # groups that are built, one more than are taken
_MOST_RECORDS = 4_000  # in a pool
_EJECTING = 0.7  # of the rounds
_ONLY_POLISH = 0.2  # of the rebuilding rounds leave groups as they are but for moves
_NEAR = 1.15  # times the old cost: so near, moves may make it cheaper
_EPSILON = 1e-9
_N_NEAR = 10  # groups, of which one to four are pooled with that of a record


@njit(cache=True, nogil=True)
def regroup(cells, promises, groups, rows, seed, rounds, heat):
    """So many rounds; how many of them made it cheaper.

    heat  what a round may add to the cost, on average where it adds anything
    O(groups * attributes + pool^2 * attributes) each.
    """
    np.random.seed(seed)
    added = np.empty(len(groups.counts.size), np.float32)
    n_better = 0
    for _ in range(rounds):
        record = np.random.randint(len(rows))
        for _ in range(20):  # a group that loses nothing cannot lose less
            if groups.counts.cost[groups.group[record]] > _EPSILON:
                break
            record = np.random.randint(len(rows))
        allowed = _EPSILON - heat * np.log(1 - np.random.random())
        if np.random.random() < _EJECTING:
            change = ejected(cells, promises, groups, rows, record, added, allowed)
        else:
            change = _rebuilt(cells, promises, groups, rows, record, added, allowed)
        n_better += change < -_EPSILON
    return n_better


@njit(cache=True, nogil=True)
def _rebuilt(cells, promises, groups, rows, record, added, allowed):
    """Build the groups around a record anew; what that adds, or infinity where it was not kept."""
    look_around(cells, groups, rows, record, added)
    pooled = _nearest(groups, record, added)
    records, labels = members(groups, pooled)
    before = pool_cost(groups.counts, pooled)
    if before <= _EPSILON or len(records) > _MOST_RECORDS:
        return np.inf
    own, part_of = rows[records], np.full(len(records), -1)
    numbers = _built(cells, promises, groups, own, part_of, labels, len(pooled))
    if pool_cost(groups.counts, numbers) <= _NEAR * before:
        polish(cells, groups.counts, numbers, own, part_of, promises.k)
    change = pool_cost(groups.counts, numbers) - before
    if change <= allowed and _parts_keep(promises, records, part_of, numbers):
        _replace(cells, groups, rows, records, part_of, pooled, numbers)
        return change
    clear(cells, groups.counts, numbers, own, part_of)
    for number in numbers:
        give_back(groups, number)
    return np.inf


@njit(cache=True, nogil=True)
def _nearest(groups, record, added):
    """The group of a record and one to four of the others that it could nearly as well be in."""
    near, mine = np.empty(_N_NEAR, np.int64), groups.group[record]
    n_near = 0
    farthest = np.float32(np.inf)
    for group in range(len(added)):
        if added[group] >= farthest or group == mine:
            continue
        n_near = min(n_near + 1, _N_NEAR)
        place = n_near - 1
        while place > 0 and added[near[place - 1]] > added[group]:
            near[place] = near[place - 1]
            place -= 1
        near[place] = group
        if n_near == _N_NEAR:
            farthest = added[near[n_near - 1]]
    wanted = min(1 + np.random.randint(MOST_POOLED - 2), n_near)
    pooled = np.empty(wanted + 1, np.int64)
    pooled[0] = mine
    for number in range(wanted):  # the nearer, the likelier
        place = number + int((n_near - number) * np.random.random() ** 2)
        near[number], near[place] = near[place], near[number]
        pooled[number + 1] = near[number]
    return pooled


@njit(cache=True, nogil=True)
def _built(cells, promises, groups, own, part_of, labels, n_pooled):
    """Put rows into as many new groups as there were, or one more, or fewer; the numbers of these."""
    as_they_are = np.random.random() < _ONLY_POLISH
    n_parts = n_pooled if as_they_are else min(len(own) // promises.k, n_pooled + np.random.randint(2))
    numbers = np.empty(n_parts, np.int64)
    for part in range(n_parts):
        numbers[part] = take_number(groups)
    if as_they_are:
        for i in range(len(own)):
            part_of[i] = numbers[labels[i]]
            add(cells, groups.counts, part_of[i], own[i])
    else:
        gather(cells, groups.counts, numbers, own, part_of, promises.k)
    return numbers


@njit(cache=True, nogil=True)
def _parts_keep(promises, records, part_of, numbers):
    """Whether all new groups keep their promises."""
    if len(promises.rules) == 0:
        return True
    labels = np.empty(len(records), np.int64)
    for label in range(len(numbers)):
        labels[part_of == numbers[label]] = label
    return keeps_promises(promises, records, labels, len(numbers))


@njit(cache=True, nogil=True)
def _replace(cells, groups, rows, records, part_of, pooled, numbers):
    """Let these records be in the new groups, and free the numbers of the old ones."""
    for i in range(len(records)):
        forget(cells, groups.counts, groups.group[records[i]], rows[records[i]])
        link(groups, records[i], part_of[i])
    for group in pooled:
        give_back(groups, group)
    for number in numbers:
        show(cells, groups, number)

"""Ruin and recreate of groups without a list of what they could be published as: any labels, any table.

There are two kinds of rounds. In one, a few groups around a random record are pooled and built anew. In the
other, the few records of a group that have a value are ejected: they go where they add least, so that the
group loses the value, which no single move would do; if it has too few records then, others that fit come
in. A round is kept if it costs no more, or only a little more while the search is hot.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kohort.kernels.counted_groups import (
    HI,
    KIND,
    LEAF_START,
    LO,
    WIDTH,
    add,
    cost_joined,
    cost_without,
    forget,
    give_back,
    link,
    show,
    show_attribute,
    take_number,
    take_out,
    unlink,
)
from kohort.kernels.generalization import SET
from kohort.kernels.pool import clear, gather, polish, pool_cost
from kohort.kernels.promises import drop_tally, recount, shortfall

__all__ = ["MOST_CHANGED", "MOST_POOLED", "regroup"]

MOST_POOLED = 6  # groups that are built, one more than are taken
_MOST_RECORDS = 4_000  # in a pool
_EJECTING = 0.7  # of the rounds
_MOST_EJECTED = 12  # records
MOST_CHANGED = 2 * _MOST_EJECTED + 1  # groups, in a round
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
            change = _ejected(cells, promises, groups, rows, record, added, allowed)
        else:
            change = _rebuilt(cells, promises, groups, rows, record, added, allowed)
        n_better += change < -_EPSILON
    return n_better


@njit(cache=True, nogil=True)
def _look_around(cells, groups, rows, record, added):
    """What it would add if the record joined each group, in simple loops; infinite where there is none."""
    for group in range(len(added)):
        added[group] = 0.0
    for a in range(rows.shape[1]):
        joined = groups.joined[cells.about[a, LEAF_START] + rows[record, a]]
        for group in range(len(added)):
            added[group] += joined[group]
    for group in range(len(added)):
        size, cost = np.float32(groups.counts.size[group]), np.float32(groups.counts.cost[group])
        added[group] = (size + np.float32(1)) * added[group] - size * cost if size > 0 else np.inf


@njit(cache=True, nogil=True)
def _least(added, excluded, above, size):
    """The group to which a record adds least, of those with more than so many records; or -1."""
    best, least = -1, np.float32(np.inf)
    for group in range(len(added)):
        if added[group] < least and group != excluded and size[group] > above:
            best, least = group, added[group]
    return best


@njit(cache=True, nogil=True)
def _ejected(cells, promises, groups, rows, record, added, allowed):
    """Let a group lose a value of one of its records; what that adds, or infinity where it was undone."""
    group = groups.group[record]
    a = _attribute_to_narrow(cells, groups, rows, record, group)
    if a < 0:
        return np.inf
    first, last = _leaves_to_lose(cells, groups, group, a, rows[record, a])
    n_moved, change = 0, 0.0
    moved, source = np.empty(MOST_CHANGED, np.int64), np.empty(MOST_CHANGED, np.int64)
    member, kept = groups.first[group], True
    while member >= 0 and kept:
        after = groups.after[member]
        if first <= rows[member, a] <= last:
            _look_around(cells, groups, rows, member, added)
            to = _least(added, group, 0, groups.counts.size)
            kept = to >= 0
            if kept:
                moved[n_moved], source[n_moved] = member, group
                n_moved += 1
                change += _transfer(cells, groups, rows, member, to)
        member = after
    while kept and groups.counts.size[group] < promises.k:
        filler = -1 if change > allowed else _filler(cells, groups, rows, group, promises.k, added)
        kept = filler >= 0
        if kept:
            moved[n_moved], source[n_moved] = filler, groups.group[filler]
            n_moved += 1
            change += _transfer(cells, groups, rows, filler, group)
    kept = kept and change <= allowed
    if kept and (len(promises.rules) == 0 or _all_keep(promises, groups, moved[:n_moved], source[:n_moved])):
        return change
    for number in range(n_moved - 1, -1, -1):
        _transfer(cells, groups, rows, moved[number], source[number])
    return np.inf


@njit(cache=True, nogil=True)
def _attribute_to_narrow(cells, groups, rows, record, group):
    """The attribute in which losing this record's value wins much and few have it; -1: there is none."""
    best, most = -1, 0.0
    for a in range(rows.shape[1]):
        if groups.counts.span[group, a, LO] == groups.counts.span[group, a, HI]:
            continue
        first, last = _leaves_to_lose(cells, groups, group, a, rows[record, a])
        copies = _copies(cells, groups, group, a, first, last)
        if copies > _MOST_EJECTED or copies == groups.counts.size[group]:
            continue
        share = (last - first + 1) / (groups.counts.span[group, a, HI] - groups.counts.span[group, a, LO] + 1)
        if cells.about[a, KIND] == SET:
            share = 1 / groups.counts.span[group, a, WIDTH]
        worth = groups.counts.cell[group, a] * share / copies * np.random.random()
        if worth > most:
            best, most = a, worth
    return best


@njit(cache=True, nogil=True)
def _leaves_to_lose(cells, groups, group, a, x):
    """Of a set, x alone; else all from x to the end that has fewer records."""
    if cells.about[a, KIND] == SET:
        return x, x
    lo, hi = groups.counts.span[group, a, LO], groups.counts.span[group, a, HI]
    if _copies(cells, groups, group, a, lo, x) <= _copies(cells, groups, group, a, x, hi):
        return lo, x
    return x, hi


@njit(cache=True, nogil=True)
def _copies(cells, groups, group, a, first, last):
    """How many records of a group have leaves from the first to the last."""
    copies = 0
    for place in range(cells.about[a, LEAF_START] + first, cells.about[a, LEAF_START] + last + 1):
        copies += groups.counts.copies[group, place]
    return copies


@njit(cache=True, nogil=True)
def _transfer(cells, groups, rows, record, to):
    """Move a record to another group; what that adds to the cost of all."""
    group, row = groups.group[record], rows[record]
    before = (
        groups.counts.size[group] * groups.counts.cost[group]
        + groups.counts.size[to] * groups.counts.cost[to]
    )
    unlink(groups, record)
    take_out(cells, groups.counts, group, row)
    add(cells, groups.counts, to, row)
    link(groups, record, to)
    for a in range(len(row)):
        place = cells.about[a, LEAF_START] + row[a]
        if groups.counts.copies[group, place] == 0 and groups.counts.size[group]:
            show_attribute(cells, groups, group, a)
        if groups.counts.copies[to, place] == 1:
            show_attribute(cells, groups, to, a)
    return (
        groups.counts.size[group] * groups.counts.cost[group]
        + groups.counts.size[to] * groups.counts.cost[to]
        - before
    )


@njit(cache=True, nogil=True)
def _filler(cells, groups, rows, group, k, added):
    """Of the records in near groups that can spare one, that which adds least in a group; or -1."""
    record = groups.first[group]
    for _ in range(np.random.randint(groups.counts.size[group])):
        record = groups.after[record]
    _look_around(cells, groups, rows, record, added)
    best, least = -1, np.inf
    for _ in range(MOST_POOLED):
        near = _least(added, group, k, groups.counts.size)
        if near < 0:
            break
        added[near] = np.inf
        size, old = groups.counts.size[near], groups.counts.cost[near]
        other = groups.first[near]
        while other >= 0:
            change = (groups.counts.size[group] + 1) * cost_joined(cells, groups.counts, group, rows[other])
            if change - size * old < least:
                change += (size - 1) * cost_without(cells, groups.counts, near, rows[other]) - size * old
                if change < least:
                    best, least = other, change
            other = groups.after[other]
    return best


@njit(cache=True, nogil=True)
def _all_keep(promises, groups, moved, source):
    """Whether all groups that gave or took a record keep their promises."""
    numbers = np.unique(np.concatenate((groups.group[moved], source)))
    records, labels = _members(groups, numbers)
    return _keeps_promises(promises, records, labels, len(numbers))


@njit(cache=True, nogil=True)
def _rebuilt(cells, promises, groups, rows, record, added, allowed):
    """Build the groups around a record anew; what that adds, or infinity where it was not kept."""
    _look_around(cells, groups, rows, record, added)
    pooled = _nearest(groups, record, added)
    records, labels = _members(groups, pooled)
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
def _members(groups, numbers):
    """All records of some groups, and the place of the group of each."""
    n = 0
    for group in numbers:
        n += groups.counts.size[group]
    records, labels = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for label in range(len(numbers)):
        record = groups.first[numbers[label]]
        while record >= 0:
            records[n], labels[n] = record, label
            n += 1
            record = groups.after[record]
    return records, labels


@njit(cache=True, nogil=True)
def _parts_keep(promises, records, part_of, numbers):
    """Whether all new groups keep their promises."""
    if len(promises.rules) == 0:
        return True
    labels = np.empty(len(records), np.int64)
    for label in range(len(numbers)):
        labels[part_of == numbers[label]] = label
    return _keeps_promises(promises, records, labels, len(numbers))


@njit(cache=True, nogil=True)
def _keeps_promises(promises, records, labels, n_labels):
    """Whether the records of each label do; there are at least k of each. Slots 0, 1, ... tally them."""
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

"""Ruin and recreate of groups without a list of what they could be published as: any labels, any table.

A few groups around a random record are pooled and built anew: a far record gathers the k - 1 others that cost
it least, then the next one, and whoever is left joins where that adds least; then single records move, or
change places, while that costs less. The result is kept if it costs no more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.generalization import ORDERED, SET
from kohort.kernels.pool import build, cell_cost, clear, new_parts, parts_cost, polish, put
from kohort.kernels.promises import drop_tally, recount, shortfall

__all__ = ["MOST_POOLED", "Grouping", "new_grouping", "regroup", "total_cost"]

MOST_POOLED = 6  # groups, one more than are taken
_MOST_RECORDS = 4_000  # in a pool
_ONLY_POLISH = 0.2  # of the rounds leave groups as they are but for moves
_NEAR = 1.15  # times the old cost: so near, moves may make it cheaper
_EPSILON = 1e-9
_N_NEAR = 10  # groups, of which one to four are pooled with that of a record
_FREE, _TOP = range(2)  # in Grouping.numbers


class Grouping(NamedTuple):
    """Records in groups. There is room for more groups, whose size is 0."""

    group: np.ndarray  # per record
    after: np.ndarray  # per record: the next of its group, or -1
    first: np.ndarray  # per group: a record, or -1
    size: np.ndarray  # per group
    cost: np.ndarray  # per group: of one record
    lo: np.ndarray  # attributes by groups
    hi: np.ndarray
    width: np.ndarray  # different values
    words: np.ndarray  # words by groups: sets of values
    word_start: np.ndarray  # per attribute and one more: none where it has no sets
    free: np.ndarray  # numbers that no group has
    numbers: np.ndarray  # how many are FREE, and one above the greatest number in use (TOP)


@njit(cache=True, nogil=True)
def new_grouping(cells, rows, word_start, group_of_record, n_groups, room):
    """Given groups, and room for so many in all."""
    n, r = rows.shape
    state = Grouping(
        group_of_record.astype(np.int64),
        np.full(n, -1, np.int64),
        np.full(room, -1, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room),
        np.zeros((r, room), np.int32),
        np.zeros((r, room), np.int32),
        np.zeros((r, room), np.int32),
        np.zeros((word_start[r], room), np.uint64),
        word_start,
        np.zeros(room, np.int64),
        np.array([room - n_groups, n_groups]),
    )
    for number in range(room - n_groups):
        state.free[number] = room - 1 - number
    for record in range(n):
        _link(state, record, state.group[record])
    for group in range(n_groups):
        _summarize(cells, state, rows, group)
    return state


@njit(cache=True, nogil=True)
def _link(state, record, group):
    state.group[record], state.after[record] = group, state.first[group]
    state.first[group] = record
    state.size[group] += 1


@njit(cache=True, nogil=True)
def _summarize(cells, state, rows, group):
    """Look at all records of a group anew."""
    state.cost[group] = 0.0
    for a in range(rows.shape[1]):
        for word in range(state.word_start[a], state.word_start[a + 1]):
            state.words[word, group] = 0
        record, width = state.first[group], 0
        lo = hi = rows[record, a]
        while record >= 0:
            x = rows[record, a]
            lo, hi = min(lo, x), max(hi, x)
            if cells.kind[a] == SET and not _has(state, a, group, x):
                state.words[state.word_start[a] + x // 64, group] |= np.uint64(1) << np.uint64(x % 64)
                width += 1
            record = state.after[record]
        state.lo[a, group], state.hi[a, group], state.width[a, group] = lo, hi, width
        state.cost[group] += cell_cost(cells, a, lo, hi, width)


@njit(cache=True, nogil=True)
def _has(state, a, group, x):
    word = state.words[state.word_start[a] + x // 64, group]
    return (word >> np.uint64(x % 64)) & np.uint64(1) == np.uint64(1)


@njit(cache=True, nogil=True)
def total_cost(state):
    """Of all records together."""
    total = 0.0
    for group in range(state.numbers[_TOP]):
        total += state.size[group] * state.cost[group]
    return total


@njit(cache=True, nogil=True)
def regroup(cells, promises, state, rows, seed, rounds):
    """So many rounds; how many of them made it cheaper. O(groups * attributes + pool^2 * attributes) each."""
    np.random.seed(seed)
    parts = new_parts(cells, MOST_POOLED)
    added, pooled = np.empty(len(state.size), np.float32), np.empty(MOST_POOLED, np.int64)
    n_better = 0
    for _ in range(rounds):
        record = np.random.randint(len(rows))
        for _ in range(20):  # a group that loses nothing cannot lose less
            if state.cost[state.group[record]] > _EPSILON:
                break
            record = np.random.randint(len(rows))
        _look_around(cells, state, rows, record, added)
        n_pooled = _nearest(state, record, added, pooled)
        records, labels = _members(state, pooled[:n_pooled])
        if len(records) <= _MOST_RECORDS:
            n_better += _rebuilt(cells, promises, state, rows, records, labels, pooled[:n_pooled], parts)
    return n_better


@njit(cache=True, nogil=True)
def _look_around(cells, state, rows, record, added):
    """About what it would add if the record joined each group (missing values aside), in simple loops."""
    top = state.numbers[_TOP]
    for group in range(top):
        added[group] = 0.0
    for a in range(rows.shape[1]):
        x, step = np.int32(rows[record, a]), np.float32(cells.line[a, 1])
        lo, hi = state.lo[a], state.hi[a]
        if cells.kind[a] == SET:
            words, bit = state.words[state.word_start[a] + x // 64], np.uint64(x % 64)
            width = state.width[a]
            for group in range(top):
                has = np.int32((words[group] >> bit) & np.uint64(1))
                added[group] += step * np.float32(width[group] - has)
        elif cells.kind[a] == ORDERED:
            for group in range(top):
                added[group] += step * np.float32(max(hi[group], x) - min(lo[group], x))
        else:
            for group in range(top):
                added[group] += cell_cost(cells, a, min(lo[group], x), max(hi[group], x), 0)
    for group in range(top):
        size = np.float32(state.size[group])
        added[group] = (size + np.float32(1)) * added[group] - size * np.float32(state.cost[group])


@njit(cache=True, nogil=True)
def _nearest(state, record, added, pooled):
    """The group of a record and one to four of the others that it could nearly as well be in; how many."""
    near = np.empty(_N_NEAR, np.int64)
    n_near = 0
    for group in range(state.numbers[_TOP]):
        far = n_near == _N_NEAR and added[group] >= added[near[n_near - 1]]
        if far or state.size[group] == 0 or group == state.group[record]:
            continue
        n_near = min(n_near + 1, _N_NEAR)
        place = n_near - 1
        while place > 0 and added[near[place - 1]] > added[group]:
            near[place] = near[place - 1]
            place -= 1
        near[place] = group
    pooled[0] = state.group[record]
    wanted = min(1 + np.random.randint(MOST_POOLED - 2), n_near)
    for number in range(wanted):  # the nearer, the likelier
        place = number + int((n_near - number) * np.random.random() ** 2)
        near[number], near[place] = near[place], near[number]
        pooled[number + 1] = near[number]
    return wanted + 1


@njit(cache=True, nogil=True)
def _members(state, pooled):
    """All records of some groups, and the place of the group of each."""
    n = 0
    for group in pooled:
        n += state.size[group]
    records, labels = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for label in range(len(pooled)):
        record = state.first[pooled[label]]
        while record >= 0:
            records[n], labels[n] = record, label
            n += 1
            record = state.after[record]
    return records, labels


@njit(cache=True, nogil=True)
def _rebuilt(cells, promises, state, rows, records, labels, pooled, parts):
    """Build groups anew and keep them if they cost no more; whether they cost less."""
    before = 0.0
    for group in pooled:
        before += state.size[group] * state.cost[group]
    if before <= _EPSILON:
        return False
    own = rows[records]
    part_of = np.full(len(records), -1)
    n_parts = len(pooled)
    if np.random.random() < _ONLY_POLISH:
        for i in range(len(records)):
            put(cells, parts, labels[i], own[i], 1)
            part_of[i] = labels[i]
    else:
        n_parts = min(len(records) // promises.k, n_parts + np.random.randint(2))
        build(cells, parts, own, part_of, promises.k, n_parts)
    if parts_cost(parts, n_parts) <= _NEAR * before:
        polish(cells, parts, own, part_of, promises.k, n_parts)
    after = parts_cost(parts, n_parts)
    kept = after <= before + _EPSILON and _keeps_promises(promises, records, part_of, n_parts)
    if kept:
        _write(cells, state, rows, records, part_of, pooled, n_parts)
    clear(cells, parts, own, part_of)
    return kept and after < before - _EPSILON


@njit(cache=True, nogil=True)
def _keeps_promises(promises, records, part_of, n_parts):
    """Whether each group does; they have k records. Slots 0, 1, ... tally them."""
    if len(promises.rules) == 0:
        return True
    size = np.zeros(n_parts, np.int64)
    for i in range(len(records)):
        recount(promises, records[i], part_of[i], 1)
        size[part_of[i]] += 1
    kept = True
    for part in range(n_parts):
        kept = kept and shortfall(promises, part, size[part]) == 0
    for i in range(len(records)):
        recount(promises, records[i], part_of[i], -1)
    for part in range(n_parts):
        drop_tally(promises, part)
    return kept


@njit(cache=True, nogil=True)
def _write(cells, state, rows, records, part_of, pooled, n_parts):
    """Let these records be in the new groups; the first ones keep their numbers."""
    number = np.empty(n_parts, np.int64)
    for group in pooled:
        state.first[group], state.size[group] = -1, 0
    for part in range(n_parts):
        if part < len(pooled):
            number[part] = pooled[part]
        else:
            state.numbers[_FREE] -= 1
            number[part] = state.free[state.numbers[_FREE]]
            state.numbers[_TOP] = max(state.numbers[_TOP], number[part] + 1)
    for part in range(n_parts, len(pooled)):
        state.free[state.numbers[_FREE]] = pooled[part]
        state.numbers[_FREE] += 1
    for i in range(len(records)):
        _link(state, records[i], number[part_of[i]])
    for part in range(n_parts):
        _summarize(cells, state, rows, number[part])

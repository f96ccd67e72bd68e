"""Rounds that let a group lose a value: the few records that have it go, others come in."""

from __future__ import annotations

import numpy as np
from numba import njit

from kohort.kernels.cells import KIND, LEAF_START
from kohort.kernels.counted_groups import (
    add,
    cost_joined,
    cost_without,
    link,
    members,
    show_attribute,
    take_out,
    unlink,
)
from kohort.kernels.generalization import SET
from kohort.kernels.pool import keeps_promises

__all__ = ["MOST_CHANGED", "ejected", "look_around"]

_MOST_EJECTED = 12  # records
MOST_CHANGED = 2 * _MOST_EJECTED + 1  # groups
_N_SPARING = 4  # near groups, of which one gives a record to a group that has too few


@njit(cache=True, nogil=True)
def ejected(cells, promises, groups, rows, record, added, allowed):
    """Let a group lose a value of one of its records; what that adds, or infinity where it was undone."""
    group = groups.group[record]
    a = _attribute_to_narrow(cells, groups.counts, group, rows[record])
    if a < 0:
        return np.inf
    lo, hi, _ = groups.counts.span[group, a]
    copies = groups.counts.copies[group, cells.about[a, LEAF_START] :]
    first, last = _leaves_to_lose(cells.about[a, KIND], copies, lo, hi, rows[record, a])
    n_moved, change = 0, 0.0
    moved, source = np.empty(MOST_CHANGED, np.int64), np.empty(MOST_CHANGED, np.int64)
    member, kept = groups.first[group], True
    while member >= 0 and kept:
        after = groups.after[member]
        if first <= rows[member, a] <= last:
            look_around(cells, groups, rows, member, added)
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
def _attribute_to_narrow(cells, counts, group, row):
    """The attribute in which losing this row's value wins much and few have it; -1: there is none."""
    best, most = -1, 0.0
    for a in range(len(row)):
        lo, hi, width = counts.span[group, a]
        if lo == hi:
            continue
        copies = counts.copies[group, cells.about[a, LEAF_START] :]
        first, last = _leaves_to_lose(cells.about[a, KIND], copies, lo, hi, row[a])
        n_ejected = copies[first : last + 1].sum()
        if n_ejected > _MOST_EJECTED or n_ejected == counts.size[group]:
            continue
        share = 1 / width if cells.about[a, KIND] == SET else (last - first + 1) / (hi - lo + 1)
        worth = counts.cell[group, a] * share / n_ejected * np.random.random()
        if worth > most:
            best, most = a, worth
    return best


@njit(cache=True, nogil=True)
def _leaves_to_lose(kind, copies, lo, hi, x):
    """Of a set, x alone; else all from x to the end that has fewer records."""
    if kind == SET:
        return x, x
    if copies[lo : x + 1].sum() <= copies[x : hi + 1].sum():
        return np.int64(lo), x
    return x, np.int64(hi)


@njit(cache=True, nogil=True)
def look_around(cells, groups, rows, record, added):
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
    look_around(cells, groups, rows, record, added)
    best, least = -1, np.inf
    for _ in range(_N_SPARING):
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
    records, labels = members(groups, numbers)
    return keeps_promises(promises, records, labels, len(numbers))

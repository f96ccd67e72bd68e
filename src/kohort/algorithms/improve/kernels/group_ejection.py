"""Rounds that remove a value from a group, by moving the few records that have it, or dissolve a group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.group_counts import (
    add,
    cost_joined,
    cost_without,
    give_back,
    link,
    members,
    show,
    show_attribute,
    show_size,
    take_out,
    unlink,
)
from kohort.algorithms.improve.kernels.group_rebuilding import keeps_promises
from kohort.algorithms.improve.kernels.nearest_groups import nearest_groups
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import distinct_values
from kohort.problem.encoding.layout import SET

_MOST_EJECTED = 12  # records
_ROUNDING = 1e-5
MOST_CHANGED = 2 * _MOST_EJECTED + 1  # groups
_N_SPARING = 4  # near groups that are asked for a record when a group has too few


class Moves(NamedTuple):
    """Records that moved, and the groups they were in."""

    record: np.ndarray
    source: np.ndarray


@kernel
def ejected(cells, promises, groups, rows, record, near, allowed):
    """Remove a value of a record from its group by moving the records that have it to other groups.

    Returns the change of the total cost, or infinity if the move was undone because it adds more than
    `allowed` or breaks a rule. The gain of the group is known first, so most rounds end before a record has
    moved.
    """
    home = groups.group[record]
    a = _attribute_to_narrow(cells, groups.counts, home, rows, record)
    if a < 0:
        return np.inf
    moved, source = np.empty(MOST_CHANGED, np.int64), np.empty(MOST_CHANGED, np.int64)
    change = -groups.counts.size[home] * groups.counts.cost[home]
    n_out = _take_out_all(cells, groups, rows, record, a, moved, source)
    change += groups.counts.size[home] * groups.counts.cost[home]
    n_moved, change = _place(cells, groups, rows, moved, n_out, near, change, allowed)
    if n_moved == n_out:
        n_moved, change = _fill(cells, groups, rows, near, change, allowed, Moves(moved, source), n_out)
        kept = change <= allowed and groups.counts.size[home] >= promises.k
        if kept and _all_keep(promises, groups, moved[:n_moved], source[:n_moved]):
            show(cells, groups, home)
            return change
    _undo(cells, groups, rows, moved, source, n_out, n_moved)
    return np.inf


@kernel
def dissolved(cells, promises, groups, rows, record, near, allowed):
    """Dissolve the group of a record: move each of its records to the group where it adds least.

    Returns the change of the total cost, or infinity if the move was undone.
    """
    home = groups.group[record]
    n_out = groups.counts.size[home]
    if n_out > MOST_CHANGED:
        return np.inf
    moved, source = np.empty(n_out, np.int64), np.full(n_out, home)
    change = -n_out * groups.counts.cost[home]
    for number in range(n_out):
        moved[number] = groups.first[home]
        unlink(groups, moved[number])
        take_out(cells, groups.counts, home, rows, moved[number])
    n_moved, change = _place(cells, groups, rows, moved, n_out, near, change, allowed)
    kept = n_moved == n_out and change <= allowed
    if kept and _all_keep(promises, groups, moved, groups.group[moved]):
        give_back(groups, home)
        return change
    _undo(cells, groups, rows, moved, source, n_out, n_moved)
    return np.inf


@lean
def _place(cells, groups, rows, out, n_out, near, change, allowed):
    """Let records that were taken out join their nearest groups, while the total change is allowed.

    Returns how many joined, and the total change of the cost.
    """
    for number in range(n_out):
        most = allowed - change + _ROUNDING
        if nearest_groups(cells, groups, rows, out[number], near, 1, 0, most) == 0:
            return number, change
        change += _come(cells, groups, rows, out[number], near.group[0])
    return n_out, change


@lean
def _fill(cells, groups, rows, near, change, allowed, moves, n_moved):
    """Fill a group of fewer than k records with records that others can spare, while the change is allowed.

    moves  the records that left the group, at least one; those that come are appended

    Returns how many records have moved in all, and the total change of the cost.
    """
    home, k = moves.source[0], groups.k
    while groups.counts.size[home] < k and change <= allowed:
        filler = _filler(cells, groups, rows, home, k, near)
        if filler < 0:
            break
        moves.record[n_moved], moves.source[n_moved] = filler, groups.group[filler]
        change += _go(cells, groups, rows, filler) + _come(cells, groups, rows, filler, home)
        n_moved += 1
    return n_moved, change


@lean
def _undo(cells, groups, rows, moved, source, n_out, n_moved):
    """Return all records that were taken out or moved to their former groups."""
    for number in range(n_moved - 1, -1, -1):
        _go(cells, groups, rows, moved[number])
        if number >= n_out:
            _come(cells, groups, rows, moved[number], source[number])
    for number in range(n_out):
        add(cells, groups.counts, source[number], rows, moved[number])
        link(groups, moved[number], source[number])
    if n_moved > n_out:
        show(cells, groups, source[0])


@lean
def _take_out_all(cells, groups, rows, record, a, taken, source):
    """Take the records with the values to lose out of the group of `record`; return how many they are.

    The cached costs of the group are not updated.
    """
    home = groups.group[record]
    first, last, _ = _leaves_to_lose(cells, groups.counts, home, a, rows[record, a])
    n, member = 0, groups.first[home]
    while member >= 0:
        after = groups.links[member].after
        if first <= rows[member, a] <= last:
            unlink(groups, member)
            take_out(cells, groups.counts, home, rows, member)
            taken[n], source[n] = member, home
            n += 1
        member = after
    return n


@lean
def _attribute_to_narrow(cells, counts, group, rows, record):
    """An attribute where losing the record's value saves much, and few records have it; -1 if none does."""
    best, most = -1, 0.0
    for a in range(rows.shape[1]):
        lo, hi = counts.span[group, a].lo, counts.span[group, a].hi
        if lo == hi:
            continue
        first, last, n_lost = _leaves_to_lose(cells, counts, group, a, rows[record, a])
        if n_lost > _MOST_EJECTED or n_lost == counts.size[group]:
            continue
        if cells.attribute[a].kind == SET:
            share = 1 / counts.span[group, a].width
        else:
            share = (last - first + 1) / (hi - lo + 1)
        worth = counts.cell[group, a] * share / n_lost * np.random.random()
        if worth > most:
            best, most = a, worth
    return best


@lean
def _leaves_to_lose(cells, counts, group, a, x):
    """The first and last leaf to remove from a group, and how many of its records have them.

    In a set only leaf x; else all leaves from x to the end of the range on the side with fewer records.
    """
    start = cells.attribute[a].leaf_start
    if cells.attribute[a].kind == SET:
        return x, x, counts.copies[group, start + x]
    lo, hi = np.int64(counts.span[group, a].lo), np.int64(counts.span[group, a].hi)
    below, above = np.int32(0), np.int32(0)
    for leaf in range(lo, x + 1):
        below += counts.copies[group, start + leaf]
    for leaf in range(x, hi + 1):
        above += counts.copies[group, start + leaf]
    return (lo, x, below) if below <= above else (x, hi, above)


@lean
def _come(cells, groups, rows, record, to):
    """Let a record join a group; return the change of the total cost."""
    counts = groups.counts
    before = counts.size[to] * counts.cost[to]
    add(cells, counts, to, rows, record)
    link(groups, record, to)
    show_size(groups, to)
    for a in range(rows.shape[1]):
        if counts.copies[to, cells.attribute[a].leaf_start + rows[record, a]] == 1:
            show_attribute(cells, groups, to, a)
    return counts.size[to] * counts.cost[to] - before


@lean
def _go(cells, groups, rows, record):
    """Let a record leave its group, which has others; return the change of the total cost."""
    counts, group = groups.counts, groups.group[record]
    before = counts.size[group] * counts.cost[group]
    unlink(groups, record)
    take_out(cells, counts, group, rows, record)
    show_size(groups, group)
    for a in range(rows.shape[1]):
        if counts.copies[group, cells.attribute[a].leaf_start + rows[record, a]] == 0:
            show_attribute(cells, groups, group, a)
    return counts.size[group] * counts.cost[group] - before


@lean
def _filler(cells, groups, rows, home, k, near):
    """The record of a near group of more than k that adds least in group `home`; -1 if there is none."""
    counts, record = groups.counts, groups.first[home]
    for _ in range(np.random.randint(counts.size[home])):
        record = groups.links[record].after
    best, least = -1, np.inf
    for number in range(nearest_groups(cells, groups, rows, record, near, _N_SPARING, k, np.inf)):
        group = near.group[number]
        size, old = counts.size[group], counts.cost[group]
        other = groups.first[group]
        while other >= 0:
            change = (counts.size[home] + 1) * cost_joined(cells, counts, home, rows, other)
            if change - size * old < least:
                change += (size - 1) * cost_without(cells, counts, group, rows, other) - size * old
                if change < least:
                    best, least = other, change
            other = groups.links[other].after
    return best


@kernel
def _all_keep(promises, groups, moved, source):
    """Whether all nonempty groups that gave or took a record satisfy the rules of the models."""
    if len(promises.tally) == 0:
        return True
    numbers = distinct_values(np.concatenate((groups.group[moved], source)))
    records, labels = members(groups, numbers)
    return keeps_promises(promises, records, labels, len(numbers))

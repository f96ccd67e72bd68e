"""Groups of records with counts of their values: what each costs, and would cost with or without a record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.cells import LEAF_START, N_LEAVES, cell_cost

__all__ = [
    "HI",
    "LO",
    "WIDTH",
    "Counted",
    "Counts",
    "add",
    "added_by",
    "cells_joined",
    "cost_exchanged",
    "cost_joined",
    "cost_without",
    "forget",
    "give_back",
    "link",
    "members",
    "new_groups",
    "show",
    "show_attribute",
    "take_number",
    "take_out",
    "total_cost",
    "unlink",
]


LO, HI, WIDTH = range(3)  # in Counts.span; how many different values


class Counts(NamedTuple):
    """What groups have, and cost."""

    size: np.ndarray  # per group
    cost: np.ndarray  # per group: of one record
    span: np.ndarray  # groups by attributes by LO, HI, WIDTH
    cell: np.ndarray  # groups by attributes: cost of a cell
    copies: np.ndarray  # groups by leaves of all attributes: records


class Counted(NamedTuple):
    """Records in groups. There is room for more groups, whose size is 0."""

    counts: Counts
    group: np.ndarray  # per record
    before: np.ndarray  # per record: the one before it in its group, or -1
    after: np.ndarray
    first: np.ndarray  # per group: a record, or -1
    joined: np.ndarray  # leaves by groups: cost of a cell once the leaf is in the group, where it is shown
    free: np.ndarray  # how many numbers no group has, and these


@njit(cache=True, nogil=True)
def new_groups(cells, rows, group_of_record, n_groups, room):
    """Given groups, numbered from 0 on, and room for so many in all. Memory: room * leaves."""
    n, r = rows.shape
    n_leaves = cells.about[:, N_LEAVES].sum()
    counts = Counts(
        np.zeros(room, np.int64),
        np.zeros(room),
        np.zeros((room, r, 3), np.int32),
        np.zeros((room, r)),
        np.zeros((room, n_leaves), np.int32),
    )
    groups = Counted(
        counts,
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
        np.full(room, -1, np.int64),
        np.zeros((n_leaves, room), np.float32),
        np.zeros(room + 1, np.int64),
    )
    groups.free[0] = room - n_groups
    for number in range(room - n_groups):
        groups.free[number + 1] = room - 1 - number
    for record in range(n):
        add(cells, counts, group_of_record[record], rows[record])
        link(groups, record, group_of_record[record])
    for group in range(n_groups):
        show(cells, groups, group)
    return groups


@njit(cache=True, nogil=True)
def take_number(groups):
    """A number for a new group."""
    groups.free[0] -= 1
    return groups.free[groups.free[0] + 1]


@njit(cache=True, nogil=True)
def give_back(groups, group):
    """Free the number of a group whose rows were all taken out, or forgotten."""
    groups.first[group], groups.counts.size[group], groups.counts.cost[group] = -1, 0, 0.0
    groups.free[0] += 1
    groups.free[groups.free[0]] = group


@njit(cache=True, nogil=True)
def forget(cells, counts, group, row):
    """Forget the values of a row, and of all its equals, in a group that is given back."""
    for a in range(len(row)):
        counts.copies[group, cells.about[a, LEAF_START] + row[a]] = 0


@njit(cache=True, nogil=True)
def total_cost(counts):
    """Of all records together."""
    total = 0.0
    for group in range(len(counts.size)):
        total += counts.size[group] * counts.cost[group]
    return total


@njit(cache=True, nogil=True)
def cost_joined(cells, counts, group, row):
    """What a record of a group that has some costs once this row is in it."""
    copies, cell, span = counts.copies[group], counts.cell[group], counts.span[group]
    total = 0.0
    for a in range(len(row)):
        x = row[a]
        if copies[cells.about[a, LEAF_START] + x] > 0:
            total += cell[a]
        else:
            lo, hi = min(span[a, LO], x), max(span[a, HI], x)
            total += cell_cost(cells, a, lo, hi, span[a, WIDTH] + 1)
    return total


@njit(cache=True, nogil=True)
def cells_joined(cells, counts, group, a, leaves, sign, costs):
    """Add to costs, or subtract, what a cell of a group with some records costs once each leaf is in it."""
    copies, cell, start = counts.copies[group], counts.cell[group, a], cells.about[a, LEAF_START]
    lo, hi, width = counts.span[group, a]
    for i in range(len(leaves)):
        x = leaves[i]
        if copies[start + x] > 0:
            costs[i] += sign * cell
        else:
            costs[i] += sign * cell_cost(cells, a, min(lo, x), max(hi, x), width + 1)


@njit(cache=True, nogil=True)
def added_by(cells, counts, group, row):
    """What it adds to the cost of all records if a row joins a group."""
    size = counts.size[group]
    return (size + 1) * cost_joined(cells, counts, group, row) - size * counts.cost[group]


@njit(cache=True, nogil=True)
def _ends_without(copies, lo, hi, x):
    """The least and the greatest leaf of a group once its only record with leaf x is gone."""
    if lo < hi and x == lo:
        lo += 1
        while copies[lo] == 0:
            lo += 1
    elif lo < hi and x == hi:
        hi -= 1
        while copies[hi] == 0:
            hi -= 1
    return lo, hi


@njit(cache=True, nogil=True)
def cost_without(cells, counts, group, row):
    """What a record of a group costs once this row has left it."""
    copies, cell, span = counts.copies[group], counts.cell[group], counts.span[group]
    total = 0.0
    for a in range(len(row)):
        start = cells.about[a, LEAF_START]
        if copies[start + row[a]] > 1:
            total += cell[a]
        else:
            lo, hi = _ends_without(copies[start:], span[a, LO], span[a, HI], row[a])
            total += cell_cost(cells, a, lo, hi, span[a, WIDTH] - 1)
    return total


@njit(cache=True, nogil=True)
def cost_exchanged(cells, counts, group, row, other):
    """What a record of a group of two or more costs once this row has left it and another one has come."""
    copies, cell, span = counts.copies[group], counts.cell[group], counts.span[group]
    total = 0.0
    for a in range(len(row)):
        x, y = row[a], other[a]
        if x == y:
            total += cell[a]
            continue
        start = cells.about[a, LEAF_START]
        stays, comes = copies[start + x] > 1, copies[start + y] == 0
        if stays and not comes:
            total += cell[a]
            continue
        lo, hi, width = span[a, LO], span[a, HI], span[a, WIDTH]
        if not stays:
            lo, hi = _ends_without(copies[start:], lo, hi, x)
            width -= 1
        if comes:
            lo, hi, width = min(lo, y), max(hi, y), width + 1
        total += cell_cost(cells, a, lo, hi, width)
    return total


@njit(cache=True, nogil=True)
def add(cells, counts, group, row):
    """Count a row in a group."""
    total = 0.0
    for a in range(len(row)):
        x = row[a]
        place = cells.about[a, LEAF_START] + x
        counts.copies[group, place] += 1
        if counts.copies[group, place] == 1:
            if counts.size[group] == 0:
                counts.span[group, a, LO], counts.span[group, a, HI], counts.span[group, a, WIDTH] = x, x, 0
            lo, hi = min(counts.span[group, a, LO], x), max(counts.span[group, a, HI], x)
            counts.span[group, a, LO], counts.span[group, a, HI] = lo, hi
            counts.span[group, a, WIDTH] += 1
            counts.cell[group, a] = cell_cost(cells, a, lo, hi, counts.span[group, a, WIDTH])
        total += counts.cell[group, a]
    counts.cost[group] = total
    counts.size[group] += 1


@njit(cache=True, nogil=True)
def take_out(cells, counts, group, row):
    """Count a row in a group no more."""
    total = 0.0
    for a in range(len(row)):
        x, start = row[a], cells.about[a, LEAF_START]
        if counts.copies[group, start + x] == 1 and counts.size[group] > 1:
            lo, hi = counts.span[group, a, LO], counts.span[group, a, HI]
            lo, hi = _ends_without(counts.copies[group, start:], lo, hi, x)
            counts.span[group, a, LO], counts.span[group, a, HI] = lo, hi
            counts.span[group, a, WIDTH] -= 1
            counts.cell[group, a] = cell_cost(cells, a, lo, hi, counts.span[group, a, WIDTH])
        counts.copies[group, start + x] -= 1
        total += counts.cell[group, a]
    counts.size[group] -= 1
    counts.cost[group] = total if counts.size[group] else 0.0


@njit(cache=True, nogil=True)
def link(groups, record, group):
    """List a record as a member of a group."""
    first = groups.first[group]
    groups.group[record], groups.before[record], groups.after[record] = group, -1, first
    if first >= 0:
        groups.before[first] = record
    groups.first[group] = record


@njit(cache=True, nogil=True)
def unlink(groups, record):
    """List a record as a member no more."""
    before, after = groups.before[record], groups.after[record]
    if before >= 0:
        groups.after[before] = after
    else:
        groups.first[groups.group[record]] = after
    if after >= 0:
        groups.before[after] = before


@njit(cache=True, nogil=True)
def show(cells, groups, group):
    """Tell `joined` what a group is now. O(leaves)."""
    for a in range(len(cells.about)):
        show_attribute(cells, groups, group, a)


@njit(cache=True, nogil=True)
def show_attribute(cells, groups, group, a):
    """The same for one attribute."""
    start, n_leaves = cells.about[a, LEAF_START], cells.about[a, N_LEAVES]
    shown = groups.joined[start : start + n_leaves, group]
    shown[:] = 0.0
    cells_joined(cells, groups.counts, group, a, np.arange(n_leaves), 1, shown)


@njit(cache=True, nogil=True)
def members(groups, numbers):
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

"""Groups of records with counts of their values, to find their costs with or without a record.

These functions take tables and places in them, not views of their rows: where references to arrays are
counted, a view costs more than all the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel, lean
from kohort.problem.encoding.layout import CellCosts

BLOCK = 16  # groups with consecutive numbers that are compared together
_SPAN = np.dtype([("lo", np.int32), ("hi", np.int32), ("width", np.int32)])
_LINK = np.dtype([("before", np.int64), ("after", np.int64)])


class Counts(NamedTuple):
    """Size, cost and counted values of each group."""

    size: np.ndarray  # per group
    cost: np.ndarray  # per group: cost of one record
    span: np.recarray  # groups by attributes: lo, hi, and the width: how many different values
    cell: np.ndarray  # groups by attributes: cost of a cell
    copies: np.ndarray  # groups by leaves of all attributes: how many records have the leaf


class Counted(NamedTuple):
    """Records in groups, with room for more groups, whose size is 0."""

    counts: Counts
    group: np.ndarray  # per record
    links: np.recarray  # per record: those before and after it in its group, or -1
    first: np.ndarray  # per group: a record, or -1
    joined: np.ndarray  # blocks by leaves by groups of a block: cost of a cell once the leaf is in a group
    k: int  # records that a group has at least
    lowest: np.ndarray  # leaves by blocks: least cost that adding the leaf to a group of k brings
    one_more: np.ndarray  # per group, as last updated by `show`: its size plus 1
    paid: np.ndarray  # per group, as last updated by `show`: total cost of its records, or -infinity
    free: np.ndarray  # how many group numbers are unused, followed by these numbers


def new_groups(
    cells: CellCosts, rows: np.ndarray, group_of_record: np.ndarray, n_groups: int, room: int, k: int
) -> Counted:
    """Counts of given groups, numbered from 0, with room for `room` groups in all. Memory: room * leaves."""
    (n, r), n_leaves, n_blocks = rows.shape, int(cells.attribute.n_leaves.sum()), -(-room // BLOCK)
    counts = Counts(
        size=np.zeros(room, dtype=np.int64),
        cost=np.zeros(room),
        span=np.zeros((room, r), dtype=_SPAN).view(np.recarray),
        cell=np.zeros((room, r)),
        copies=np.zeros((room, n_leaves), dtype=np.int32),
    )
    groups = Counted(
        counts,
        group=np.full(n, -1, dtype=np.int64),
        links=np.full(n, -1, dtype=_LINK).view(np.recarray),
        first=np.full(room, -1, dtype=np.int64),
        joined=np.zeros((n_blocks, n_leaves, BLOCK), dtype=np.float32),
        k=k,
        lowest=np.full((n_leaves, n_blocks), np.inf, dtype=np.float32),
        one_more=np.zeros(n_blocks * BLOCK, dtype=np.float32),
        paid=np.full(n_blocks * BLOCK, -np.inf, dtype=np.float32),
        free=np.zeros(room + 1, dtype=np.int64),
    )
    groups.free[0] = room - n_groups
    groups.free[1 : room - n_groups + 1] = np.arange(room - 1, n_groups - 1, -1)
    _fill_groups(cells, groups, rows, group_of_record, n_groups)
    return groups


@lean
def _fill_groups(cells, groups, rows, group_of_record, n_groups):
    """Put every record into its group, and bring the cached costs of all groups up to date."""
    for record in range(len(rows)):
        add(cells, groups.counts, group_of_record[record], rows, record)
        link(groups, record, group_of_record[record])
    for group in range(n_groups):
        show(cells, groups, group)


@lean
def take_number(groups):
    """An unused number for a new group; from now on it is in use."""
    groups.free[0] -= 1
    return groups.free[groups.free[0] + 1]


@lean
def give_back(groups, group):
    """Free the number of a group whose rows were all taken out or forgotten."""
    groups.first[group], groups.counts.size[group], groups.counts.cost[group] = -1, 0, 0.0
    groups.paid[group] = -np.inf
    groups.free[0] += 1
    groups.free[groups.free[0]] = group


@lean
def forget(cells, counts, group, rows, i):
    """Reset the counts of a row's values in a group that is about to be given back."""
    for a in range(rows.shape[1]):
        counts.copies[group, cells.attribute[a].leaf_start + rows[i, a]] = 0


@lean
def move_group(groups, group, to):
    """Renumber a group to the unused number `to`, and free its old number. O(leaves)."""
    counts = groups.counts
    counts.size[to], counts.cost[to] = counts.size[group], counts.cost[group]
    for a in range(counts.span.shape[1]):
        counts.cell[to, a] = counts.cell[group, a]
        old, new = counts.span[group, a], counts.span[to, a]
        new.lo, new.hi, new.width = old.lo, old.hi, old.width
    for leaf in range(counts.copies.shape[1]):
        counts.copies[to, leaf] = counts.copies[group, leaf]
        counts.copies[group, leaf] = 0
    give_back(groups, group)


@lean
def total_cost(counts):
    """Total cost of all records."""
    total = 0.0
    for group in range(len(counts.size)):
        total += counts.size[group] * counts.cost[group]
    return total


@lean
def _cell_joined(cells, counts, group, a, x):
    """Cost of a cell of a nonempty group after leaf x is added to it."""
    if counts.copies[group, cells.attribute[a].leaf_start + x] > 0:
        return counts.cell[group, a]
    lo, hi = min(counts.span[group, a].lo, x), max(counts.span[group, a].hi, x)
    return cell_cost(cells, a, lo, hi, counts.span[group, a].width + 1)


@lean
def cost_joined(cells, counts, group, rows, i):
    """Cost of one record of a nonempty group after row i is added to it."""
    total = 0.0
    for a in range(rows.shape[1]):
        total += _cell_joined(cells, counts, group, a, rows[i, a])
    return total


@lean
def cells_joined(cells, counts, group, a, rows, sign, costs):
    """Add `sign` times the cost of a cell of a nonempty group, after each row is added to it, to `costs`."""
    for i in range(len(rows)):
        costs[i] += sign * _cell_joined(cells, counts, group, a, rows[i, a])


@lean
def added_by(cells, counts, group, rows, i):
    """How much the total cost rises if row i joins a group."""
    size = counts.size[group]
    return (size + 1) * cost_joined(cells, counts, group, rows, i) - size * counts.cost[group]


@lean
def _ends_without(counts, group, start, lo, hi, x):
    """The least and the greatest leaf of a group after its only record with leaf x has left."""
    if lo < hi and x == lo:
        lo += 1
        while counts.copies[group, start + lo] == 0:
            lo += 1
    elif lo < hi and x == hi:
        hi -= 1
        while counts.copies[group, start + hi] == 0:
            hi -= 1
    return lo, hi


@lean
def cost_without(cells, counts, group, rows, i):
    """Cost of one record of a group after row i has left it."""
    total = 0.0
    for a in range(rows.shape[1]):
        x, start = rows[i, a], cells.attribute[a].leaf_start
        if counts.copies[group, start + x] > 1:
            total += counts.cell[group, a]
        else:
            lo, hi = counts.span[group, a].lo, counts.span[group, a].hi
            lo, hi = _ends_without(counts, group, start, lo, hi, x)
            total += cell_cost(cells, a, lo, hi, counts.span[group, a].width - 1)
    return total


@lean
def cost_exchanged(cells, counts, group, rows, i, other):
    """Cost of one record of a group of two or more after row i is replaced by row `other`."""
    total = 0.0
    for a in range(rows.shape[1]):
        x, y = rows[i, a], rows[other, a]
        if x == y:
            total += counts.cell[group, a]
            continue
        start = cells.attribute[a].leaf_start
        stays, comes = counts.copies[group, start + x] > 1, counts.copies[group, start + y] == 0
        if stays and not comes:
            total += counts.cell[group, a]
            continue
        lo, hi = counts.span[group, a].lo, counts.span[group, a].hi
        width = counts.span[group, a].width
        if not stays:
            lo, hi = _ends_without(counts, group, start, lo, hi, x)
            width -= 1
        if comes:
            lo, hi, width = min(lo, y), max(hi, y), width + 1
        total += cell_cost(cells, a, lo, hi, width)
    return total


@lean
def add(cells, counts, group, rows, i):
    """Add a row to the counts of a group."""
    total = 0.0
    for a in range(rows.shape[1]):
        x = rows[i, a]
        place = cells.attribute[a].leaf_start + x
        counts.copies[group, place] += 1
        if counts.copies[group, place] == 1:
            if counts.size[group] == 0:
                counts.span[group, a].lo, counts.span[group, a].hi, counts.span[group, a].width = x, x, 0
            lo, hi = min(counts.span[group, a].lo, x), max(counts.span[group, a].hi, x)
            counts.span[group, a].lo, counts.span[group, a].hi = lo, hi
            counts.span[group, a].width += 1
            counts.cell[group, a] = cell_cost(cells, a, lo, hi, counts.span[group, a].width)
        total += counts.cell[group, a]
    counts.cost[group] = total
    counts.size[group] += 1


@lean
def take_out(cells, counts, group, rows, i):
    """Remove a row from the counts of a group."""
    total = 0.0
    for a in range(rows.shape[1]):
        x, start = rows[i, a], cells.attribute[a].leaf_start
        if counts.copies[group, start + x] == 1 and counts.size[group] > 1:
            lo, hi = counts.span[group, a].lo, counts.span[group, a].hi
            lo, hi = _ends_without(counts, group, start, lo, hi, x)
            counts.span[group, a].lo, counts.span[group, a].hi = lo, hi
            counts.span[group, a].width -= 1
            counts.cell[group, a] = cell_cost(cells, a, lo, hi, counts.span[group, a].width)
        counts.copies[group, start + x] -= 1
        total += counts.cell[group, a]
    counts.size[group] -= 1
    counts.cost[group] = total if counts.size[group] else 0.0


@lean
def link(groups, record, group):
    """Add a record to the list of a group's members."""
    first = groups.first[group]
    groups.group[record] = group
    groups.links[record].before, groups.links[record].after = -1, first
    if first >= 0:
        groups.links[first].before = record
    groups.first[group] = record


@lean
def unlink(groups, record):
    """Remove a record from the list of its group's members."""
    before, after = groups.links[record].before, groups.links[record].after
    if before >= 0:
        groups.links[before].after = after
    else:
        groups.first[groups.group[record]] = after
    if after >= 0:
        groups.links[after].before = before


@lean
def show(cells, groups, group):
    """Bring `joined`, `one_more` and `paid` up to date with a group. O(leaves)."""
    show_size(groups, group)
    for a in range(len(cells.attribute)):
        show_attribute(cells, groups, group, a)


@lean
def show_size(groups, group):
    """Bring `one_more` and `paid` up to date with the size and the cost of a group."""
    size = groups.counts.size[group]
    groups.one_more[group], groups.paid[group] = size + 1, size * groups.counts.cost[group]


@lean
def show_attribute(cells, groups, group, a):
    """Bring `joined` up to date with one attribute of a group."""
    block, lane, start = group // BLOCK, group % BLOCK, cells.attribute[a].leaf_start
    cell = np.float32(groups.counts.cell[group, a])
    for x in range(cells.attribute[a].n_leaves):
        cost = np.float32(_cell_joined(cells, groups.counts, group, a, x))
        groups.joined[block, start + x, lane] = cost
        cost += np.float32(groups.k) * (cost - cell)
        groups.lowest[start + x, block] = min(cost, groups.lowest[start + x, block])


@lean
def show_lowest(cells, groups):
    """Raise the lower bounds `lowest` again; changes of groups only lower them. O(leaves * groups)."""
    for block in range(len(groups.joined)):
        for a in range(len(cells.attribute)):
            start = cells.attribute[a].leaf_start
            for leaf in range(start, start + cells.attribute[a].n_leaves):
                lowest = np.float32(np.inf)
                for lane in range(BLOCK):
                    cost = groups.joined[block, leaf, lane]
                    group = block * BLOCK + lane
                    if groups.paid[group] >= 0:
                        cell = np.float32(groups.counts.cell[group, a])
                        lowest = min(lowest, cost + np.float32(groups.k) * (cost - cell))
                groups.lowest[leaf, block] = lowest


@kernel
def members(groups, numbers):
    """All records of the groups `numbers`, and for each record the place of its group in `numbers`."""
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
            record = groups.links[record].after
    return records, labels

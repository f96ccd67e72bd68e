"""Split groups of cells into the children of a node: those that become groups, and those left behind.

A group is a run of cells with how many records of each are in it; a cell may be in several groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import place_among, stable_order


class CellTable(NamedTuple):
    """Cells, and the limits that k and alpha set for groups of them.

    The values that alpha bounds are numbered from 0 over all demands; a cell has at most one per demand.
    """

    leaves: np.ndarray  # cells by attributes
    value: np.ndarray  # cells by demands: the value of the cell, -1: none
    room: np.ndarray  # demands by sizes: how many records with one value a group of that size may have
    k: int
    n_values: int


class Split(NamedTuple):
    """A group split into the children of its node in one attribute.

    child        per cell: its child, numbered from 0; -1: a hidden value, which is in no child
    apart        per child: whether it becomes a group of its own
    spare        per child: how many records it can give away, whatever their values
    need         how many records must be taken from children, so that those left behind form a valid group
    target       how many records are left behind after that
    specialized  records in children that become groups
    """

    child: np.ndarray
    apart: np.ndarray
    spare: np.ndarray
    need: int
    target: int
    specialized: int


@kernel
def _add(table, cell, count, counters, most):
    """Add records of a cell to `counters`, and update `most`, the count of each demand's commonest value."""
    for demand in range(len(most)):
        value = table.value[cell, demand]
        if value >= 0:
            counters[value] += count
            most[demand] = max(most[demand], counters[value])


@kernel
def forget(table, cells, counters):
    """Reset the counters of the values of these cells to 0."""
    for cell in cells:
        for demand in range(table.value.shape[1]):
            if table.value[cell, demand] >= 0:
                counters[table.value[cell, demand]] = 0


@kernel
def _least_size(table, most):
    """The least size of a valid group whose most frequent values occur `most` times."""
    size = table.k
    for demand in range(len(most)):
        size = max(size, place_among(table.room[demand], most[demand]))
    return size


@kernel
def _number_children(table, trees, cells, attribute, node, number):
    """The child of each cell, numbered by first appearance, and how many there are.

    number  scratch, all -1 before and after
    """
    base = trees.lineage_start[attribute] + (trees.depth[node] + 1) * trees.n_leaves[attribute]
    child = np.empty(len(cells), np.int64)
    n_children = 0
    for i in range(len(cells)):
        below = trees.lineage[base + table.leaves[cells[i], attribute]]
        if below >= 0 and number[below] < 0:
            number[below] = n_children
            n_children += 1
        child[i] = number[below] if below >= 0 else -1
    for cell in cells:
        below = trees.lineage[base + table.leaves[cell, attribute]]
        if below >= 0:
            number[below] = -1
    return child, n_children


@kernel
def by_child(child, n_children):
    """Places sorted by child, and where each child starts; places in no child are left out."""
    start = np.zeros(n_children + 1, np.int64)
    for c in child:
        if c >= 0:
            start[c + 1] += 1
    start = np.cumsum(start)
    place = np.empty(start[n_children], np.int64)
    filled = start[:-1].copy()
    for i in range(len(child)):
        if child[i] >= 0:
            place[filled[child[i]]] = i
            filled[child[i]] += 1
    return place, start


@kernel
def supply(table, cells, counts, places, split, counters, taken):
    """Take records out of children, in the order of places, until those left behind have what they need.

    A child gives what it can spare; records with a value are taken while a group of the target size has room
    for it. `counters` holds the values of those left behind. Fills `taken` per cell; returns how many records
    are still missing.
    """
    missing = split.need
    spare = split.spare.copy()
    for i in places:
        c = split.child[i]
        if c < 0 or not split.apart[c]:
            continue
        n = min(missing, counts[i], spare[c])
        for demand in range(table.value.shape[1]):
            value = table.value[cells[i], demand]
            if value >= 0:
                n = min(n, table.room[demand, split.target] - counters[value])
        if n > 0:
            taken[i] = n
            missing -= n
            spare[c] -= n
            for demand in range(table.value.shape[1]):
                if table.value[cells[i], demand] >= 0:
                    counters[table.value[cells[i], demand]] += n
        if missing == 0:
            break
    return missing


@kernel
def left_behind(table, cells, counts, child, apart, counters, most):
    """Count the records that are left behind, and their values: those in no child that becomes a group."""
    rest = 0
    most[:] = 0
    for i in range(len(cells)):
        if child[i] < 0 or not apart[child[i]]:
            rest += counts[i]
            _add(table, cells[i], counts[i], counters, most)
    return rest


@kernel
def split_group(table, trees, cells, counts, attribute, node, moving, number, counters):
    """Split a group into the children of its node; O(cells).

    Children that fail are left behind. If those left behind fail, records are taken from other children
    (`moving`, and if these can spare enough), else whole children join them, the smallest first.
    `number` (per node, -1) and `counters` (per value, 0) are scratch, the same afterwards.
    """
    child, n_children = _number_children(table, trees, cells, attribute, node, number)
    place, start = by_child(child, n_children)
    n_demands = table.value.shape[1]
    sizes = np.zeros(n_children, np.int64)
    spare = np.zeros(n_children, np.int64)
    apart = np.zeros(n_children, np.bool_)
    most = np.zeros(n_demands, np.int64)
    for c in range(n_children):
        most[:] = 0
        here = cells[place[start[c] : start[c + 1]]]
        for i in place[start[c] : start[c + 1]]:
            sizes[c] += counts[i]
            _add(table, cells[i], counts[i], counters, most)
        forget(table, here, counters)
        spare[c] = sizes[c] - _least_size(table, most)
        apart[c] = spare[c] >= 0
    rest = left_behind(table, cells, counts, child, apart, counters, most)
    target = max(rest, _least_size(table, most)) if rest > 0 else 0
    split = Split(child, apart, spare, target - rest, target, counts.sum() - target)
    if split.need > 0 and moving:
        missing = supply(table, cells, counts, np.arange(len(cells)), split, counters, np.zeros_like(counts))
        forget(table, cells, counters)
        if missing == 0:
            return split
        rest = left_behind(table, cells, counts, child, apart, counters, most)
    if split.need > 0:
        for c in stable_order(sizes):
            if rest >= _least_size(table, most):
                break
            if apart[c]:
                apart[c] = False
                rest += sizes[c]
                for i in place[start[c] : start[c + 1]]:
                    _add(table, cells[i], counts[i], counters, most)
        split = Split(child, apart, spare, 0, rest, counts.sum() - rest)
    forget(table, cells, counters)
    return split

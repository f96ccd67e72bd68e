"""Top-down specialization: groups of cells split into the children of a node, those that fail left behind.

A group is a run of cells with how many records of each are in it; a cell may be in several groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["CellTable", "specialize", "split_group"]

TRIED = 1000  # cells that are specialized on trial to choose which records are left behind


class CellTable(NamedTuple):
    """Cells, and what is asked of groups of them.

    A value that alpha bounds is a number from 0 on, over all demands; a cell has at most one per demand.
    """

    leaves: np.ndarray  # cells by attributes
    value: np.ndarray  # cells by demands: the value of the cell, -1: none
    room: np.ndarray  # demands by sizes: how many records with one value a group of that size may have
    k: int
    n_values: int


class Split(NamedTuple):
    """A group split into the children of its node in one attribute.

    child        per cell, from 0 on; -1: a hidden value, which is in no child
    apart        per child: whether it becomes a group of its own
    spare        per child: how many records it can do without, whatever their values
    need         how many records are to be taken from children, so that those left behind form a valid group
    target       how many are left behind then
    specialized  records in children that become groups
    """

    child: np.ndarray
    apart: np.ndarray
    spare: np.ndarray
    need: int
    target: int
    specialized: int


@njit(cache=True, nogil=True)
def _add(table, cell, count, counters, most):
    """Count records of a cell; `most` has per demand the records of the most frequent value."""
    for demand in range(len(most)):
        value = table.value[cell, demand]
        if value >= 0:
            counters[value] += count
            most[demand] = max(most[demand], counters[value])


@njit(cache=True, nogil=True)
def _forget(table, cells, counters):
    for cell in cells:
        for demand in range(table.value.shape[1]):
            if table.value[cell, demand] >= 0:
                counters[table.value[cell, demand]] = 0


@njit(cache=True, nogil=True)
def _least_size(table, most):
    """The fewest records that a valid group has in which values occur so often."""
    size = table.k
    for demand in range(len(most)):
        size = max(size, np.searchsorted(table.room[demand], most[demand]))
    return size


@njit(cache=True, nogil=True)
def _number_children(table, trees, cells, attribute, node, number):
    """The child of each cell, numbered by first appearance, and how many there are; `number` is all -1."""
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


@njit(cache=True, nogil=True)
def _by_child(child, n_children):
    """Places in the order of children, and where each child starts; those in no child are not among them."""
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


@njit(cache=True, nogil=True)
def _supply(table, cells, counts, places, split, counters, taken):
    """Take records out of children, in the order of places, until those left behind have what they need.

    A child gives what it can spare; a value is taken while it fits into the room of the target. `counters`
    holds the values of those left behind. Fills `taken` per cell; returns how many are missing.
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


@njit(cache=True, nogil=True)
def _left_behind(table, cells, counts, child, apart, counters, most):
    """Count the records in no child that is apart, and their values."""
    rest = 0
    most[:] = 0
    for i in range(len(cells)):
        if child[i] < 0 or not apart[child[i]]:
            rest += counts[i]
            _add(table, cells[i], counts[i], counters, most)
    return rest


@njit(cache=True, nogil=True)
def split_group(table, trees, cells, counts, attribute, node, moving, number, counters):
    """Split a group into the children of its node; O(cells).

    Children that fail are left behind. If those left behind fail, records are taken from other children
    (`moving`, and if these can spare enough), else whole children join them, the smallest first.
    `number` (per node, -1) and `counters` (per value, 0) are scratch, the same afterwards.
    """
    child, n_children = _number_children(table, trees, cells, attribute, node, number)
    place, start = _by_child(child, n_children)
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
        _forget(table, here, counters)
        spare[c] = sizes[c] - _least_size(table, most)
        apart[c] = spare[c] >= 0
    rest = _left_behind(table, cells, counts, child, apart, counters, most)
    target = max(rest, _least_size(table, most)) if rest > 0 else 0
    split = Split(child, apart, spare, target - rest, target, counts.sum() - target)
    if split.need > 0 and moving:
        missing = _supply(table, cells, counts, np.arange(len(cells)), split, counters, np.zeros_like(counts))
        _forget(table, cells, counters)
        if missing == 0:
            return split
        rest = _left_behind(table, cells, counts, child, apart, counters, most)
    if split.need > 0:
        for c in np.argsort(sizes, kind="mergesort"):
            if rest >= _least_size(table, most):
                break
            if apart[c]:
                apart[c] = False
                rest += sizes[c]
                for i in place[start[c] : start[c + 1]]:
                    _add(table, cells[i], counts[i], counters, most)
        split = Split(child, apart, spare, 0, rest, counts.sum() - rest)
    _forget(table, cells, counters)
    return split


@njit(cache=True, nogil=True)
def _lowest_nodes(table, trees, cells):
    """Per attribute the lowest node over a group, -1 where it has one leaf; and the sum of their depths."""
    r = table.leaves.shape[1]
    nodes = np.empty(r, np.int64)
    depth = 0
    for j in range(r):
        lo = hi = table.leaves[cells[0], j]
        for cell in cells:
            lo, hi = min(lo, table.leaves[cell, j]), max(hi, table.leaves[cell, j])
        node = trees.leaf_node[trees.leaf_start[j] + lo]
        while trees.last_leaf[node] < hi:
            node = trees.parent[node]
        depth += trees.depth[node]
        nodes[j] = node if lo < hi else -1
    return nodes, depth


@njit(cache=True, nogil=True)
def _best_attribute(table, trees, cells, counts, nodes, moving, number, counters):
    """The attribute that specializes most records, of these the one with fewest branches; -1: none does."""
    best, best_specialized, best_branches = -1, 0, 0
    if counts.sum() < 2 * table.k:
        return best
    for j in range(len(nodes)):
        if nodes[j] < 0:
            continue
        split = split_group(table, trees, cells, counts, j, nodes[j], moving, number, counters)
        branches = split.apart.sum()
        if split.specialized > best_specialized or (
            split.specialized == best_specialized and best >= 0 and branches < best_branches
        ):
            best, best_specialized, best_branches = j, split.specialized, branches
    return best


@njit(cache=True, nogil=True)
def _depths(table, trees, cells, counts, number, counters):
    """How deep each cell of a group comes when it is specialized as far as may be, no records being moved."""
    depth = np.zeros(len(cells), np.int64)
    place = np.arange(len(cells))
    starts = [0]
    ends = [len(cells)]
    while len(starts) > 0:
        start, end = starts.pop(), ends.pop()
        here = place[start:end].copy()
        nodes, reached = _lowest_nodes(table, trees, cells[here])
        j = _best_attribute(table, trees, cells[here], counts[here], nodes, False, number, counters)
        if j < 0:
            depth[here] = reached
            continue
        split = split_group(table, trees, cells[here], counts[here], j, nodes[j], False, number, counters)
        part = _parts(split)
        order, first = _by_child(part, len(split.apart) + 1)
        place[start:end] = here[order]
        for p in range(len(first) - 1):
            if first[p] < first[p + 1]:
                starts.append(start + first[p])
                ends.append(start + first[p + 1])
    return depth


@njit(cache=True, nogil=True)
def _parts(split):
    """The part that each cell of a split group is in: 0 if it is left behind, else 1 more than its child."""
    part = split.child + 1
    for i in range(len(part)):
        if part[i] > 0 and not split.apart[part[i] - 1]:
            part[i] = 0
    return part


@njit(cache=True, nogil=True)
def _records_to_move(table, trees, cells, counts, split, number, counters):
    """Per cell how many records are taken from children: those that come least deep on trial; O(cells).

    Of records that come equally deep, those with no value that alpha bounds are taken first. Tried are
    children that can spare records, the smallest first, until they can spare enough and there are TRIED
    cells. All 0: they cannot spare enough after all.
    """
    place, start = _by_child(split.child, len(split.apart))
    sizes = np.zeros(len(split.apart), np.int64)
    for i in place:
        sizes[split.child[i]] += counts[i]
    depth = np.full(len(cells), np.int64(2**60))
    spare, n_tried = 0, 0
    for c in np.argsort(sizes, kind="mergesort"):
        if spare >= split.need and n_tried >= TRIED:
            break
        if split.apart[c] and split.spare[c] > 0:
            here = place[start[c] : start[c + 1]]
            depth[here] = _depths(table, trees, cells[here], counts[here], number, counters)
            spare += split.spare[c]
            n_tried += len(here)
    taken = np.zeros_like(counts)
    most = np.zeros(table.value.shape[1], np.int64)
    _left_behind(table, cells, counts, split.child, split.apart, counters, most)
    for i in range(len(cells)):
        depth[i] = 2 * depth[i] + (table.value[cells[i]] >= 0).any()
    order = np.argsort(depth, kind="mergesort")
    missing = _supply(table, cells, counts, order, split, counters, taken)
    _forget(table, cells, counters)
    if missing > 0:
        taken[:] = 0
    return taken


@njit(cache=True, nogil=True)
def specialize(table, trees, cells, counts, starts, budget):
    """Specialize groups, the last one first, until none is left or so many cells have been looked at.

    starts[g] is the first cell of group g. Returns the groups that are left (cells, counts, starts) and those
    that are finished (cells, counts, sizes in cells). O(cells * attributes) per group and depth.
    """
    number = np.full(len(trees.parent), np.int64(-1))
    counters = np.zeros(table.n_values, np.int64)
    stack = list(starts)
    end = len(cells)
    done = [(cells[:0], counts[:0])]
    while len(stack) > 0 and budget > 0:
        start = stack.pop()
        here, copies = cells[start:end].copy(), counts[start:end].copy()
        end = start
        budget -= len(here) * len(trees.n_leaves)
        nodes, _ = _lowest_nodes(table, trees, here)
        j = _best_attribute(table, trees, here, copies, nodes, True, number, counters)
        taken = np.zeros_like(copies)
        specialized = 0
        if j >= 0:
            split = split_group(table, trees, here, copies, j, nodes[j], True, number, counters)
            if split.need > 0:
                taken = _records_to_move(table, trees, here, copies, split, number, counters)
                if not taken.any():
                    split = split_group(table, trees, here, copies, j, nodes[j], False, number, counters)
            specialized = split.specialized
        if specialized == 0:
            done.append((here, copies))
            continue
        n_more = end + len(here) + np.count_nonzero(taken) - len(cells)
        if n_more > 0:
            cells = np.concatenate((cells, np.empty(n_more + len(cells), cells.dtype)))
            counts = np.concatenate((counts, np.empty(len(cells) - len(counts), counts.dtype)))
        part = _parts(split)
        order, first = _by_child(part, len(split.apart) + 1)
        if split.specialized < copies.sum():
            stack.append(end)
        for i in range(len(here)):
            n = copies[i] if part[i] == 0 else taken[i]
            if n > 0:
                cells[end], counts[end] = here[i], n
                end += 1
        for p in range(1, len(first) - 1):
            if first[p] < first[p + 1]:
                stack.append(end)
            for i in order[first[p] : first[p + 1]]:
                if copies[i] > taken[i]:
                    cells[end], counts[end] = here[i], copies[i] - taken[i]
                    end += 1
    left = np.array([*stack, 0])[:-1]
    sizes = np.array([len(group) for group, _ in done])[1:]
    n_done = sizes.sum()
    done_cells, done_counts = np.empty(n_done, cells.dtype), np.empty(n_done, counts.dtype)
    filled = 0
    for group, copies in done:
        done_cells[filled : filled + len(group)] = group
        done_counts[filled : filled + len(group)] = copies
        filled += len(group)
    return cells[:end].copy(), counts[:end].copy(), left, done_cells, done_counts, sizes

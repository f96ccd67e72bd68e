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
def split_group(table, trees, cells, counts, attribute, node, moving, scratch):
    """Split a group into the children of its node; O(cells).

    Children that fail are left behind. If those left behind fail, records are taken from other children
    (`moving`, and if these can spare enough), else whole children join them, the smallest first.
    `scratch` has a number per node, -1, and a counter per value, 0; they are the same afterwards.
    """
    number, counters = scratch
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


TRIED = 1000  # cells that are specialized on trial to choose which records are left behind


@kernel
def _lowest_nodes(table, trees, cells):
    """The lowest node over a group in each attribute, -1 for a single leaf; and the sum of their depths."""
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


@kernel
def _best_attribute(table, trees, cells, counts, nodes, moving, number, counters):
    """The attribute that specializes most records, on ties that with fewest branches; -1 if there is none."""
    best, best_specialized, best_branches = -1, 0, 0
    if counts.sum() < 2 * table.k:
        return best
    for j in range(len(nodes)):
        if nodes[j] < 0:
            continue
        split = split_group(table, trees, cells, counts, j, nodes[j], moving, (number, counters))
        branches = split.apart.sum()
        if split.specialized > best_specialized or (
            split.specialized == best_specialized and best >= 0 and branches < best_branches
        ):
            best, best_specialized, best_branches = j, split.specialized, branches
    return best


@kernel
def _depths(table, trees, cells, counts, number, counters):
    """The depth each cell of a group reaches if it is specialized as far as possible, moving no records."""
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
        split = split_group(table, trees, cells[here], counts[here], j, nodes[j], False, (number, counters))
        part = _parts(split)
        order, first = by_child(part, len(split.apart) + 1)
        place[start:end] = here[order]
        for p in range(len(first) - 1):
            if first[p] < first[p + 1]:
                starts.append(start + first[p])
                ends.append(start + first[p + 1])
    return depth


@kernel
def _parts(split):
    """The part that each cell of a split group is in: 0 if it is left behind, else 1 more than its child."""
    part = split.child + 1
    for i in range(len(part)):
        if part[i] > 0 and not split.apart[part[i] - 1]:
            part[i] = 0
    return part


@kernel
def _records_to_move(table, trees, cells, counts, split, number, counters):
    """How many records of each cell are taken from children: those of least depth by trial. O(cells).

    Among records of equal depth, those without a value that alpha bounds are taken first. The children tried
    are those that can spare records, the smallest first, until they can spare enough and there are TRIED
    cells. All 0 if they cannot spare enough after all.
    """
    place, start = by_child(split.child, len(split.apart))
    sizes = np.zeros(len(split.apart), np.int64)
    for i in place:
        sizes[split.child[i]] += counts[i]
    depth = np.full(len(cells), np.int64(2**60))
    spare, n_tried = 0, 0
    for c in stable_order(sizes):
        if spare >= split.need and n_tried >= TRIED:
            break
        if split.apart[c] and split.spare[c] > 0:
            here = place[start[c] : start[c + 1]]
            depth[here] = _depths(table, trees, cells[here], counts[here], number, counters)
            spare += split.spare[c]
            n_tried += len(here)
    taken = np.zeros_like(counts)
    most = np.zeros(table.value.shape[1], np.int64)
    left_behind(table, cells, counts, split.child, split.apart, counters, most)
    for i in range(len(cells)):
        depth[i] = 2 * depth[i] + (table.value[cells[i]] >= 0).any()
    order = stable_order(depth)
    missing = supply(table, cells, counts, order, split, counters, taken)
    forget(table, cells, counters)
    if missing > 0:
        taken[:] = 0
    return taken


@kernel
def specialize(table, trees, cells, counts, starts, budget):
    """Specialize groups, the last one first, until none is left or `budget` cells have been read.

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
            split = split_group(table, trees, here, copies, j, nodes[j], True, (number, counters))
            if split.need > 0:
                taken = _records_to_move(table, trees, here, copies, split, number, counters)
                if not taken.any():
                    split = split_group(table, trees, here, copies, j, nodes[j], False, (number, counters))
            specialized = split.specialized
        if specialized == 0:
            done.append((here, copies))
            continue
        n_more = end + len(here) + np.count_nonzero(taken) - len(cells)
        if n_more > 0:
            cells = np.concatenate((cells, np.empty(n_more + len(cells), cells.dtype)))
            counts = np.concatenate((counts, np.empty(len(cells) - len(counts), counts.dtype)))
        part = _parts(split)
        order, first = by_child(part, len(split.apart) + 1)
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

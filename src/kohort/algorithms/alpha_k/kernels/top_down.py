"""Top-down specialization: groups of cells are split in the best way until no split leaves them safe."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.alpha_k.kernels.group_splits import by_child, forget, left_behind, split_group, supply
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

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
        split = split_group(table, trees, cells, counts, j, nodes[j], moving, number, counters)
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
        split = split_group(table, trees, cells[here], counts[here], j, nodes[j], False, number, counters)
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

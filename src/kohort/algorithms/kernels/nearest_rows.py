"""Exact nearest neighbours among distinct rows: a tree of boxes, searched with lower bounds.

The distance of two rows is the cost of one record published as their closure (the weight of an edge in
Aggarwal et al., 2005, section 4). For monotone costs it obeys the triangle inequality.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import range_cost
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order
from kohort.problem.encoding.layout import SET, TREE

_BUCKET, _LEAST = 12, 4  # the most and the fewest rows of a box that is not halved
_PAIRS = 64
_DEPTH = 64


class BoxTree(NamedTuple):
    """Rows in the order of the boxes that hold them: place p holds row order[p], whose leaves, numbered
    through all attributes, are cells[p].

    Box i has the places start[i] to end[i]; its halves are left[i] and left[i] + 1, or left[i] is -1;
    lo and hi are its least and greatest cells. first_leaf is that of each node of the hierarchies, counted
    inside its attribute.
    """

    order: np.ndarray
    cells: np.ndarray
    start: np.ndarray
    end: np.ndarray
    left: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    first_leaf: np.ndarray


@kernel
def box_tree(tables, leaves):
    """Halve the rows by the attribute in which they differ dearest, down to a dozen. O(n log^2 n).

    Where subtrees of a hierarchy end, since rows of the same one are near each other. Either half has a
    quarter of the rows or more.
    """
    n, r = leaves.shape
    most = 2 * (n // _LEAST) + 3
    order = np.arange(n).astype(np.int32)
    start, end = np.zeros(most, np.int32), np.zeros(most, np.int32)
    left = np.full(most, -1, np.int32)
    lo, hi = np.zeros((most, r), np.int32), np.zeros((most, r), np.int32)
    end[0] = n
    used, box = 1, 0
    while box < used:
        rows = order[start[box] : end[box]]
        widest, widest_cost = -1, -1.0
        for j in range(r):
            least, greatest = leaves[rows[0], j], leaves[rows[0], j]
            for row in rows:
                least, greatest = min(least, leaves[row, j]), max(greatest, leaves[row, j])
            lo[box, j], hi[box, j] = tables.leaf_start[j] + least, tables.leaf_start[j] + greatest
            if least < greatest:
                cost = _sampled_cost(tables, leaves, rows, j)
                if cost > widest_cost:
                    widest, widest_cost = j, cost
        if len(rows) > _BUCKET and widest >= 0:
            rows[:] = rows[stable_order(leaves[rows, widest])]
            middle = start[box] + _widest_gap(tables, leaves, rows, widest)
            left[box] = used
            start[used], end[used] = start[box], middle
            start[used + 1], end[used + 1] = middle, end[box]
            used += 2
        box += 1
    cells = np.empty((n, r), np.int32)
    for place in range(n):
        cells[place] = leaves[order[place]] + tables.leaf_start
    first_leaf = _first_leaves(tables)
    return BoxTree(order, cells, start[:used], end[:used], left[:used], lo[:used], hi[:used], first_leaf)


@kernel
def _sampled_cost(tables, leaves, rows, j):
    """What an attribute costs in all for some pairs of rows published alike."""
    total, half = 0.0, len(rows) // 2
    for number in range(min(len(rows), _PAIRS)):
        place = number * 31
        a, b = leaves[rows[place % len(rows)], j], leaves[rows[(place + half) % len(rows)], j]
        total += _pair_cost(tables, j, min(a, b), max(a, b))
    return total


@kernel
def _widest_gap(tables, leaves, rows, j):
    """Where to halve rows sorted by an attribute: in their middle half, where neighbours cost most."""
    half = len(rows) // 2
    widest, widest_cost = half, -1.0
    for step in range(len(rows) // 4):
        for place in (half - step, half + step):
            a, b = leaves[rows[place - 1], j], leaves[rows[place], j]
            if a < b and _pair_cost(tables, j, a, b) > widest_cost:
                widest, widest_cost = place, _pair_cost(tables, j, a, b)
    return widest


@kernel
def _first_leaves(tables):
    """The first leaf of every node, counted inside its attribute. O(nodes)."""
    first = np.full(len(tables.parent), -1, np.int32)
    r = len(tables.leaf_start)
    for j in range(r):
        if tables.kind[j] != TREE:
            continue
        start = tables.leaf_start[j]
        end = tables.leaf_start[j + 1] if j + 1 < r else len(tables.leaf_node)
        for leaf in range(start, end):
            node = tables.leaf_node[leaf]
            while node >= 0 and first[node] < 0:
                first[node] = leaf - start
                node = tables.parent[node]
    return first


@kernel
def nearest_rows(tables, counts, tree, k, first, last):
    """The nearest other rows of the rows at places first to last of the tree, nearest first, until they and
    the row itself are k records; and the distance of the last of them.

    Ties go to the smaller row number. A row with k copies needs no other: its list is empty, its distance
    that of two copies. A list ends with -1 where it is shorter than k - 1.
    """
    width = min(k - 1, len(counts) - 1)
    found = np.full((last - first, max(width, 1)), -1, np.int32)
    radius = np.zeros(last - first)
    near, far = np.empty(width + 2, np.int32), np.empty(width + 2)
    stack, bounds = np.empty(_DEPTH, np.int32), np.empty(_DEPTH)
    costs, seen = np.empty(len(tables.leaf_cost)), np.full(tree.cells.shape[1], -1, np.int32)
    for place in range(first, last):
        row, own = tree.order[place], tree.cells[place]
        _look_from(tables, tree.first_leaf, own, seen, costs)
        missing = k - counts[row]
        if missing <= 0:
            radius[place - first] = _distance(costs, own, np.inf)
            continue
        size, held, most = 0, 0, np.inf
        depth, stack[0], bounds[0] = 1, 0, 0.0
        while depth > 0:
            depth -= 1
            if bounds[depth] > most:
                continue
            box = stack[depth]
            below = tree.left[box]
            if below >= 0:
                one = _least_distance(costs, own, tree.lo[below], tree.hi[below], most)
                two = _least_distance(costs, own, tree.lo[below + 1], tree.hi[below + 1], most)
                nearer = 0 if one <= two else 1
                stack[depth], bounds[depth] = below + 1 - nearer, max(one, two)
                stack[depth + 1], bounds[depth + 1] = below + nearer, min(one, two)
                depth += 2
                continue
            for there in range(tree.start[box], tree.end[box]):
                if there == place:
                    continue
                d = _distance(costs, tree.cells[there], most)
                other = tree.order[there]
                if d > most or (d == most and other > near[size - 1]):
                    continue
                at = size
                while at > 0 and (far[at - 1] > d or (far[at - 1] == d and near[at - 1] > other)):
                    near[at], far[at] = near[at - 1], far[at - 1]
                    at -= 1
                near[at], far[at] = other, d
                size += 1
                held += counts[other]
                while held - counts[near[size - 1]] >= missing:  # the farthest is not needed any more
                    size -= 1
                    held -= counts[near[size]]
                if held >= missing:
                    most = far[size - 1]
        found[place - first, :size] = near[:size]
        radius[place - first] = far[size - 1]
    return found, radius


@kernel
def pairs_within(tables, tree, reach, room, first, last):
    """All pairs of places p < q of the tree that are nearer than reach[p] + reach[q] by more than rounding,
    and their distances, for p from first to last. More than `room` pairs are not looked for."""
    farthest = np.zeros(len(tree.start))
    for box in range(len(tree.start)):
        farthest[box] = reach[tree.start[box] : tree.end[box]].max()
    pairs, lengths = np.empty((1024, 2), np.int32), np.empty(1024)
    n_pairs = 0
    stack = np.empty(_DEPTH, np.int32)
    costs, seen = np.empty(len(tables.leaf_cost)), np.full(tree.cells.shape[1], -1, np.int32)
    for place in range(first, last):
        own = tree.cells[place]
        _look_from(tables, tree.first_leaf, own, seen, costs)
        depth, stack[0] = 1, 0
        while depth > 0:
            depth -= 1
            box = stack[depth]
            most = reach[place] + farthest[box]
            if (
                tree.end[box] <= place
                or _least_distance(costs, own, tree.lo[box], tree.hi[box], most) >= most
            ):
                continue
            below = tree.left[box]
            if below >= 0:
                stack[depth], stack[depth + 1] = below, below + 1
                depth += 2
                continue
            for there in range(max(tree.start[box], place + 1), tree.end[box]):
                most = reach[place] + reach[there]
                d = _distance(costs, tree.cells[there], most)
                if d < most - 1e-12:
                    if n_pairs == len(lengths):
                        pairs = np.concatenate((pairs, np.empty_like(pairs)))
                        lengths = np.concatenate((lengths, np.empty_like(lengths)))
                    pairs[n_pairs, 0], pairs[n_pairs, 1], lengths[n_pairs] = place, there, d
                    n_pairs += 1
        if n_pairs > room:
            break
    return pairs[:n_pairs], lengths[:n_pairs]


@kernel
def distances(tables, leaves, one, other):
    """The distance of each pair of rows. O(attributes * height) each."""
    found = np.zeros(len(one))
    for number in range(len(one)):
        for j in range(leaves.shape[1]):
            a, b = leaves[one[number], j], leaves[other[number], j]
            found[number] += _pair_cost(tables, j, min(a, b), max(a, b))
    return found


@kernel
def _look_from(tables, first_leaf, own, seen, costs):
    """Fill `costs`: for every leaf of every attribute, the cost of a cell published as the closure of that
    leaf and the row's own. Attributes with the same leaf as in `seen` are kept. O(leaves)."""
    r = len(own)
    for j in range(r):
        if own[j] == seen[j]:
            continue
        seen[j] = own[j]
        start = tables.leaf_start[j]
        end = tables.leaf_start[j + 1] if j + 1 < r else len(costs)
        mine = own[j] - start
        if tables.kind[j] == TREE:
            _look_up(tables, first_leaf, start, mine, costs)
            continue
        for leaf in range(end - start):
            costs[start + leaf] = _pair_cost(tables, j, min(leaf, mine), max(leaf, mine))


@kernel
def _look_up(tables, first_leaf, start, mine, costs):
    """Fill the costs of one hierarchy: ring by ring, the leaves that an ancestor of `mine` adds."""
    costs[start + mine] = tables.leaf_cost[start + mine]
    node, lo, hi = tables.leaf_node[start + mine], mine, mine
    while node >= 0:
        cost, first, last = tables.node_cost[node], first_leaf[node], tables.last_leaf[node]
        for leaf in range(first, lo):
            costs[start + leaf] = cost
        for leaf in range(hi + 1, last + 1):
            costs[start + leaf] = cost
        lo, hi = first, last
        node = tables.parent[node]


@kernel
def _pair_cost(tables, attribute, lo, hi):
    """Cost of one cell published as the closure of two leaves lo <= hi."""
    if tables.kind[attribute] != SET or lo == hi:
        return range_cost(tables, attribute, lo, hi)
    if hi >= tables.loners_from[attribute]:
        return tables.full[attribute]
    return tables.base[attribute] + tables.slope[attribute]


@kernel
def _distance(costs, other, most):
    """The distance to a row from the one that `costs` was made for; if above `most`, any number above it."""
    total = 0.0
    for cell in other:
        total += costs[cell]
        if total > most:
            break
    return total


@kernel
def _least_distance(costs, own, lo, hi, most):
    """A lower bound on the distance to any row inside a box: per attribute, the nearest leaf of the box.

    A cell costs no less the farther the other leaf is, since the closure only grows. Adds up in the order of
    `_distance`, so that rounding keeps the order, too.
    """
    total = 0.0
    for j in range(len(own)):
        total += costs[min(max(own[j], lo[j]), hi[j])]
        if total > most:
            break
    return total

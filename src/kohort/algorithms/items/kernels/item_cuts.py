"""Cuts of an item hierarchy: their nodes, their costs, and the cheapest repair of a rare itemset."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.items.kernels.bit_rows import sorted_in_place
from kohort.algorithms.items.kernels.itemsets import Baskets
from kohort.kernels.compiled import kernel, lean


class ItemTree(NamedTuple):
    """An item hierarchy in depth-first order, root first. Nodes that occur, except the root, have ranks."""

    parent: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    last: np.ndarray  # per node the last one of its subtree
    leaf_node: np.ndarray
    mass: np.ndarray  # per node how often items under it occur
    rank: np.ndarray  # per node its rank, -1 if it has none
    node: np.ndarray  # per rank its node


class ItemCut(NamedTuple):
    """A cut: nodes below it are published as something above them.

    `cost` adds up, per node, occurrences times leaves published for them; an exact item costs nothing, a
    dropped one as much as the root. `dropped` marks nodes under which nothing is published at all.
    """

    below: np.ndarray
    cost: np.ndarray
    dropped: np.ndarray
    may_drop: bool


class TidLists(NamedTuple):
    """For each node of the tree the baskets that have an item under it, in ascending order."""

    start: np.ndarray
    basket: np.ndarray
    weight: np.ndarray  # per basket
    rooms: np.ndarray  # per basket and sensitive item: see short_of_room


@kernel
def tid_lists(baskets, tree):
    """The baskets of every node, given baskets of leaves. O(occurrences * height)."""
    n = len(tree.parent)
    seen, start = np.full(n, -1, np.int64), np.zeros(n + 1, np.int64)
    for b in range(len(baskets.weight)):
        for leaf in baskets.nodes[baskets.start[b] : baskets.start[b + 1]]:
            node = tree.leaf_node[leaf]
            while node >= 0 and seen[node] != b:
                seen[node] = b
                start[node + 1] += 1
                node = tree.parent[node]
    start = np.cumsum(start)
    fill, basket = start[:-1].copy(), np.empty(start[-1], np.int32)
    seen[:] = -1
    for b in range(len(baskets.weight)):
        for leaf in baskets.nodes[baskets.start[b] : baskets.start[b + 1]]:
            node = tree.leaf_node[leaf]
            while node >= 0 and seen[node] != b:
                seen[node] = b
                basket[fill[node]] = b
                fill[node] += 1
                node = tree.parent[node]
    return TidLists(start, basket, baskets.weight, np.zeros((len(baskets.weight), 0), np.int64))


@kernel
def kept_nodes(baskets, tree, number):
    """Baskets of leaves turned into baskets of the nodes above (or at) them whose `number` is not -1.

    O(occurrences of leaves + of kept nodes).
    """
    n = len(tree.parent)
    nearest = np.full(n + 1, -1, np.int64)  # the first kept node from each node up; the last entry is no node
    depth = np.zeros(n + 1, np.int64)  # how many kept nodes there are from each node up
    for node in range(n):
        nearest[node] = node if number[node] >= 0 else nearest[tree.parent[node]]
        depth[node] = depth[tree.parent[node]] + (number[node] >= 0)
    most = np.int64(0)
    for leaf in baskets.nodes:
        most += depth[tree.leaf_node[leaf]]
    # nodes above several items count once: the rest of the array is never touched, and takes no memory
    start, nodes = np.zeros(len(baskets.start), np.int64), np.empty(most, np.int32)
    seen, filled = np.full(n, -1, np.int64), 0
    for b in range(len(baskets.weight)):
        for leaf in baskets.nodes[baskets.start[b] : baskets.start[b + 1]]:
            node = nearest[tree.leaf_node[leaf]]
            while node >= 0 and seen[node] != b:
                seen[node] = b
                nodes[filled] = number[node]
                filled += 1
                node = nearest[tree.parent[node]]
        start[b + 1] = filled
        sorted_in_place(nodes[start[b] : filled], filled - start[b])
    return Baskets(start, nodes[:filled], baskets.weight)


@kernel
def supports(lists):
    """How many records have an item under each node."""
    support = np.zeros(len(lists.start) - 1, np.int64)
    for node in range(len(support)):
        for at in range(lists.start[node], lists.start[node + 1]):
            support[node] += lists.weight[lists.basket[at]]
    return support


@lean
def nested(tree, a, b):
    """Whether one of two nodes is under the other (or they are the same)."""
    return a <= b <= tree.last[a] or b <= a <= tree.last[b]


@lean
def published_cost(tree, node):
    """Cost of the items under a node when they are published as this node."""
    width = tree.hi[node] - tree.lo[node] + 1
    return tree.mass[node] * width if width > 1 else 0


@kernel
def generalize(tree, cut, node):
    """Publish all items under a node as this node."""
    change = published_cost(tree, node) - cut.cost[node]
    above = node
    while above >= 0:
        cut.cost[above] += change
        cut.dropped[above] = False
        above = tree.parent[above]
    cut.below[node + 1 : tree.last[node] + 1] = True
    cut.dropped[node : tree.last[node] + 1] = False


@kernel
def drop(tree, cut, node):
    """Publish nothing for the items under a node, which is in the cut or above it."""
    above, change = tree.parent[node], dropped_cost(tree, node) - cut.cost[node]
    while above >= 0:
        cut.cost[above] += change
        above = tree.parent[above]
    for under in range(node, tree.last[node] + 1):
        cut.cost[under] = dropped_cost(tree, under)
        cut.dropped[under] = True


@lean
def dropped_cost(tree, node):
    """Cost of the items under a node when they are dropped: each as much as the root."""
    return tree.mass[node] * (tree.hi[0] - tree.lo[0] + 1)


@lean
def is_gone(cut, node):
    """Whether no itemset with this node needs a repair: it is below the cut, or dropped."""
    return cut.below[node] or cut.dropped[node]


@lean
def any_gone(cut, nodes):
    """Whether this holds for some of the nodes."""
    gone = False
    for node in nodes:
        gone |= is_gone(cut, node)
    return gone


@kernel
def repair(tree, cut, lists, itemset, k):
    """Generalize or drop nodes of a rare itemset until at least k records have it, at the least cost.

    Where there are sensitive items, it must also have room for the holders of each. Every node may stay or
    climb, up to the root, or be dropped, where that is allowed; nodes that come to lie under another become
    one with it. Ties in cost go to the fewest steps, then to the first in odometer order; being dropped is a
    step above the root, where -1 stands. O(height ** size) candidates.
    """
    at, best = itemset.copy(), itemset.copy()
    best_cost, best_steps = np.int64(-1), 0
    steps, end = np.zeros(len(itemset), np.int64), -1 if cut.may_drop else 0
    while True:
        total = steps.sum()
        cost = _added_cost(tree, cut, itemset, at)
        if (best_cost < 0 or (cost, total) < (best_cost, best_steps)) and _is_safe(lists, at, k):
            best[:] = at
            best_cost, best_steps = cost, total
        i = len(at) - 1
        while i >= 0 and at[i] == end:
            at[i], steps[i] = itemset[i], 0
            i -= 1
        if i < 0:
            break
        at[i] = tree.parent[at[i]]
        steps[i] += 1
    for i in range(len(best)):
        if best[i] < 0 and not _is_covered(tree, best, itemset[i]):
            drop(tree, cut, itemset[i])
        elif best[i] >= 0 and best[i] != itemset[i] and _is_maximal(tree, best, i):
            generalize(tree, cut, best[i])


@kernel
def _is_maximal(tree, nodes, i):
    """Whether none of the other nodes lies above nodes[i], or equals it and comes before it."""
    for j in range(len(nodes)):
        if j == i or nodes[j] < 0:
            continue
        if nodes[j] <= nodes[i] <= tree.last[nodes[j]] and (nodes[j] != nodes[i] or j < i):
            return False
    return True


@lean
def _is_covered(tree, nodes, node):
    """Whether some of the nodes, none of them below it, lies above a node."""
    covered = False
    for other in nodes:
        covered |= 0 <= other <= node <= tree.last[other]
    return covered


@kernel
def _added_cost(tree, cut, itemset, at):
    added = np.int64(0)
    for i in range(len(at)):
        if at[i] < 0:
            if not _is_covered(tree, at, itemset[i]):
                added += dropped_cost(tree, itemset[i]) - cut.cost[itemset[i]]
        elif at[i] != itemset[i] and _is_maximal(tree, at, i):
            added += published_cost(tree, at[i]) - cut.cost[at[i]]
    return added


@kernel
def _is_safe(lists, nodes, k):
    """Whether at least k records have all these nodes, with room for the holders of every sensitive item.

    Dropped nodes (-1) do not count; without others there is nothing to know. Without sensitive items, stops
    as soon as there are k.
    """
    rarest, size = 0, np.int64(-1)
    for i in range(len(nodes)):
        if nodes[i] < 0:
            continue
        length = lists.start[nodes[i] + 1] - lists.start[nodes[i]]
        if size < 0 or length < size:
            rarest, size = i, length
    if size < 0:
        return True
    total, room = np.int64(0), np.zeros(lists.rooms.shape[1], np.int64)
    for place in range(lists.start[nodes[rarest]], lists.start[nodes[rarest] + 1]):
        basket, everywhere = lists.basket[place], True
        for i in range(len(nodes)):
            if (
                nodes[i] >= 0
                and nodes[i] != nodes[rarest]
                and not in_list(lists.start, lists.basket, nodes[i], basket)
            ):
                everywhere = False
                break
        if everywhere:
            total += lists.weight[basket]
            if total >= k and len(room) == 0:
                return True
            for i in range(len(room)):
                room[i] += lists.rooms[basket, i]
    return total >= k and (room >= 0).all()


@lean
def in_list(start, baskets, node, basket):
    """Whether a basket is in the list of a node: baskets[start[node]:start[node + 1]], ascending."""
    lo, hi = start[node], start[node + 1]
    while lo < hi:
        middle = (lo + hi) // 2
        if baskets[middle] < basket:
            lo = middle + 1
        else:
            hi = middle
    return lo < start[node + 1] and baskets[lo] == basket

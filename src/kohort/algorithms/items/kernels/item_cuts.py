"""Cuts of an item hierarchy: their nodes, their costs, and the cheapest repair of a rare itemset."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.items.kernels.itemsets import (
    Baskets,
    PairCounts,
    count_pairs_after,
    project,
    rare_after,
    rare_in_row,
    table_pays,
    transposed,
)
from kohort.algorithms.items.kernels.local_cuts import sorted_in_place
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import sorted_copy


class ItemTree(NamedTuple):
    """An item hierarchy in depth-first order, root first, with what its nodes cost for some baskets."""

    parent: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    last: np.ndarray  # per node the last one of its subtree
    leaf_node: np.ndarray
    cost: np.ndarray  # per node the cost of the items under it when they are published as it
    dropped_cost: np.ndarray  # and when they are dropped: each as much as the root
    node: np.ndarray  # the nodes that occur, but for the root, in the order in which itemsets name them


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


@kernel
def generalize(tree, cut, node):
    """Publish all items under a node as this node."""
    change = tree.cost[node] - cut.cost[node]
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
    above, change = tree.parent[node], tree.dropped_cost[node] - cut.cost[node]
    while above >= 0:
        cut.cost[above] += change
        above = tree.parent[above]
    end = tree.last[node] + 1
    cut.cost[node:end] = tree.dropped_cost[node:end]
    cut.dropped[node:end] = True


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
                added += tree.dropped_cost[itemset[i]] - cut.cost[itemset[i]]
        elif at[i] != itemset[i] and _is_maximal(tree, at, i):
            added += tree.cost[at[i]] - cut.cost[at[i]]
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


class Walk(NamedTuple):
    """The constant arguments of a walk, and the cut, which repairs change; `node` is that of each number."""

    tree: ItemTree
    cut: ItemCut
    lists: TidLists
    node: np.ndarray
    size: int
    k: int
    prefix: np.ndarray
    pairs: PairCounts


@kernel
def repair_itemsets(walk, baskets, lists, begin, end, depth):
    """Visit the itemsets of up to walk.size nodes that begin with walk.prefix[:depth]; repair the rare ones.

    `baskets` hold the nodes that may follow the prefix, and `lists` their places; only numbers begin..end - 1
    of the lists come next in the itemset. Itemsets with a node below the cut or a dropped one, or with one
    node above another, are skipped. Returns how many were repaired. O(itemsets in all baskets).
    """
    tree, cut, prefix = walk.tree, walk.cut, walk.prefix
    n = len(walk.node)
    count, touched = np.zeros(n, np.int64), np.empty(n, np.int32)
    repairs = 0
    for i in range(begin, end):
        node = walk.node[lists.present[i]]
        if is_gone(cut, node):
            continue
        prefix[depth] = node
        if lists.weight[i] < walk.k:
            repair(tree, cut, walk.lists, prefix[: depth + 1], walk.k)
            repairs += 1
        elif depth + 2 == walk.size:
            n_rare = rare_after(baskets, lists, i, walk.k, count, touched)
            repairs += _repair_last(walk, sorted_copy(touched[:n_rare]))
        elif depth + 3 == walk.size and table_pays(walk.pairs, lists, i):
            count_pairs_after(baskets, lists, i, _may_follow(walk, node), walk.k, walk.pairs)
            repairs += _repair_pairs(walk, touched)
        elif depth + 2 < walk.size:
            after = project(baskets, lists, i, _may_follow(walk, node))
            if len(after.nodes):
                then = transposed(after, n)
                # a plain 0 would be a type of its own: numba's cache crashes where specializations recurse
                zero = np.int64(0)
                repairs += repair_itemsets(walk, after, then, zero, len(then.present), depth + 1)
        if any_gone(cut, prefix[:depth]):
            break
    return repairs


@kernel
def _may_follow(walk, node):
    """Whether the node of each number may be in an itemset together with this one."""
    may = np.empty(len(walk.node), np.bool_)
    for number in range(len(may)):
        other = walk.node[number]
        may[number] = not (is_gone(walk.cut, other) or nested(walk.tree, node, other))
    return may


@kernel
def _repair_pairs(walk, found):
    """Repair the itemsets that end with a counted node or pair of nodes; return how many were repaired."""
    prefix, cut, repairs = walk.prefix, walk.cut, 0
    before = prefix[: walk.size - 2]
    for number in range(len(walk.node)):
        node = walk.node[number]
        if walk.pairs.low[number] < 0 or is_gone(cut, node):
            continue
        prefix[walk.size - 2] = node
        if walk.pairs.number[number, number] < walk.k:
            repair(walk.tree, cut, walk.lists, prefix[: walk.size - 1], walk.k)
            repairs += 1
        else:
            n_rare = rare_in_row(walk.pairs, number, walk.k, found)
            repairs += _repair_last(walk, found[:n_rare])
        if any_gone(cut, before):
            break
    return repairs


@kernel
def _repair_last(walk, rare):
    """Repair the itemsets that end with each of the rare nodes; return how many were repaired."""
    itemset, repairs = walk.prefix[: walk.size], 0
    others = itemset[:-1]
    for number in rare:
        node = walk.node[number]
        if is_gone(walk.cut, node) or nested(walk.tree, others[-1], node):
            continue
        itemset[-1] = node
        repair(walk.tree, walk.cut, walk.lists, itemset, walk.k)
        repairs += 1
        if any_gone(walk.cut, others):
            break
    return repairs

"""The walk through all itemsets of a count-tree, in its order, that repairs each rare one on the way."""

from __future__ import annotations

import numpy as np
from numba import njit

from kohort.kernels.item_cuts import nested, repair
from kohort.kernels.itemsets import Baskets, count_after, project, transposed

__all__ = ["repair_itemsets"]


@njit(cache=True, nogil=True)
def repair_itemsets(baskets, tree, cut, lists, size, k, prefix, depth):
    """Visit the itemsets of up to `size` nodes that begin with prefix[:depth], and repair the rare ones.

    `baskets` hold, by rank, what may follow the prefix. Itemsets with a node below the cut, or with one node
    above another, are passed over. How many were repaired. O(itemsets in all baskets).
    """
    lists_here = transposed(baskets, len(tree.node))
    count, touched = np.zeros(len(tree.node), np.int64), np.empty(len(tree.node), np.int32)
    repairs = 0
    for i in range(len(lists_here.present)):
        node = tree.node[lists_here.present[i]]
        if cut.below[node]:
            continue
        prefix[depth] = node
        if lists_here.weight[i] < k:
            repair(tree, cut, lists, prefix[: depth + 1], k)
            repairs += 1
        elif depth + 2 == size:
            n = count_after(baskets, lists_here, i, count, touched)
            repairs += _repair_last(tree, cut, lists, k, prefix[:size], count, touched[:n])
        elif depth + 2 < size:
            after = _apart(project(baskets, lists_here, i), tree, node)
            if len(after.nodes):
                repairs += repair_itemsets(after, tree, cut, lists, size, k, prefix, depth + 1)
        if _any_below(cut, prefix[:depth]):
            break
    return repairs


@njit(cache=True, nogil=True)
def _repair_last(tree, cut, lists, k, itemset, count, touched):
    """The same for the last node of an itemset, whose supports are counted already; clears the counts."""
    rare, n, repairs = np.empty(len(touched), np.int32), 0, 0
    for rank in touched:
        if count[rank] < k:
            rare[n] = rank
            n += 1
        count[rank] = 0
    others = itemset[:-1]
    for rank in np.sort(rare[:n]):
        node = tree.node[rank]
        if cut.below[node] or nested(tree, others[-1], node):
            continue
        itemset[-1] = node
        repair(tree, cut, lists, itemset, k)
        repairs += 1
        if _any_below(cut, others):
            break
    return repairs


@njit(cache=True, nogil=True)
def _any_below(cut, nodes):
    return cut.below[nodes].any()


@njit(cache=True, nogil=True)
def _apart(baskets, tree, node):
    """The baskets without what is under or above a node."""
    start, nodes = np.zeros(len(baskets.start), np.int64), np.empty(len(baskets.nodes), np.int32)
    filled = 0
    for b in range(len(baskets.weight)):
        for rank in baskets.nodes[baskets.start[b] : baskets.start[b + 1]]:
            if not nested(tree, node, tree.node[rank]):
                nodes[filled] = rank
                filled += 1
        start[b + 1] = filled
    return Baskets(start, nodes[:filled], baskets.weight)

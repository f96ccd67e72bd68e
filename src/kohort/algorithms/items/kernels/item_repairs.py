"""A walk through all itemsets in the order of a count-tree that repairs each rare one on the way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.items.kernels.item_cuts import (
    ItemCut,
    ItemTree,
    TidLists,
    any_gone,
    is_gone,
    nested,
    repair,
)
from kohort.algorithms.items.kernels.itemsets import project, rare_after, transposed
from kohort.algorithms.items.kernels.pair_counts import (
    PairCounts,
    count_pairs_after,
    rare_in_row,
    table_pays,
)
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import sorted_copy


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

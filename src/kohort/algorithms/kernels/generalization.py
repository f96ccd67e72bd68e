"""Costs of generalized values, for compiled code: any attribute, any separable cost, flat arrays."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import lean
from kohort.problem.encoding.layout import SET, TREE


@lean
def lowest_node(tables, attribute, lo, hi):
    """The lowest node over the leaves lo..hi: O(height)."""
    node = tables.leaf_node[tables.leaf_start[attribute] + lo]
    while tables.last_leaf[node] < hi:
        node = tables.parent[node]
    return node


@lean
def child_of(tables, attribute, node, leaf):
    """The child of `node` that holds a leaf: O(height)."""
    below = tables.leaf_node[tables.leaf_start[attribute] + leaf]
    while tables.parent[below] != node:
        below = tables.parent[below]
    return below


@lean
def range_cost(tables, attribute, lo, hi):
    """Cost of one cell that is generalized to cover the leaves lo..hi."""
    if lo == hi:
        return tables.leaf_cost[tables.leaf_start[attribute] + lo]
    if tables.kind[attribute] == TREE:
        return tables.node_cost[lowest_node(tables, attribute, lo, hi)]
    if hi >= tables.loners_from[attribute]:
        return tables.full[attribute]
    return tables.base[attribute] + tables.slope[attribute] * (hi - lo)


@lean
def ones(word):
    """The number of bits set in a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))  # a multiplication would do it at once, and overflow
    word = word + (word >> np.uint64(16))
    word = word + (word >> np.uint64(32))
    return np.int64(word & np.uint64(127))


@lean
def part_cost(tables, lo, hi, words):
    """Cost of one record of a group, given the group's least and greatest leaves and sets of values."""
    total = 0.0
    for attribute in range(len(lo)):
        if tables.kind[attribute] != SET or lo[attribute] == hi[attribute]:
            total += range_cost(tables, attribute, lo[attribute], hi[attribute])
        elif hi[attribute] >= tables.loners_from[attribute]:
            total += tables.full[attribute]
        else:
            values, first = 0, tables.word_start[attribute]
            for word in range(first + (lo[attribute] >> 6), first + (hi[attribute] >> 6) + 1):
                values += ones(words[word])
            total += tables.base[attribute] + tables.slope[attribute] * (values - 1)
    return total

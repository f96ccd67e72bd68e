"""Any separable cost, for compiled code: of a generalized value, of a record of a group, and of a cell."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel, lean
from kohort.problem.encoding.layout import SET, TREE


@lean
def lowest_node(tables, attribute, lo, hi):
    """The lowest node over the leaves lo..hi: O(height)."""
    node = tables.leaf_node[tables.leaf_start[attribute] + lo]
    while tables.last_leaf[node] < hi:
        node = tables.parent[node]
    return node


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


@kernel
def costs_by_group(tables, rows, order, start):
    """Cost of one record of each group; group g has the records order[start[g]:start[g + 1]]. O(n)."""
    costs = np.empty(len(start) - 1)
    for group in range(len(costs)):
        costs[group] = cost_without(tables, rows, order[start[group] : start[group + 1]], -1)
    return costs


@kernel
def cost_without(tables, rows, records, left_out):
    """Cost of one record of a group without the record at place `left_out`; -1: with all its records."""
    r = rows.shape[1]
    lo, hi = np.full(r, 2**31 - 1), np.full(r, -1)
    words = np.zeros(tables.word_start[r], np.uint64)
    for number in range(len(records)):
        if number == left_out:
            continue
        for j in range(r):
            leaf = rows[records[number], j]
            lo[j], hi[j] = min(lo[j], leaf), max(hi[j], leaf)
            if tables.kind[j] == SET:
                words[tables.word_start[j] + leaf // 64] |= np.uint64(1) << np.uint64(leaf % 64)
    return part_cost(tables, lo, hi, words)


@lean
def cell_cost(cells, a, lo, hi, width):
    """Cost of a cell of attribute a that covers `width` values within leaves lo..hi."""
    attribute = cells.attribute[a]
    if attribute.kind == TREE:
        return cells.pair[attribute.pair_start + lo * attribute.n_leaves + hi]
    if lo == hi:
        return 0.0
    if hi >= attribute.loners_from:
        return attribute.whole
    return attribute.line_base + attribute.line_slope * (width - 1 if attribute.kind == SET else hi - lo)

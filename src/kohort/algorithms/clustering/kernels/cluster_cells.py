"""Cells of clusters of rows: joined, priced, and one cluster compared with many at once.

A cluster has a cell per attribute. In a hierarchy it is the lowest node over the cluster (`low`, and `high`
the same; nodes are numbered in depth-first order, one attribute after another), in an order the least and
the greatest leaf. `low[j, c]` belongs to attribute j of cluster c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.problem.encoding.layout import TREE

BLOCK = 1024  # clusters that are compared at a time


class RowCells(NamedTuple):
    """Distinct rows by their cells, and how many records are equal to each."""

    low: np.ndarray
    high: np.ndarray
    copies: np.ndarray


@kernel
def cells_of_rows(leaves, tables):
    """The cells of single rows, given by their leaves; `low` and `high` are equal. O(rows * attributes)."""
    m, r = leaves.shape
    cells = np.empty((r, m), np.int32)
    for j in range(r):
        for i in range(m):
            leaf = leaves[i, j]
            cells[j, i] = tables.leaf_node[tables.leaf_start[j] + leaf] if tables.kind[j] == TREE else leaf
    return cells


@kernel
def joined(tables, j, low_a, high_a, low_b, high_b):
    """The cell that covers two cells of an attribute. O(height)."""
    if tables.kind[j] != TREE:
        return min(low_a, low_b), max(high_a, high_b)
    node, other = min(low_a, low_b), max(low_a, low_b)
    # the node with the greater number is below the other or to the right of all its leaves
    while tables.last_leaf[node] < tables.last_leaf[other]:
        node = tables.parent[node]
    return node, node


@kernel
def join_cells(tables, low, high, a, other_low, other_high, b):
    """Widen cluster a, in place, so that it covers cluster b of other arrays (or the same ones)."""
    for j in range(low.shape[0]):
        low[j, a], high[j, a] = joined(tables, j, low[j, a], high[j, a], other_low[j, b], other_high[j, b])


@kernel
def cluster_cell_cost(tables, j, low, high):
    """Cost of the cell low..high of attribute j for one record."""
    if tables.kind[j] == TREE:
        return tables.node_cost[low]
    if low == high:
        return tables.leaf_cost[tables.leaf_start[j] + low]
    if high >= tables.loners_from[j]:
        return tables.full[j]
    return tables.base[j] + tables.slope[j] * (high - low)


@kernel
def cells_cost(tables, low, high, c):
    """Cost of one record of cluster c."""
    total = 0.0
    for j in range(low.shape[0]):
        total += cluster_cell_cost(tables, j, low[j, c], high[j, c])
    return total


@kernel
def cost_tables(tables, low, c, node_costs):
    """Fill `node_costs`: for every node of every hierarchy, its cost once joined with the cell of cluster c.

    O(nodes). After that, many clusters are priced by look-ups.
    """
    node_costs[:] = -1.0
    for j in range(low.shape[0]):
        if tables.kind[j] != TREE:
            continue
        node = root = low[j, c]
        while node >= 0:
            node_costs[node] = tables.node_cost[node]
            root = node
            node = tables.parent[node]
        node = root + 1
        while node < len(node_costs) and tables.parent[node] >= 0:
            if node_costs[node] < 0:  # beside the path from the cell to the root
                node_costs[node] = node_costs[tables.parent[node]]
            node += 1


@kernel
def union_costs(tables, low, high, start, own_low, own_high, node_costs, costs):
    """Fill `costs`: cost of one record after another cluster joins each cluster from `start` on.

    own_low, own_high  the cells of that other cluster
    node_costs         the costs that `cost_tables` finds for it

    O(len(costs) * attributes).
    """
    costs[:] = 0.0
    for j in range(low.shape[0]):
        lows, highs = low[j, start : start + len(costs)], high[j, start : start + len(costs)]
        if tables.kind[j] == TREE:
            for i in range(len(costs)):
                costs[i] += node_costs[np.uint32(lows[i])]  # unsigned: no test for negative indices
            continue
        least, greatest = own_low[j], own_high[j]
        if _has_loners(tables, j):
            for i in range(len(costs)):
                costs[i] += cluster_cell_cost(tables, j, min(least, lows[i]), max(greatest, highs[i]))
            continue
        base, slope = tables.base[j], tables.slope[j]
        for i in range(len(costs)):  # the same without branches: a single value costs nothing
            width = max(greatest, highs[i]) - min(least, lows[i])
            costs[i] += min(width, 1) * base + slope * width


@kernel
def _has_loners(tables, j):
    end = tables.leaf_start[j + 1] if j + 1 < len(tables.leaf_start) else len(tables.leaf_cost)
    return tables.loners_from[j] < end - tables.leaf_start[j]

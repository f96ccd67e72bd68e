"""The inner loops of agglomerative clustering, which repeatedly join the two nearest clusters.

For every open cluster the nearest younger one is known. When that one is gone, its distance stays as a lower
bound, and the cluster is searched again only when its bound is the least. The distance of two clusters does
not change while they stay as they are, so the nearest two are found exactly, whatever the distance.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.clustering.kernels.cluster_cells import (
    BLOCK,
    cells_cost,
    cluster_cell_cost,
    cost_tables,
    join_cells,
    joined,
    union_costs,
)
from kohort.algorithms.clustering.kernels.growing_clusters import (
    NOBODY,
    close_up,
    finish_chain,
    open_cluster,
    split_piece,
    take_out_pair,
)
from kohort.kernels.compiled import kernel

__all__ = ["ADDED", "LOG", "PLAIN", "RATIO", "find_nearest", "join_leftovers", "join_nearest"]

ADDED, PLAIN, LOG, RATIO = 0, 1, 2, 3  # distances
RATIO_EPSILON = 0.1


@kernel(error_model="numpy")
def _distances(clusters, tables, kind, logs, c, start, node_costs, distances):
    """Fill `distances` from cluster c to each one from `start` on; infinite to holes.

    node_costs  the costs that `cost_tables` finds for cluster c
    """
    low, high = clusters.low, clusters.high
    union_costs(tables, low, high, start, low[:, c], high[:, c], node_costs, distances)
    cost, size = clusters.cost[c], clusters.size[c]
    costs, sizes = (
        clusters.cost[start : start + len(distances)],
        clusters.size[start : start + len(distances)],
    )
    if kind == ADDED:
        for i in range(len(distances)):
            distances[i] = (size + sizes[i]) * distances[i] - (size * cost + sizes[i] * costs[i])
    elif kind == RATIO:
        for i in range(len(distances)):
            distances[i] = distances[i] / (cost + costs[i] + RATIO_EPSILON)
    else:
        for i in range(len(distances)):
            distances[i] -= cost + costs[i]
    if kind == LOG:
        for i in range(len(distances)):
            distances[i] /= logs[size + sizes[i]]
    for i in range(len(distances)):
        if sizes[i] == 0:
            distances[i] = np.inf


@kernel
def _look(clusters, tables, kind, logs, c, node_costs, distances):
    """Find the nearest younger cluster of c, the oldest of equally near ones. O(clusters * attributes)."""
    cost_tables(tables, clusters.low, c, node_costs)
    best, nearest = np.inf, NOBODY
    extent = clusters.counts[0].extent
    for start in range(c + 1, extent, BLOCK):
        some = distances[: min(BLOCK, extent - start)]
        _distances(clusters, tables, kind, logs, c, start, node_costs, some)
        for i in range(len(some)):
            if some[i] < best:
                best, nearest = some[i], start + i
    clusters.distance[c], clusters.nearest[c] = best, nearest


@kernel
def _introduce(clusters, tables, kind, logs, c, node_costs, distances):
    """Update the nearest clusters of others after c, the youngest, was opened. O(clusters * attributes)."""
    cost_tables(tables, clusters.low, c, node_costs)
    for start in range(0, c, BLOCK):
        some = distances[: min(BLOCK, c - start)]
        _distances(clusters, tables, kind, logs, c, start, node_costs, some)
        for i in range(len(some)):
            if some[i] < clusters.distance[start + i]:
                clusters.distance[start + i], clusters.nearest[start + i] = some[i], c


@kernel
def find_nearest(clusters, tables, kind, logs, start, stop):
    """Find the nearest younger cluster of each of the clusters start..stop - 1.

    O((stop - start) * clusters * attributes).
    """
    node_costs = np.empty(len(tables.parent))
    distances = np.empty(BLOCK)
    for c in range(start, stop):
        _look(clusters, tables, kind, logs, c, node_costs, distances)


@kernel
def join_nearest(clusters, rows, tables, kind, logs, k, shed, work):
    """Join the nearest two clusters until one is left, or `work` cells have been read.

    A cluster of k records or more is finished; with `shed`, its records above k are opened again. Returns
    whether there is more to do. O(clusters * attributes) per step.
    """
    node_costs = np.empty(len(tables.parent))
    distances = np.empty(BLOCK)
    while clusters.counts[0].n_open > 1 and work > 0:
        work -= clusters.counts[0].extent * clusters.low.shape[0]
        if 8 * clusters.counts[0].n_open < 7 * clusters.counts[0].extent:
            close_up(clusters)
        a = np.argmin(clusters.distance[: clusters.counts[0].extent])
        b = clusters.nearest[a]
        if b == NOBODY:
            _look(clusters, tables, kind, logs, a, node_costs, distances)
            continue
        first, last, size = clusters.first[a], clusters.last[b], clusters.size[a] + clusters.size[b]
        clusters.next[clusters.last[a]] = clusters.first[b]
        take_out_pair(clusters, a, b)
        youngest = clusters.counts[0].extent
        if size < k:
            open_cluster(clusters, rows, tables, first, last, size)
        else:
            finish_chain(clusters, first)
            if shed and size > k:
                _shed(clusters, rows, tables, first, size - k)
        for c in range(youngest, clusters.counts[0].extent):
            _introduce(clusters, tables, kind, logs, c, node_costs, distances)
            work -= c * clusters.low.shape[0]
    return clusters.counts[0].n_open > 1


@kernel
def _shed(clusters, rows, tables, first, surplus):
    """Open the surplus of a finished chain again, one by one the record whose absence saves most.

    Ties go to the last piece. Copies from one piece stay together. O(surplus * pieces * attributes).
    """
    n = 0
    piece = first
    while piece >= 0:
        n, piece = n + 1, clusters.next[piece]
    chain = np.empty(n, np.int64)
    left = np.empty(n, np.int64)
    piece = first
    for p in range(n):
        chain[p], left[p] = piece, clusters.copies[piece]
        piece = clusters.next[piece]
    costs = np.empty(n)
    after = np.empty((2, n), np.int64)
    for _ in range(surplus):
        _costs_without(clusters, rows, tables, chain, left, costs, after)
        best = -1
        for p in range(n):
            if left[p] > 0 and (best < 0 or costs[p] <= costs[best]):
                best = p
        left[best] -= 1
    for p in range(n):
        if left[p] < clusters.copies[chain[p]]:
            piece = split_piece(clusters, chain[p], left[p])
            open_cluster(clusters, rows, tables, piece, piece, clusters.copies[piece])


@kernel
def _costs_without(clusters, rows, tables, chain, left, costs, after):
    """Fill `costs` with the cost of a record of a chain after one copy of each piece has left it."""
    costs[:] = 0.0
    for j in range(rows.low.shape[0]):
        low = high = -1
        for p in range(len(chain) - 1, -1, -1):
            after[0, p], after[1, p] = low, high
            if left[p] > 0:
                row = clusters.row[chain[p]]
                low, high = _joined_if_any(tables, j, low, high, rows.low[j, row], rows.high[j, row])
        whole = cluster_cell_cost(tables, j, low, high)
        low = high = -1
        for p in range(len(chain)):
            if left[p] == 0:
                continue
            if left[p] == 1:
                rest_low, rest_high = _joined_if_any(tables, j, low, high, after[0, p], after[1, p])
                costs[p] += cluster_cell_cost(tables, j, rest_low, rest_high)
            else:
                costs[p] += whole
            row = clusters.row[chain[p]]
            low, high = _joined_if_any(tables, j, low, high, rows.low[j, row], rows.high[j, row])


@kernel
def _joined_if_any(tables, j, low_a, high_a, low_b, high_b):
    """The cell over two cells, either of which may be missing (-1)."""
    if low_a < 0:
        return low_b, high_b
    if low_b < 0:
        return low_a, high_a
    return joined(tables, j, low_a, high_a, low_b, high_b)


@kernel
def join_leftovers(rows, tables, row, copies, group):
    """Put every piece without a group, in place, into the group where it adds the least cost.

    Ties go to the first group. O(leftovers * groups * attributes).
    """
    r, n_groups = rows.low.shape[0], group.max() + 1
    low = np.full((r, n_groups), -1, np.int32)
    high = np.full((r, n_groups), -1, np.int32)
    size = np.zeros(n_groups, np.int64)
    for p in range(len(row)):
        if group[p] >= 0:
            _widen(rows, tables, row[p], copies[p], group[p], low, high, size)
    cost = np.empty(n_groups)
    for g in range(n_groups):
        cost[g] = cells_cost(tables, low, high, g)
    node_costs = np.empty(len(tables.parent))
    union_cost = np.empty(n_groups)
    for p in range(len(row)):
        if group[p] >= 0:
            continue
        cost_tables(tables, rows.low, row[p], node_costs)
        union_costs(tables, low, high, 0, rows.low[:, row[p]], rows.high[:, row[p]], node_costs, union_cost)
        group[p] = np.argmin((size + copies[p]) * union_cost - size * cost)
        _widen(rows, tables, row[p], copies[p], group[p], low, high, size)
        cost[group[p]] = cells_cost(tables, low, high, group[p])


@kernel
def _widen(rows, tables, row, copies, g, low, high, size):
    """Add copies of a row to group g, widening its cells."""
    if size[g] == 0:
        low[:, g], high[:, g] = rows.low[:, row], rows.high[:, row]
    else:
        join_cells(tables, low, high, g, rows.low, rows.high, row)
    size[g] += copies

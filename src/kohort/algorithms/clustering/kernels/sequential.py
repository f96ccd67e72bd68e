"""The inner loop of sequential clustering: rows move to other clusters while the cost falls."""

from __future__ import annotations

from typing import NamedTuple

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
from kohort.kernels.compiled import kernel

NEAR = 16  # rows on either side along the curve whose clusters are always tried
ROUNDING = 1e-12  # smaller changes of the cost count as none


class Partition(NamedTuple):
    """Clusters of rows: their cells, and their rows as chains. A cluster without rows has size 0."""

    low: np.ndarray  # cells per attribute and cluster
    high: np.ndarray
    size: np.ndarray  # records
    cost: np.ndarray  # cost of one record
    first: np.ndarray  # per cluster its first row, or -1
    cluster: np.ndarray  # per row its cluster
    next: np.ndarray  # per row the next one of its cluster, or -1
    previous: np.ndarray


class Scan(NamedTuple):
    """The clusters that a row tries: all, or those near it along a curve and `most` from a random one on."""

    most: int  # all clusters are tried if there are no more
    window: np.ndarray  # per row that moves: the first cluster to try
    row_at: np.ndarray  # rows in the order of the curve
    place: np.ndarray  # per row: its place there


@kernel
def fill_partition(partition, rows, tables):
    """Build the clusters given by `partition.cluster`, numbered from 0; rows with -1 are in none.

    O(rows * attributes).
    """
    partition.size[:] = 0
    partition.first[:] = -1
    for row in range(len(partition.cluster)):
        if partition.cluster[row] >= 0:
            _enter(partition, rows, tables, row, partition.cluster[row])


@kernel
def _enter(partition, rows, tables, row, c):
    """Put a row into a cluster."""
    if partition.size[c] == 0:
        for j in range(rows.low.shape[0]):
            partition.low[j, c], partition.high[j, c] = rows.low[j, row], rows.high[j, row]
    else:
        join_cells(tables, partition.low, partition.high, c, rows.low, rows.high, row)
    partition.size[c] += rows.copies[row]
    partition.cost[c] = cells_cost(tables, partition.low, partition.high, c)
    head = partition.first[c]
    partition.cluster[row], partition.previous[row], partition.next[row] = c, -1, head
    partition.first[c] = row
    if head >= 0:
        partition.previous[head] = row


@kernel
def _leave(partition, rows, row, rest, rest_cost):
    """Take a row out of its cluster, whose cells are then those in `rest`."""
    c = partition.cluster[row]
    before, after = partition.previous[row], partition.next[row]
    if before >= 0:
        partition.next[before] = after
    else:
        partition.first[c] = after
    if after >= 0:
        partition.previous[after] = before
    partition.size[c] -= rows.copies[row]
    partition.cost[c] = rest_cost
    if partition.size[c] > 0:
        for j in range(rows.low.shape[0]):
            partition.low[j, c], partition.high[j, c] = rest[0, j], rest[1, j]


@kernel
def _cost_without(partition, rows, tables, row, rest):
    """Cost of a record of a row's cluster after the row has left it; the cells are written into `rest`.

    O(rows of the cluster * attributes).
    """
    begun = False
    other = partition.first[partition.cluster[row]]
    while other >= 0:
        if other != row:
            for j in range(rows.low.shape[0]):
                low, high = rows.low[j, other], rows.high[j, other]
                if begun:
                    rest[0, j], rest[1, j] = joined(tables, j, rest[0, j], rest[1, j], low, high)
                else:
                    rest[0, j], rest[1, j] = low, high
            begun = True
        other = partition.next[other]
    total = 0.0
    if begun:
        for j in range(rows.low.shape[0]):
            total += cluster_cell_cost(tables, j, rest[0, j], rest[1, j])
    return total


@kernel
def _cheapest(partition, rows, tables, row, start, stop, node_costs, costs):
    """The cluster among start..stop - 1 to which a row adds the least cost, and how much; -1: no cluster.

    O((stop - start) * attributes).
    """
    copies, own = rows.copies[row], partition.cluster[row]
    low, high = rows.low[:, row], rows.high[:, row]
    best, added = -1, np.inf
    for begin in range(start, stop, BLOCK):
        some = costs[: min(BLOCK, stop - begin)]
        union_costs(tables, partition.low, partition.high, begin, low, high, node_costs, some)
        for i in range(len(some)):
            size = partition.size[begin + i]
            adds = (size + copies) * some[i] - size * partition.cost[begin + i]
            if adds < added and size > 0 and begin + i != own:
                best, added = begin + i, adds
    return best, added


@kernel
def _cheapest_near(partition, rows, tables, row, row_at, place):
    """The cluster to which a row adds the least cost, and how much, among those of its neighbours along the
    curve; -1: no cluster."""
    copies, own = rows.copies[row], partition.cluster[row]
    low, high = rows.low[:, row], rows.high[:, row]
    best, added = -1, np.inf
    last = own
    for other in row_at[max(place - NEAR, 0) : place + NEAR + 1]:
        c = partition.cluster[other]
        if c < 0 or c in (own, last):
            continue
        last = c
        cost = 0.0
        for j in range(rows.low.shape[0]):
            low, high = partition.low[j, c], partition.high[j, c]
            low, high = joined(tables, j, low, high, rows.low[j, row], rows.high[j, row])
            cost += cluster_cell_cost(tables, j, low, high)
        size = partition.size[c]
        adds = (size + copies) * cost - size * partition.cost[c]
        if adds < added:
            best, added = c, adds
    return best, added


@kernel
def move_rows(partition, rows, tables, order, scan, keep, monotone):
    """Let each row in turn move to the cluster where the total cost falls most; return how many moved.

    scan      the clusters it tries; ties go to the first
    keep      a row leaves a cluster only if at least this many records stay; if 0, a record that is alone
              moves whatever it costs
    monotone  whether a row that enters a cluster never lowers its cost, so that a row whose absence saves
              nothing need not be tried

    O(clusters tried * attributes) per row.
    """
    n_clusters = len(partition.size)
    node_costs = np.empty(len(tables.parent))
    costs = np.empty(BLOCK)
    rest = np.empty((2, rows.low.shape[0]), np.int64)
    moved = 0
    for i in range(len(order)):
        row = order[i]
        own = partition.cluster[row]
        rest_size = partition.size[own] - rows.copies[row]
        alone = keep == 0 and partition.size[own] == 1
        if rest_size < keep:
            continue
        rest_cost = _cost_without(partition, rows, tables, row, rest)
        saved = partition.size[own] * partition.cost[own] - rest_size * rest_cost
        if monotone and saved <= ROUNDING and not alone:
            continue
        cost_tables(tables, rows.low, row, node_costs)
        best, added = -1, np.inf
        start, stop = 0, n_clusters
        if n_clusters > scan.most:
            best, added = _cheapest_near(partition, rows, tables, row, scan.row_at, scan.place[row])
            start, stop = scan.window[i], min(scan.window[i] + scan.most, n_clusters)
            around = scan.most - (stop - start)
            other, adds = _cheapest(partition, rows, tables, row, 0, around, node_costs, costs)
            if adds < added:
                best, added = other, adds
        other, adds = _cheapest(partition, rows, tables, row, start, stop, node_costs, costs)
        if adds < added:
            best, added = other, adds
        if best >= 0 and (alone or added < saved - ROUNDING):
            _leave(partition, rows, row, rest, rest_cost)
            _enter(partition, rows, tables, row, best)
            moved += 1
    return moved


@kernel
def cut_in_two(rows, tables, cluster_of_row, in_order, k):
    """Cut clusters of 2k records or more in two where the parts cost least, if they cost no more together.

    `in_order` has the rows cluster by cluster, and in each in the order that is cut; a part has k records or
    more. Returns the clusters of rows, second parts with new numbers. O(rows * attributes).
    """
    cluster_of_row = cluster_of_row.copy()
    n_clusters = cluster_of_row.max() + 1
    low = np.empty((rows.low.shape[0], 1), np.int32)
    high = np.empty((rows.low.shape[0], 1), np.int32)
    right_cost = np.empty(len(in_order))  # cost of a record of the part from here to the end of the cluster
    start = 0
    while start < len(in_order):
        cluster = cluster_of_row[in_order[start]]
        stop, size = start, 0
        while stop < len(in_order) and cluster_of_row[in_order[stop]] == cluster:
            size += rows.copies[in_order[stop]]
            stop += 1
        if size >= 2 * k:
            for i in range(stop - 1, start - 1, -1):
                _widen(rows, tables, in_order[i], i == stop - 1, low, high)
                right_cost[i] = cells_cost(tables, low, high, 0)
            best, cut = size * right_cost[start] + ROUNDING, stop
            left = 0
            for i in range(start, stop - 1):
                _widen(rows, tables, in_order[i], i == start, low, high)
                left += rows.copies[in_order[i]]
                total = left * cells_cost(tables, low, high, 0) + (size - left) * right_cost[i + 1]
                if left >= k and size - left >= k and total < best:
                    best, cut = total, i + 1
            for i in range(cut, stop):
                cluster_of_row[in_order[i]] = n_clusters
            n_clusters += cut < stop
        start = stop
    return cluster_of_row


@kernel
def _widen(rows, tables, row, first, low, high):
    """Widen cells in place so that they cover a row; if it is the first, they become its own."""
    if first:
        low[:, 0], high[:, 0] = rows.low[:, row], rows.high[:, row]
    else:
        join_cells(tables, low, high, 0, rows.low, rows.high, row)

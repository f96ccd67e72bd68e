"""Agglomerative clustering's inner loops: the two nearest clusters are joined, again and again.

Every open cluster knows its nearest one. A cluster whose nearest one is gone keeps the distance as a lower
bound, and looks again only when it comes first. Distances between clusters that stay as they are do not
change, so this finds the nearest two exactly, whatever the distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.clusters import cell_cost, cells_cost, cost_tables, join_cells, joined, union_costs

__all__ = [
    "ADDED",
    "EXTENT",
    "GROUPS",
    "LOG",
    "OPEN",
    "PIECES",
    "PLAIN",
    "RATIO",
    "Clusters",
    "find_nearest",
    "join_nearest",
]

ADDED, PLAIN, LOG, RATIO = 0, 1, 2, 3  # distances
OPEN, EXTENT, GROUPS, PIECES, OPEN_RECORDS = 0, 1, 2, 3, 4  # places in Clusters.count
NOBODY = -1
BLOCK = 1024


class Clusters(NamedTuple):
    """Open clusters side by side, oldest first, holes between them; every cluster is a chain of pieces.

    A piece is some copies of one distinct row. A hole has size 0 and an infinite distance.
    """

    low: np.ndarray  # cells per attribute and cluster
    high: np.ndarray
    size: np.ndarray  # records
    cost: np.ndarray  # of one record
    nearest: np.ndarray  # cluster, or NOBODY when it has to look again
    distance: np.ndarray  # to the nearest; a lower bound when that is NOBODY
    first: np.ndarray  # piece
    last: np.ndarray
    next_piece: np.ndarray  # per piece, -1 at the end
    row: np.ndarray
    copies: np.ndarray
    group: np.ndarray  # per piece: its finished group, or -1
    count: np.ndarray  # open clusters, extent with holes, groups, pieces, open records


@njit(cache=True, nogil=True)
def _distance(kind, union_cost, cost_a, size_a, cost_b, size_b):
    size = size_a + size_b
    if kind == ADDED:
        return size * union_cost - (size_a * cost_a + size_b * cost_b)
    if kind == RATIO:
        return union_cost / (cost_a + cost_b + 0.1)
    if kind == LOG:
        return (union_cost - (cost_a + cost_b)) / np.log(size)
    return union_cost - (cost_a + cost_b)


@njit(cache=True, nogil=True)
def _look(clusters, tables, kind, c, tell, node_costs, costs):
    """Find the nearest of cluster c, of equally near ones the oldest. `tell`: c is new to the others."""
    cost_tables(tables, clusters.low, clusters.high, c, node_costs)
    best, nearest = np.inf, NOBODY
    extent = clusters.count[EXTENT]
    for start in range(0, extent, BLOCK):
        some = costs[: min(BLOCK, extent - start)]
        union_costs(
            tables, clusters.low, clusters.high, start, clusters.low, clusters.high, c, node_costs, some
        )
        for i in range(len(some)):
            other = start + i
            if clusters.size[other] == 0 or other == c:
                continue
            distance = _distance(
                kind,
                some[i],
                clusters.cost[c],
                clusters.size[c],
                clusters.cost[other],
                clusters.size[other],
            )
            if distance < best:
                best, nearest = distance, other
            if tell and distance < clusters.distance[other]:
                clusters.distance[other] = distance
                clusters.nearest[other] = c
    clusters.distance[c] = best
    clusters.nearest[c] = nearest


@njit(cache=True, nogil=True)
def find_nearest(clusters, tables, kind, start, stop):
    """The nearest of each of these clusters. O((stop - start) * clusters * attributes)."""
    node_costs = np.empty(len(tables.parent))
    costs = np.empty(BLOCK)
    for c in range(start, stop):
        _look(clusters, tables, kind, c, False, node_costs, costs)


@njit(cache=True, nogil=True)
def _append(clusters, tables, first, last, size, rows_low, rows_high):
    """A new open cluster at the end, of a chain of pieces."""
    c = clusters.count[EXTENT]
    clusters.count[EXTENT] += 1
    clusters.count[OPEN] += 1
    clusters.first[c], clusters.last[c], clusters.size[c] = first, last, size
    row = clusters.row[first]
    for j in range(clusters.low.shape[0]):
        clusters.low[j, c], clusters.high[j, c] = rows_low[j, row], rows_high[j, row]
    piece = clusters.next_piece[first]
    while piece >= 0:
        join_cells(tables, clusters.low, clusters.high, c, rows_low, rows_high, clusters.row[piece])
        piece = clusters.next_piece[piece]
    clusters.cost[c] = cells_cost(tables, clusters.low, clusters.high, c)
    clusters.distance[c], clusters.nearest[c] = np.inf, NOBODY
    return c


@njit(cache=True, nogil=True)
def _remove(clusters, a, b):
    """Make holes of two clusters; those that had one of them as nearest must look again."""
    for c in (a, b):
        clusters.size[c] = 0
        clusters.distance[c] = np.inf
    clusters.count[OPEN] -= 2
    nearest = clusters.nearest
    for c in range(clusters.count[EXTENT]):
        if nearest[c] == a or nearest[c] == b:
            nearest[c] = NOBODY


@njit(cache=True, nogil=True)
def _close_up(clusters):
    """Move clusters together over the holes, in their order."""
    extent = clusters.count[EXTENT]
    place = np.full(extent + 1, NOBODY)  # and of nobody: nobody
    to = 0
    for c in range(extent):
        if clusters.size[c] > 0:
            place[c] = to
            to += 1
    for c in range(extent):
        p = place[c]
        if p < 0:
            continue
        for j in range(clusters.low.shape[0]):
            clusters.low[j, p], clusters.high[j, p] = clusters.low[j, c], clusters.high[j, c]
        clusters.size[p], clusters.cost[p] = clusters.size[c], clusters.cost[c]
        clusters.first[p], clusters.last[p] = clusters.first[c], clusters.last[c]
        clusters.distance[p], clusters.nearest[p] = clusters.distance[c], place[clusters.nearest[c]]
    clusters.count[EXTENT] = to


@njit(cache=True, nogil=True)
def _dearest_piece(clusters, tables, first, n_pieces, rows_low, rows_high, work):
    """The piece whose loss of one record lowers the cost most, of equal ones the last; and the one before."""
    # suffix joins
    r = clusters.low.shape[0]
    piece = first
    for p in range(n_pieces):
        work[p] = piece
        piece = clusters.next_piece[piece]
    return 0


@njit(cache=True, nogil=True)
def _shed(clusters, tables, chain, n, size, k, rows_low, rows_high, rest_cost, out):
    """Take records out of a chain of n pieces until k are left: always one whose absence saves most.

    Of equal savings the last piece. `out[p]` counts the copies that leave piece chain[p].
    """
    r = clusters.low.shape[0]
    out[:n] = 0
    suffix_low = np.empty((r, n + 1), np.int32)
    suffix_high = np.empty((r, n + 1), np.int32)
    while size > k:
        rest_cost[:n] = 0.0
        for j in range(r):
            have = False
            low = high = np.int64(0)
            for p in range(n - 1, -1, -1):
                suffix_low[j, p + 1] = low if have else -1
                suffix_high[j, p + 1] = high
                piece = chain[p]
                if out[p] < clusters.copies[piece]:
                    row = clusters.row[piece]
                    if have:
                        low, high = joined(tables, j, low, high, rows_low[j, row], rows_high[j, row])
                    else:
                        low, high = np.int64(rows_low[j, row]), np.int64(rows_high[j, row])
                        have = True
            whole = cell_cost(tables, j, low, high)
            have = False
            for p in range(n):
                piece = chain[p]
                left = clusters.copies[piece] - out[p]
                if left == 0:
                    continue
                row = clusters.row[piece]
                if left > 1:
                    rest_cost[p] += whole
                elif not have:
                    if suffix_low[j, p + 1] >= 0:
                        rest_cost[p] += cell_cost(tables, j, suffix_low[j, p + 1], suffix_high[j, p + 1])
                elif suffix_low[j, p + 1] < 0:
                    rest_cost[p] += cell_cost(tables, j, low, high)
                else:
                    both_low, both_high = joined(
                        tables, j, low, high, suffix_low[j, p + 1], suffix_high[j, p + 1]
                    )
                    rest_cost[p] += cell_cost(tables, j, both_low, both_high)
                if have:
                    low, high = joined(tables, j, low, high, rows_low[j, row], rows_high[j, row])
                else:
                    low, high = np.int64(rows_low[j, row]), np.int64(rows_high[j, row])
                    have = True
        best = -1
        for p in range(n):
            if out[p] < clusters.copies[chain[p]] and (best < 0 or rest_cost[p] <= rest_cost[best]):
                best = p
        out[best] += 1
        size -= 1


@njit(cache=True, nogil=True)
def _finish(clusters, chain, n):
    """Make a group of a chain of pieces."""
    group = clusters.count[GROUPS]
    clusters.count[GROUPS] += 1
    for p in range(n):
        if clusters.copies[chain[p]] > 0:
            clusters.group[chain[p]] = group


@njit(cache=True, nogil=True)
def join_nearest(clusters, tables, kind, k, shed, rows_low, rows_high, work):
    """Join the nearest two clusters until one is left or the work (cells looked at) is done.

    A cluster of k records or more is finished: with `shed`, what it has above k becomes open again.
    Returns whether there is more to do. O(clusters * attributes) per step.
    """
    r = clusters.low.shape[0]
    node_costs = np.empty(len(tables.parent))
    costs = np.empty(BLOCK)
    chain = np.empty(2 * k, np.int64)
    out = np.empty(2 * k, np.int64)
    rest_cost = np.empty(2 * k)
    while clusters.count[OPEN] > 1 and work > 0:
        extent = clusters.count[EXTENT]
        if 8 * clusters.count[OPEN] < 7 * extent or extent + k > len(clusters.size):
            _close_up(clusters)
            extent = clusters.count[EXTENT]
        a = np.argmin(clusters.distance[:extent])
        b = clusters.nearest[a]
        if b == NOBODY:
            _look(clusters, tables, kind, a, False, node_costs, costs)
            work -= extent * r
            continue
        size = clusters.size[a] + clusters.size[b]
        first, last = clusters.first[a], clusters.last[b]
        clusters.next_piece[clusters.last[a]] = clusters.first[b]
        _remove(clusters, a, b)
        if size < k:
            c = _append(clusters, tables, first, last, size, rows_low, rows_high)
            _look(clusters, tables, kind, c, True, node_costs, costs)
            work -= extent * r
            continue
        n = 0
        piece = first
        while piece >= 0:
            chain[n] = piece
            n += 1
            piece = clusters.next_piece[piece]
        clusters.count[OPEN_RECORDS] -= size
        if shed and size > k:
            _shed(clusters, tables, chain, n, size, k, rows_low, rows_high, rest_cost, out)
            clusters.count[OPEN_RECORDS] += size - k
            for p in range(n):
                if out[p] == 0:
                    continue
                piece = chain[p]
                if out[p] < clusters.copies[piece]:
                    fresh = clusters.count[PIECES]
                    clusters.count[PIECES] += 1
                    clusters.row[fresh], clusters.copies[fresh] = clusters.row[piece], out[p]
                    clusters.copies[piece] -= out[p]
                    clusters.group[fresh] = -1
                else:
                    fresh = piece
                    chain[p] = -1
                clusters.next_piece[fresh] = -1
                c = _append(clusters, tables, fresh, fresh, out[p], rows_low, rows_high)
                _look(clusters, tables, kind, c, True, node_costs, costs)
                work -= extent * r
        group = clusters.count[GROUPS]
        clusters.count[GROUPS] += 1
        for p in range(n):
            if chain[p] >= 0:
                clusters.group[chain[p]] = group
    return clusters.count[OPEN] > 1

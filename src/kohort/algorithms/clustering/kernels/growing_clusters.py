"""Clusters that still grow: their cells, their nearest clusters, and the pieces they are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.clustering.kernels.cluster_cells import cells_cost, join_cells
from kohort.kernels.compiled import kernel

COUNTS = np.dtype(
    [
        ("n_open", np.int64),  # open clusters
        ("extent", np.int64),  # open clusters and holes
        ("n_groups", np.int64),  # finished groups
        ("n_pieces", np.int64),
    ]
)
NOBODY = -1


class GrowingClusters(NamedTuple):
    """Open clusters side by side, the oldest first, with holes; each is a chain of pieces.

    A piece is some copies of one row. A hole has size 0 and an infinite distance.
    """

    low: np.ndarray  # cells per attribute and cluster
    high: np.ndarray
    size: np.ndarray  # records
    cost: np.ndarray  # cost of one record
    nearest: np.ndarray  # the nearest younger cluster, or NOBODY if it must be searched again
    distance: np.ndarray  # to the nearest; a lower bound if that is NOBODY
    first: np.ndarray  # the first piece
    last: np.ndarray
    next: np.ndarray  # per piece the next one of its cluster, or -1
    row: np.ndarray
    copies: np.ndarray
    group: np.ndarray  # the group of a finished piece, else -1
    counts: np.recarray  # one record of COUNTS


@kernel
def fill_clusters(clusters, rows, tables, cluster_of_row, k):
    """Make one cluster per number in `cluster_of_row`; those of k records or more are finished."""
    size = np.zeros(cluster_of_row.max() + 1, np.int64)
    for row in range(len(cluster_of_row)):
        size[cluster_of_row[row]] += rows.copies[row]
    place = np.full(len(size), -1)
    n_open = n_groups = 0
    for c in range(len(size)):
        if size[c] < k:
            place[c], n_open = n_open, n_open + 1
        else:
            place[c], n_groups = n_groups, n_groups + 1
    clusters.size[:n_open] = 0
    for row in range(len(cluster_of_row)):
        clusters.row[row], clusters.copies[row], clusters.next[row] = row, rows.copies[row], -1
        c = cluster_of_row[row]
        if size[c] >= k:
            clusters.group[row] = place[c]
            continue
        clusters.group[row] = -1
        _hang_on(clusters, place[c], row)
    clusters.counts[0].n_open = clusters.counts[0].extent = 0
    for c in range(n_open):
        open_cluster(clusters, rows, tables, clusters.first[c], clusters.last[c], clusters.size[c])
    clusters.counts[0].n_groups, clusters.counts[0].n_pieces = n_groups, len(cluster_of_row)


@kernel
def _hang_on(clusters, c, piece):
    """Put a piece at the end of a cluster's chain."""
    if clusters.size[c] == 0:
        clusters.first[c] = piece
    else:
        clusters.next[clusters.last[c]] = piece
    clusters.last[c] = piece
    clusters.size[c] += clusters.copies[piece]


@kernel
def open_cluster(clusters, rows, tables, first, last, size):
    """Open a new cluster, the youngest, from a chain of pieces; return its number."""
    c = clusters.counts[0].extent
    clusters.counts[0].extent += 1
    clusters.counts[0].n_open += 1
    clusters.first[c], clusters.last[c], clusters.size[c] = first, last, size
    row = clusters.row[first]
    for j in range(clusters.low.shape[0]):
        clusters.low[j, c], clusters.high[j, c] = rows.low[j, row], rows.high[j, row]
    piece = clusters.next[first]
    while piece >= 0:
        join_cells(tables, clusters.low, clusters.high, c, rows.low, rows.high, clusters.row[piece])
        piece = clusters.next[piece]
    clusters.cost[c] = cells_cost(tables, clusters.low, clusters.high, c)
    clusters.distance[c], clusters.nearest[c] = np.inf, NOBODY
    return c


@kernel
def take_out_pair(clusters, a, b):
    """Remove two clusters, leaving holes; clusters whose nearest was one of them must be searched again."""
    for c in (a, b):
        clusters.size[c], clusters.distance[c] = 0, np.inf
    clusters.counts[0].n_open -= 2
    nearest = clusters.nearest
    for c in range(clusters.counts[0].extent):
        if nearest[c] == a or nearest[c] == b:
            nearest[c] = NOBODY


@kernel
def close_up(clusters):
    """Remove the holes; the clusters keep their order."""
    place = np.full(clusters.counts[0].extent + 1, NOBODY)  # the last entry is the place of NOBODY
    to = 0
    for c in range(clusters.counts[0].extent):
        if clusters.size[c] > 0:
            place[c] = to
            to += 1
    for c in range(clusters.counts[0].extent):
        to = place[c]
        if to == NOBODY:
            continue
        for j in range(clusters.low.shape[0]):
            clusters.low[j, to], clusters.high[j, to] = clusters.low[j, c], clusters.high[j, c]
        clusters.size[to], clusters.cost[to] = clusters.size[c], clusters.cost[c]
        clusters.first[to], clusters.last[to] = clusters.first[c], clusters.last[c]
        clusters.distance[to], clusters.nearest[to] = clusters.distance[c], place[clusters.nearest[c]]
    clusters.counts[0].extent = clusters.counts[0].n_open


@kernel
def finish_chain(clusters, first):
    """Make a group of a chain of pieces."""
    piece = first
    while piece >= 0:
        clusters.group[piece] = clusters.counts[0].n_groups
        piece = clusters.next[piece]
    clusters.counts[0].n_groups += 1


@kernel
def split_piece(clusters, piece, left):
    """Split a piece so that it keeps `left` copies; return the piece with the rest, in no chain or group."""
    other = piece
    if left > 0:
        other = clusters.counts[0].n_pieces
        clusters.counts[0].n_pieces += 1
        clusters.row[other], clusters.copies[other] = clusters.row[piece], clusters.copies[piece] - left
        clusters.copies[piece] = left
    clusters.next[other], clusters.group[other] = -1, -1
    return other

"""Pairs of nodes that follow a prefix, counted in a table: quicker than lists where many baskets have it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel, lean

_MOST_NODES = 1_500
_LARGEST_K = 60_000


class PairCounts(NamedTuple):
    """Scratch for `count_pairs_after`.

    number  per pair of nodes, the first before the second, the records with both, at most k; per node and
            itself those with the node. Rows of nodes that are not in use hold anything
    low     per node the first one after it that may have fewer than k records with it; -1: not in use
    tail    the nodes of one basket
    used    the nodes in use, the first n_used[0] of them
    """

    number: np.ndarray
    low: np.ndarray
    tail: np.ndarray
    used: np.ndarray
    n_used: np.ndarray


@kernel
def pair_counts(n_nodes, k):
    """The scratch for this many nodes; of no size where the table would be too large."""
    n = n_nodes if n_nodes <= _MOST_NODES and k <= _LARGEST_K else 0
    low = np.full(n, -1, np.int64)
    return PairCounts(
        np.empty((n, n), np.uint16),
        low,
        np.empty(n + 1, np.int32),
        np.empty(n, np.int32),
        np.zeros(1, np.int64),
    )


@lean
def table_pays(pairs, lists, i):
    """Whether the pairs after node number i of the lists are counted faster in the table than by lists."""
    return len(pairs.low) > 0 and lists.start[i + 1] - lists.start[i] >= len(pairs.low)


@lean
def count_pairs_after(baskets, lists, i, keep, k, pairs):
    """Count, up to k, the records with node number i of the lists and each pair of kept nodes after it.

    Baskets are read from their rarest node on, down to the first one with fewer than k records so far.
    """
    for at in range(pairs.n_used[0]):
        pairs.low[pairs.used[at]] = -1
    pairs.n_used[0] = 0
    for at in range(lists.start[i], lists.start[i + 1]):
        b, size = lists.basket[at], 0
        for place in range(lists.where[at] + 1, baskets.start[b + 1]):
            pairs.tail[size] = baskets.nodes[place]
            size += keep[baskets.nodes[place]]
        for first in range(size):
            _count_row(pairs, first, size, keep, min(baskets.weight[b], k), k)


@lean
def _count_row(pairs, first, size, keep, weight, k):
    """Add a basket, whose nodes are tail[:size], to the row of the node at place `first` of it."""
    node = pairs.tail[first]
    row = pairs.number[node]
    if pairs.low[node] < 0:
        row[node:] = 0
        pairs.used[pairs.n_used[0]] = node
        pairs.n_used[0] += 1
        pairs.low[node] = node
    low = pairs.low[node]
    for place in range(size - 1, first - 1, -1):
        other = pairs.tail[place]
        if other < low:
            break
        if row[other] < k:
            row[other] = min(row[other] + weight, k)
    while low < len(row) and (row[low] >= k or not keep[low]):
        low += 1
    pairs.low[node] = low


@lean
def rare_in_row(pairs, node, k, found):
    """Write the nodes after a node that at least one but fewer than k records have with it, ascending.

    They are found[:n]; returns n.
    """
    n = 0
    if pairs.low[node] >= 0:
        row = pairs.number[node]
        for other in range(max(pairs.low[node], node + 1), len(row)):
            if 0 < row[other] < k:
                found[n] = other
                n += 1
    return n

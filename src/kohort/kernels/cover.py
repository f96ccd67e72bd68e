"""GEN-COVER-CF and the conversion of a cover to a clustering (Kenig and Tassa, Algorithms 4 and 2).

Records are slots: the copies of a distinct row are neighbours, its uncovered ones the last of them. A chosen
set is made disjoint from the clusters there are at once, by the steps of Algorithm 2, whose order is free.

Supports are lists of rows, or, to save memory, found anew each time as the intersection of the bit sets of a
record's nodes. Both are in the order of the rows, so both give the same clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.generalization import ones

__all__ = ["Sets", "cover_greedily"]


class Sets(NamedTuple):
    """The sets to cover with: supports of closed records.

    Either `start` and `rows` hold them (set i is rows[start[i]:start[i + 1]]), or `rows` is empty, and row
    number b is in set i if bit b is set in words[node] for every node in nodes[i].
    """

    cost: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    nodes: np.ndarray
    words: np.ndarray


@njit(cache=True, nogil=True)
def _common_word(sets, s, w):
    """The rows 64w to 64w + 63 of a set, as bits."""
    word = sets.words[sets.nodes[s, 0], w]
    for j in range(1, sets.nodes.shape[1]):
        if word == 0:
            break
        word &= sets.words[sets.nodes[s, j], w]
    return word


@njit(cache=True, nogil=True)
def _support(sets, s, buffer):
    """The rows of a set."""
    if len(sets.rows):
        return sets.rows[sets.start[s] : sets.start[s + 1]]
    size = 0
    for w in range(sets.words.shape[1]):
        word = _common_word(sets, s, w)
        while word:
            lowest = word & (~word + np.uint64(1))
            buffer[size] = 64 * w + ones(lowest - np.uint64(1))
            size += 1
            word ^= lowest
    return buffer[:size]


@njit(cache=True, nogil=True)
def _uncovered_in(sets, s, uncovered, enough):
    """Uncovered records of a set, counted up to `enough`."""
    if len(sets.rows):
        return _uncovered(sets.rows[sets.start[s] : sets.start[s + 1]], uncovered, enough)
    total = 0
    for w in range(sets.words.shape[1]):
        word = _common_word(sets, s, w)
        while word:
            lowest = word & (~word + np.uint64(1))
            total += uncovered[64 * w + ones(lowest - np.uint64(1))]
            if total >= enough:
                return enough
            word ^= lowest
    return total


@njit(cache=True, nogil=True)
def _sift_down(heap, key, place, size):
    """Restore a heap of set numbers by (key, number) from one place downwards."""
    item = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size:
            a, b = heap[child], heap[child + 1]
            if key[b] < key[a] or (key[b] == key[a] and b < a):
                child += 1
        other = heap[child]
        if key[item] < key[other] or (key[item] == key[other] and item < other):
            break
        heap[place] = other
        place = child
    heap[place] = item


@njit(cache=True, nogil=True)
def _uncovered(rows, uncovered, enough):
    """Uncovered records among these rows, counted up to `enough`."""
    total = 0
    for row in rows:
        total += uncovered[row]
        if total >= enough:
            return enough
    return total


@njit(cache=True, nogil=True)
def _take(slot, cluster, owner, size):
    """Move a record to a cluster."""
    if owner[slot] >= 0:
        size[owner[slot]] -= 1
    owner[slot] = cluster
    size[cluster] += 1


@njit(cache=True, nogil=True)
def _take_uncovered(rows, first_slot, uncovered, cluster, owner, size, most):
    """Cover uncovered records of these rows, at most so many."""
    for row in rows:
        while uncovered[row] > 0 and most > 0:
            slot = first_slot[row + 1] - uncovered[row]
            uncovered[row] -= 1
            most -= 1
            _take(slot, cluster, owner, size)


@njit(cache=True, nogil=True)
def _take_spare(rows, first_slot, uncovered, cluster, owner, size, cost, k, dearer):
    """Fill a cluster up to k with records that others can spare; `dearer`: only from dearer ones."""
    for row in rows:
        for slot in range(first_slot[row], first_slot[row + 1] - uncovered[row]):
            if size[cluster] >= k:
                return
            other = owner[slot]
            if other != cluster and size[other] > k and (not dearer or cost[other] > cost[cluster]):
                _take(slot, cluster, owner, size)


@njit(cache=True, nogil=True)
def _smallest_owner(rows, first_slot, uncovered, cluster, owner, cost):
    """The cheapest other cluster that holds a covered record of these rows."""
    best = -1
    for row in rows:
        for slot in range(first_slot[row], first_slot[row + 1] - uncovered[row]):
            other = owner[slot]
            if other != cluster and (best < 0 or cost[other] < cost[best]):
                best = other
    return best


@njit(cache=True, nogil=True)
def cover_greedily(sets, first_slot, k):
    """Cover all records by sets of k to 2k-1, each time the set of least cost per newly covered record.

    `first_slot` holds per row, and one more, its first record. Returns the cluster of each record, and the
    sets in the order in which they were chosen.

    A set's ratio only grows as records are covered, so a heap with stale keys finds the least: a set that
    comes up is counted anew, and chosen if it still is the least.
    """
    n_sets = len(sets.cost)
    n_records = first_slot[-1]
    most = 2 * k - 1
    uncovered = np.diff(first_slot)
    key = np.empty(n_sets)
    heap = np.arange(n_sets)
    for s in range(n_sets):
        key[s] = sets.cost[s] / min(sets.weight[s], most)
    for place in range(n_sets // 2 - 1, -1, -1):
        _sift_down(heap, key, place, n_sets)
    owner = np.full(n_records, -1, np.int64)
    max_clusters = n_records + 1
    size = np.zeros(max_clusters, np.int64)
    cost = np.zeros(max_clusters)
    chosen = np.empty(max_clusters, np.int64)
    buffer = np.empty(len(uncovered), np.int32)
    n_clusters = 0
    left = n_records
    heap_size = n_sets
    while left > 0:
        s = heap[0]
        new = _uncovered_in(sets, s, uncovered, most)
        if new == 0:
            heap_size -= 1
            heap[0] = heap[heap_size]
            _sift_down(heap, key, 0, heap_size)
            continue
        ratio = sets.cost[s] / new
        if ratio > key[s]:
            key[s] = ratio
            _sift_down(heap, key, 0, heap_size)
            continue
        cluster = n_clusters
        n_clusters += 1
        chosen[cluster] = s
        cost[cluster] = sets.cost[s]
        of_set = _support(sets, s, buffer)
        _take_uncovered(of_set, first_slot, uncovered, cluster, owner, size, most)
        left -= new
        if (
            size[cluster] < k
        ):  # covered records fill it: they are in the chosen set, and Algorithm 2 lets them stay
            _take_spare(of_set, first_slot, uncovered, cluster, owner, size, cost, k, True)
            _take_spare(of_set, first_slot, uncovered, cluster, owner, size, cost, k, False)
        if (
            size[cluster] < k
        ):  # no cluster can spare one: the new set and a set of k become one of at most 2k-1
            other = _smallest_owner(of_set, first_slot, uncovered, cluster, owner, cost)
            for row in of_set:
                for slot in range(first_slot[row], first_slot[row + 1]):
                    if owner[slot] == cluster:
                        _take(slot, other, owner, size)
            cost[other] = max(cost[other], sets.cost[s])
    return owner, chosen[:n_clusters].copy()

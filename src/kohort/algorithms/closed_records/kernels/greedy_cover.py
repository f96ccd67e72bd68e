"""GEN-COVER-CF and the conversion of a cover to a clustering (Kenig and Tassa, Algorithms 4 and 2).

Records are slots: the copies of a distinct row are neighbours, its uncovered ones the last of them. A chosen
set is made disjoint from the existing clusters at once, by the steps of Algorithm 2, whose order is free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.closed_records.kernels.supports import (
    BLOCK,
    Sets,
    Uncovered,
    note_covered,
    support,
    uncovered_in,
)
from kohort.kernels.compiled import kernel

_COUNTS = np.dtype(
    [
        ("n_clusters", np.int64),  # clusters made so far
        ("left", np.int64),  # records that are uncovered
        ("waiting", np.int64),  # sets in the heap
    ]
)


class GreedyCover(NamedTuple):
    """The state of a greedy cover."""

    uncovered: Uncovered
    key: np.ndarray  # per set: its ratio when it was last examined
    heap: np.ndarray  # the sets, least key first
    owner: np.ndarray  # per record its cluster, or -1
    chosen: np.ndarray  # per cluster its set
    size: np.ndarray  # per cluster: its records
    cost: np.ndarray  # per cluster: cost of a record
    counts: np.recarray  # one record: n_clusters, left, waiting


def new_cover(sets: Sets, first_slot: np.ndarray, k: int) -> GreedyCover:
    """A cover in which no record is covered yet.

    first_slot  per row, and one more: its first record
    """
    n_sets, n_records, n_rows = len(sets.cost), int(first_slot[-1]), len(first_slot) - 1
    n_words = (n_rows + 63) // 64
    uncovered = Uncovered(
        left=np.diff(first_slot),
        bits=np.zeros(n_words, dtype=np.uint64),
        active=np.zeros(n_words, dtype=np.int64),
        n_active=np.zeros(1, dtype=np.int64),
        block=np.zeros(BLOCK, dtype=np.uint64),
    )
    note_covered(uncovered)
    counts = np.zeros(1, dtype=_COUNTS).view(np.recarray)
    counts[0].left, counts[0].waiting = n_records, n_sets
    key, heap = _first_heap(sets, k)
    return GreedyCover(
        uncovered=uncovered,
        key=key,
        heap=heap,
        owner=np.full(n_records, -1, dtype=np.int64),
        chosen=np.zeros(n_records + 1, dtype=np.int64),
        size=np.zeros(n_records + 1, dtype=np.int64),
        cost=np.zeros(n_records + 1),
        counts=counts,
    )


@kernel
def _first_heap(sets, k):
    """The ratio of each set while nothing is covered, and all sets as a heap, the least ratio first."""
    n_sets = len(sets.cost)
    key, heap = np.empty(n_sets), np.arange(n_sets)
    for s in range(n_sets):
        key[s] = sets.cost[s] / min(sets.weight[s], 2 * k - 1)
    for place in range(n_sets // 2 - 1, -1, -1):
        _sift_down(heap, key, place, n_sets)
    return key, heap


@kernel
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


@kernel
def _take(cover, slot, cluster):
    """Move a record to a cluster."""
    if cover.owner[slot] >= 0:
        cover.size[cover.owner[slot]] -= 1
    cover.owner[slot] = cluster
    cover.size[cluster] += 1


@kernel
def _take_uncovered(cover, rows, first_slot, cluster, most):
    """Cover at most `most` uncovered records of these rows."""
    uncovered = cover.uncovered.left
    for row in rows:
        while uncovered[row] > 0 and most > 0:
            slot = first_slot[row + 1] - uncovered[row]
            uncovered[row] -= 1
            most -= 1
            _take(cover, slot, cluster)


@kernel
def _take_spare(cover, rows, first_slot, cluster, k, dearer):
    """Fill a cluster up to k with records that other clusters can spare; `dearer`: only from dearer ones."""
    owner, size, cost, uncovered = cover.owner, cover.size, cover.cost, cover.uncovered.left
    for row in rows:
        for slot in range(first_slot[row], first_slot[row + 1] - uncovered[row]):
            if size[cluster] >= k:
                return
            other = owner[slot]
            if other != cluster and size[other] > k and (not dearer or cost[other] > cost[cluster]):
                _take(cover, slot, cluster)


@kernel
def _smallest_owner(cover, rows, first_slot, cluster):
    """The cheapest other cluster that holds a covered record of these rows."""
    owner, cost, uncovered = cover.owner, cover.cost, cover.uncovered.left
    best = -1
    for row in rows:
        for slot in range(first_slot[row], first_slot[row + 1] - uncovered[row]):
            other = owner[slot]
            if other != cluster and (best < 0 or cost[other] < cost[best]):
                best = other
    return best


@kernel
def cover_greedily(sets, first_slot, k, cover, work):
    """Cover records by sets of k to 2k-1, each time the set of least cost per newly covered record.

    Stops when all records are covered, or after `work` sets have been examined.

    A set's ratio only grows as records are covered, so a heap with stale keys finds the least: a set that
    comes up is counted again, and chosen if its ratio is still the least.
    """
    most = 2 * k - 1
    key, heap, counts, uncovered = cover.key, cover.heap, cover.counts, cover.uncovered
    buffer = np.empty(len(uncovered.left), np.int32)
    while counts[0].left > 0 and work > 0:
        work -= 1
        s = heap[0]
        new = uncovered_in(sets, s, uncovered, most)
        if new == 0:
            counts[0].waiting -= 1
            heap[0] = heap[counts[0].waiting]
            _sift_down(heap, key, 0, counts[0].waiting)
            continue
        ratio = sets.cost[s] / new
        if ratio > key[s]:
            key[s] = ratio
            _sift_down(heap, key, 0, counts[0].waiting)
            continue
        _choose(sets, s, first_slot, k, cover, buffer)
        counts[0].left -= new
        if counts[0].n_clusters % 8 == 0:
            note_covered(uncovered)


@kernel
def _choose(sets, s, first_slot, k, cover, buffer):
    """Make a cluster of a set: of its uncovered records and, to make up k, of covered ones."""
    owner, size, cost = cover.owner, cover.size, cover.cost
    cluster = cover.counts[0].n_clusters
    cover.counts[0].n_clusters += 1
    cover.chosen[cluster], cost[cluster] = s, sets.cost[s]
    of_set = support(sets, s, buffer)
    _take_uncovered(cover, of_set, first_slot, cluster, 2 * k - 1)
    if size[cluster] < k:  # covered records of the set fill it, as Algorithm 2 allows
        _take_spare(cover, of_set, first_slot, cluster, k, True)
        _take_spare(cover, of_set, first_slot, cluster, k, False)
    if size[cluster] < k:  # no cluster can spare one: the new set and a set of k become one of at most 2k-1
        other = _smallest_owner(cover, of_set, first_slot, cluster)
        for row in of_set:
            for slot in range(first_slot[row], first_slot[row + 1]):
                if owner[slot] == cluster:
                    _take(cover, slot, other)
        cost[other] = max(cost[other], sets.cost[s])

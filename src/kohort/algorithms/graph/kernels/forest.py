"""A forest of near records, cut into small parts (Aggarwal et al., 2005, sections 4.1 and 4.2)."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.nearest_rows import distances
from kohort.kernels.compiled import kernel

_MOST_ROOTS = 2000


@kernel
def part_limit(k):
    """The greatest size of a part, as in the paper."""
    return max(2 * k - 1, 3 * k - 5)


@kernel
def grow_forest(tables, leaves, counts, nearest, k):
    """The row that the outgoing edge of each row leads to, or -1: a forest of trees of k or more (FOREST).

    The copies of a row are one tree from the start. Each tree has one row without an outgoing edge; while
    the tree is too small, that row gets an edge to the nearest row outside, which is one of its k - 1 nearest
    records since the tree has fewer than k. Of all trees the one whose edge is lightest goes first.
    O(n k + n log n).
    """
    n = len(counts)
    to = np.full(n, -1, np.int32)
    chief = np.arange(n)  # union-find
    size = counts.copy()
    open_row = np.arange(n)  # per chief: the row of the tree without an outgoing edge
    step = np.zeros(n, np.int32)  # per row: the nearest rows before this place are in its tree
    heap = [(np.inf, np.int64(-1))]
    for row in range(n):
        if counts[row] < k:
            heapq.heappush(heap, (_edge(tables, leaves, row, nearest[row, 0]), np.int64(row)))
    while heap[0][1] >= 0:
        length, row = heapq.heappop(heap)
        mine = _chief(chief, row)
        if to[row] >= 0 or size[mine] >= k:
            continue
        while _chief(chief, nearest[row, step[row]]) == mine:
            step[row] += 1
        target = nearest[row, step[row]]
        now = _edge(tables, leaves, row, target)
        if now > length:  # its nearest rows have joined the tree meanwhile
            heapq.heappush(heap, (now, row))
            continue
        to[row] = target
        theirs = _chief(chief, target)
        last = open_row[theirs]
        larger, smaller = (mine, theirs) if size[mine] > size[theirs] else (theirs, mine)
        chief[smaller] = larger
        size[larger] += size[smaller]
        open_row[larger] = last
        if size[larger] < k:
            heapq.heappush(heap, (_edge(tables, leaves, last, nearest[last, step[last]]), np.int64(last)))
    return to


@kernel
def _chief(chief, row):
    while chief[row] != row:
        chief[row] = chief[chief[row]]
        row = chief[row]
    return row


@kernel
def _edge(tables, leaves, one, other):
    return distances(tables, leaves, np.array([one]), np.array([other]))[0]


class _Work(NamedTuple):
    """Scratch arrays for cutting: a tree in the order of a walk from its root, and the records that wait at
    each record to be put into a part."""

    order: np.ndarray
    above: np.ndarray  # the next record towards the root
    size: np.ndarray  # how many records wait here
    first: np.ndarray  # the first of the records that wait here
    following: np.ndarray
    touching: np.ndarray  # the smallest part that touches the waiting records, or -1
    here: np.ndarray  # the smallest part that touches the record itself
    part: np.ndarray  # the part of each record
    part_size: np.ndarray


@kernel
def cut_forest(to, k):
    """The part of each record, numbered from 0; to[i] is the record that i has an edge to, or -1.

    Every part has at least k records. From the leaves to the root, those that wait below a record are put
    together until they are k: then they are a part, connected by a copy of the record (a Steiner vertex).
    The last ones, at the root, join the smallest part that touches them. Every edge is used once, so the
    parts weigh no more than the forest. A part has at most 2k - 2 records, one per tree up to 3k - 3; where
    it has more than max(2k-1, 3k-5), the other roots of the tree are tried. O(n), times the roots tried.
    """
    n = len(to)
    start, near = _edges(to)
    work = _Work(
        np.empty(n, np.int32),
        np.full(n, -1, np.int32),
        np.zeros(n, np.int64),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.zeros(n + 1, np.int64),
    )
    n_parts = 0
    for root in range(n):
        if to[root] < 0:
            n_parts += _cut_tree(start, near, root, k, n_parts, work)
    return work.part


@kernel
def _edges(to):
    """The neighbours of each record: near[start[i]:start[i + 1]]."""
    n = len(to)
    start = np.zeros(n + 1, np.int64)
    for one in range(n):
        if to[one] >= 0:
            start[one + 1] += 1
            start[to[one] + 1] += 1
    start = np.cumsum(start)
    place = start[:-1].copy()
    near = np.empty(start[-1], np.int32)
    for one in range(n):
        if to[one] >= 0:
            near[place[one]], near[place[to[one]]] = to[one], one
            place[one] += 1
            place[to[one]] += 1
    return start, near


@kernel
def _cut_tree(start, near, root, k, first_part, work):
    """Cut one tree into parts; return their number."""
    size = _walk(start, near, root, work)
    n_parts, largest = _cut(size, k, first_part, work)
    if largest <= part_limit(k):
        return n_parts
    best, best_largest = root, largest
    others = work.order[: min(size, _MOST_ROOTS)].copy()
    for other in others[1:]:
        _walk(start, near, other, work)
        n_parts, largest = _cut(size, k, first_part, work)
        if largest <= part_limit(k):
            return n_parts
        if largest < best_largest:
            best, best_largest = other, largest
    _walk(start, near, best, work)
    return _cut(size, k, first_part, work)[0]


@kernel
def _walk(start, near, root, work):
    """List the records of a tree in `work.order`, each after the one above it; return their number."""
    work.order[0], work.above[root] = root, -1
    size, at = 1, 0
    while at < size:
        one = work.order[at]
        for other in near[start[one] : start[one + 1]]:
            if other != work.above[one]:
                work.above[other] = one
                work.order[size] = other
                size += 1
        at += 1
    return size


@kernel
def _cut(size, k, first_part, work):
    """Cut the tree that was walked last; return the number of parts and the size of the largest."""
    for one in work.order[:size]:
        work.size[one], work.first[one] = 0, -1
        work.touching[one], work.here[one] = -1, -1
    n_parts = 0
    for at in range(size - 1, -1, -1):
        one = work.order[at]
        up = work.above[one]
        work.following[one] = work.first[one]
        work.first[one] = one
        work.size[one] += 1
        if work.size[one] >= k:
            part = first_part + n_parts
            _make_part(one, part, work)
            n_parts += 1
            if up >= 0:
                work.here[up] = _smaller(work.here[up], part, work)
            continue
        touching = _smaller(work.touching[one], work.here[one], work)
        if up < 0:
            work.part_size[touching] += work.size[one]
            _mark(one, touching, work)
            break
        _wait_above(one, up, work)
        work.touching[up] = _smaller(work.touching[up], touching, work)
        if work.size[up] >= k:
            part = first_part + n_parts
            _make_part(up, part, work)
            n_parts += 1
            work.here[up] = _smaller(work.here[up], part, work)
            work.size[up], work.first[up], work.touching[up] = 0, -1, -1
    return n_parts, work.part_size[first_part : first_part + n_parts].max()


@kernel
def _make_part(one, part, work):
    work.part_size[part] = work.size[one]
    _mark(one, part, work)


@kernel
def _mark(one, part, work):
    waiting = work.first[one]
    while waiting >= 0:
        work.part[waiting] = part
        waiting = work.following[waiting]


@kernel
def _wait_above(one, up, work):
    """Let the records that wait at a record wait at the one above it instead.

    The record itself is the first in its list, so the list is walked once a step.
    """
    last = one
    while work.following[last] >= 0:
        last = work.following[last]
    work.following[last] = work.first[up]
    work.first[up] = work.first[one]
    work.size[up] += work.size[one]


@kernel
def _smaller(one, other, work):
    """The smaller of two parts, where -1 stands for no part."""
    if one < 0 or (other >= 0 and work.part_size[other] < work.part_size[one]):
        return other
    return one

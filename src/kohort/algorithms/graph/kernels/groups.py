"""Groups from stars and cycles of records, and records that are withheld (Aggarwal et al., 2005)."""

from __future__ import annotations

import heapq

import numpy as np

from kohort.algorithms.kernels.costs import cost_without
from kohort.algorithms.kernels.nearest_rows import distances
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order


@kernel
def centers_of_cover(one, other, covered):
    """The center of each record's star, once every edge whose ends are both covered without it is dropped.

    What is left is stars. A center's center is itself. `covered` records need no edge. O(edges).
    """
    degree = covered.astype(np.int64)
    for edge in range(len(one)):
        degree[one[edge]] += 1
        degree[other[edge]] += 1
    center = np.arange(len(covered))
    for edge in range(len(one)):
        a, b = one[edge], other[edge]
        if degree[a] > 1 and degree[b] > 1:
            degree[a] -= 1
            degree[b] -= 1
        elif degree[a] > 1:
            center[b] = a
        else:
            center[a] = b
    return center


@kernel
def pair_leaves(tables, leaves, hub, rows, keep):
    """Pair the leaves of a star until at most `keep` stay with its hub.

    Each time the record farthest from the hub is paired with its nearest among those left, which costs no
    more than both edges to the hub. Returns places in `rows`, pairs side by side and then those that stay,
    and how many are in pairs. O(rows^2).
    """
    order = stable_order(-distances(tables, leaves, np.full(len(rows), hub), rows))
    paired = 0
    while len(order) - paired > keep:
        rest = rows[order[paired + 1 :]]
        near = distances(tables, leaves, np.full(len(rest), rows[order[paired]]), rest)
        place = paired + 1 + np.argmin(near)
        partner = order[place]
        order[paired + 2 : place + 1] = order[paired + 1 : place].copy()
        order[paired + 1] = partner
        paired += 2
    return order, paired


@kernel
def walk_cycles(one, other, n):
    """The vertices of each cycle in the order of a walk, one cycle after another; and where cycles begin."""
    near = np.full((n, 2), -1, np.int64)
    for edge in range(len(one)):
        a, b = one[edge], other[edge]
        near[a, 0 if near[a, 0] < 0 else 1] = b
        near[b, 0 if near[b, 0] < 0 else 1] = a
    order = np.empty(n, np.int64)
    starts = [0]
    seen = np.zeros(n, np.bool_)
    size = 0
    for first in range(n):
        if seen[first]:
            continue
        before, vertex = -1, first
        while not seen[vertex]:
            seen[vertex] = True
            order[size] = vertex
            size += 1
            onward = near[vertex, 0] if near[vertex, 0] != before else near[vertex, 1]
            before, vertex = vertex, onward
        starts.append(size)
    return order, np.array(starts)


@kernel
def cut_cycle(tables, leaves, rows):
    """The group of each record of a cycle, which is cut into runs of three, four or five at the least cost.

    Any five consecutive records have a cut among them or before the first, so five starting places suffice;
    dynamic programming from each. Considers every rotation that Lemma 11 tries. O(records).
    """
    n = len(rows)
    group = np.zeros(n, np.int64)
    if n <= 5:
        return group
    run_cost = np.empty((n, 3))
    for first in range(n):
        for size in range(3, 6):
            run = rows[(first + np.arange(size)) % n]
            run_cost[first, size - 3] = size * cost_without(tables, leaves, run, -1)
    best_cost, best_first = np.inf, 0
    best_sizes = np.zeros(n + 1, np.int64)
    for first in range(5):
        cost, sizes = _cut_line(run_cost, first)
        if cost < best_cost:
            best_cost, best_first, best_sizes = cost, first, sizes
    end, number = n, 0
    while end > 0:
        for place in range(end - best_sizes[end], end):
            group[(best_first + place) % n] = number
        end -= best_sizes[end]
        number += 1
    return group


@kernel
def _cut_line(run_cost, first):
    """The least cost of runs of a cycle cut at `first`, and the size of the last run before each place."""
    n = len(run_cost)
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    sizes = np.zeros(n + 1, np.int64)
    for end in range(3, n + 1):
        for size in range(3, min(5, end) + 1):
            now = cost[end - size] + run_cost[(first + end - size) % n, size - 3]
            if now < cost[end]:
                cost[end], sizes[end] = now, size
    return cost[n], sizes


@kernel
def withhold_outliers(tables, rows, order, start, k, most, star):
    """Which records to withhold; group g has the records order[start[g]:start[g + 1]] of `rows`.

    A record leaves a group of more than k if the others then cost less by more than `star`, which a withheld
    record costs. At most `most` records leave. Reorders `order` inside groups. O(s^2 * attributes) for a
    group of s records, again for each record that leaves it.
    """
    withheld = np.zeros(len(rows), np.bool_)
    end = start[1:].copy()
    heap = [(0.0, np.int64(-1), np.int64(-1))]
    for group in range(len(end)):
        _offer(heap, tables, rows, order[: end[group]], start[group], k, group, star)
    left = most
    while left > 0 and heap[0][1] >= 0:
        _, group, place = heapq.heappop(heap)
        withheld[order[place]] = True
        end[group] -= 1
        order[place], order[end[group]] = order[end[group]], order[place]
        left -= 1
        _offer(heap, tables, rows, order[: end[group]], start[group], k, group, star)
    return withheld


@kernel
def _offer(heap, tables, rows, order, first, k, group, star):
    """Put the record of order[first:] that gains most by being withheld on the heap, if any gains."""
    members = order[first:]
    size = len(members)
    if size <= k:
        return
    together = size * cost_without(tables, rows, members, -1)
    best, best_place = 1e-12, -1
    for place in range(first, len(order)):
        apart = (size - 1) * cost_without(tables, rows, members, place - first)
        gain = together - apart - star
        if gain > best:
            best, best_place = gain, place
    if best_place >= 0:
        heapq.heappush(heap, (-best, np.int64(group), np.int64(best_place)))

"""Cycles of records cut into groups of three to five neighbours (Aggarwal et al., 2005, Lemma 11)."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import cost_without
from kohort.kernels.compiled import kernel


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

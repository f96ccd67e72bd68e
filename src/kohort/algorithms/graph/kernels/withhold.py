"""Withhold the records that keep their groups general: single records, the greatest gain first."""

from __future__ import annotations

import heapq

import numpy as np

from kohort.algorithms.kernels.costs import cost_without
from kohort.kernels.compiled import kernel


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
        _offer(heap, tables, rows, order, start[group], end[group], k, group, star)
    left = most
    while left > 0 and heap[0][1] >= 0:
        _, group, place = heapq.heappop(heap)
        withheld[order[place]] = True
        end[group] -= 1
        order[place], order[end[group]] = order[end[group]], order[place]
        left -= 1
        _offer(heap, tables, rows, order, start[group], end[group], k, group, star)
    return withheld


@kernel
def _offer(heap, tables, rows, order, first, last, k, group, star):
    """Put the record of a group that gains most by being withheld on the heap, if any gains."""
    size = last - first
    if size <= k:
        return
    together = size * cost_without(tables, rows, order[first:last], -1)
    best, best_place = 1e-12, -1
    for place in range(first, last):
        apart = (size - 1) * cost_without(tables, rows, order[first:last], place - first)
        gain = together - apart - star
        if gain > best:
            best, best_place = gain, place
    if best_place >= 0:
        heapq.heappush(heap, (-best, np.int64(group), np.int64(best_place)))

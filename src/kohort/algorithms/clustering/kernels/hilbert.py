"""Places along the Hilbert curve, and the best way to cut an order into runs."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.clustering.kernels.cluster_cells import cluster_cell_cost, joined
from kohort.kernels.compiled import kernel


@kernel
def hilbert_keys(points, bits):
    """The place of each point along the Hilbert curve: words of 64 bits, the most significant first.

    `points[i, j]` are coordinates below 2**bits. Skilling's algorithm (2004): the coordinates are rotated and
    reflected level by level, then Gray-coded; their interleaved bits are the place. O(points * axes * bits).
    """
    m, r = points.shape
    keys = np.zeros((m, (r * bits + 63) // 64), np.uint64)
    x = np.empty(r, np.int64)
    for i in range(m):
        x[:] = points[i]
        _along_the_curve(x, bits)
        place = 0
        for level in range(bits - 1, -1, -1):
            for j in range(r):
                if (x[j] >> level) & 1:
                    keys[i, place >> 6] |= np.uint64(1) << np.uint64(63 - (place & 63))
                place += 1
    return keys


@kernel
def _along_the_curve(x, bits):
    """Transform the coordinates of a point into its place, whose bits are interleaved over the axes."""
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for j in range(len(x)):
            if (x[j] >> level) & 1:
                x[0] ^= below
            else:
                swap = (x[0] ^ x[j]) & below
                x[0] ^= swap
                x[j] ^= swap
    for j in range(1, len(x)):
        x[j] ^= x[j - 1]
    flip = 0
    for level in range(bits - 1, 0, -1):
        if (x[-1] >> level) & 1:
            flip ^= (1 << level) - 1
    for j in range(len(x)):
        x[j] ^= flip


@kernel
def cheapest_runs(rows, tables, row_at, k, best, previous, start, stop):
    """The cheapest cut into runs of k to 2k - 1 of the first `end` slots, for every end in start..stop - 1.

    `row_at[s]` is the row in slot s. `best[end]` is the least cost and `previous[end]` where its last run
    begins, -1 if there is no cut. Needs the ends before, and best[0] = 0. O((stop - start) * k * attributes).
    """
    r = rows.low.shape[0]
    cell_low = np.empty(r, np.int64)
    cell_high = np.empty(r, np.int64)
    for end in range(start, stop):
        best[end], previous[end] = np.inf, -1
        if end < k:
            continue
        for begin in range(end - 1, max(end - 2 * k, -1), -1):
            row = row_at[begin]
            cost = 0.0
            for j in range(r):
                if begin == end - 1:
                    cell_low[j], cell_high[j] = rows.low[j, row], rows.high[j, row]
                else:
                    cell_low[j], cell_high[j] = joined(
                        tables, j, cell_low[j], cell_high[j], rows.low[j, row], rows.high[j, row]
                    )
                cost += cluster_cell_cost(tables, j, cell_low[j], cell_high[j])
            size = end - begin
            if size >= k and best[begin] + size * cost < best[end]:
                best[end], previous[end] = best[begin] + size * cost, begin

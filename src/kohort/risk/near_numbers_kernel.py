"""The records nearest to a point: the inner loop of linking by distance."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def nearest_records(points, records, own, group_of, group):
    """For each point how many records are nearest to it, equally, and whether its own is among them.

    points, records  points and records by columns
    own              per point its own record
    group_of, group  the group of each record, and that of each point: only records of it count; -1: all do

    O(points * records * columns).
    """
    n_nearest = np.zeros(len(points), np.int64)
    is_own = np.zeros(len(points), np.bool_)
    for p in range(len(points)):
        least = np.inf
        for r in range(len(records)):
            if group[p] >= 0 and group_of[r] != group[p]:
                continue
            square = 0.0
            for c in range(records.shape[1]):
                step = points[p, c] - records[r, c]
                square += step * step
                if square > least:
                    break
            if square < least:
                least = square
                n_nearest[p] = 1
                is_own[p] = r == own[p]
            elif square == least:
                n_nearest[p] += 1
                is_own[p] = is_own[p] or r == own[p]
    return n_nearest, is_own

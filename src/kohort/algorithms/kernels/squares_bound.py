"""A lower bound on the sum of squares of any groups of at least k points."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def squares_bound(points, k):
    """The sum over points of the squared distances to their k - 1 nearest, over 2k. O(n^2 * columns).

    The squares of a group of m add up to the squared distances of all its ordered pairs over 2m. Those of a
    point are at least the m - 1 nearest ones, and (their sum) / m is least for m = k, since their mean and
    (m - 1) / m both grow with m.
    """
    n, wanted = len(points), k - 1
    total = 0.0
    if wanted == 0:
        return total
    near = np.empty(wanted)
    for point in range(n):
        near[:] = np.inf
        for other in range(n):
            if other == point:
                continue
            apart = 0.0
            for column in range(points.shape[1]):
                step = points[point, column] - points[other, column]
                apart += step * step
            if apart < near[wanted - 1]:
                at = wanted - 1
                while at > 0 and near[at - 1] > apart:
                    near[at] = near[at - 1]
                    at -= 1
                near[at] = apart
        total += near.sum()
    return total / (2 * k)

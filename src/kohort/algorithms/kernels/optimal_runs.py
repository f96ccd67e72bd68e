"""The least sum of squares of one column: runs of sorted numbers (Hansen and Mukherjee, 2003)."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def optimal_runs(values, k):
    """The run of each of these sorted numbers, in the cut into runs of at least k with the least squares.

    Some best groups of one column are runs of the sorted numbers, of k to 2k - 1 each: a longer one is cut
    in two, which never adds squares. O(n * k).
    """
    n = len(values)
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    middle = values.mean()  # sums of numbers near 0 lose fewer digits
    for place in range(n):
        number = values[place] - middle
        sums[place + 1] = sums[place] + number
        squares[place + 1] = squares[place] + number * number
    best, start = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(k, n + 1):
        for begin in range(max(end - 2 * k + 1, 0), end - k + 1):
            total = sums[end] - sums[begin]
            cost = best[begin] + squares[end] - squares[begin] - total * total / (end - begin)
            if cost < best[end]:
                best[end], start[end] = cost, begin
    run_of = np.zeros(n, dtype=np.int64)
    end, run = n, 0
    while end > 0:
        run_of[start[end] : end] = run
        end, run = start[end], run + 1
    return run_of

"""A lower bound on the least cost: prices y of rows, such that no group of k or more can pay them.

The linear program of which closed records to open, each with at least k of the records under it, has a dual:
any y with, for every closed record Q, the k largest y of the records under Q summing to at most k * cost(Q).
Then the records of any group under Q, being k or more, have prices of at most size * cost(Q), and the sum of
all prices is at most the cost of any release. The prices are raised together and repaired where they are too
high, again and again, by less each time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["cheapest_over", "lower_until_feasible", "raise_prices", "slacks"]


@njit(cache=True, nogil=True)
def cheapest_over(start, rows, cost, n_rows):
    """Per row the least cost of a closed record over it."""
    least = np.full(n_rows, np.inf)
    for q in range(len(cost)):
        for row in rows[start[q] : start[q + 1]]:
            least[row] = min(least[row], cost[q])
    return least


@njit(cache=True, nogil=True)
def raise_prices(start, rows, cost, copies, k, y, level, order, keep, epsilon):
    """One round: visit closed records in some order and lower prices under those that are violated.

    level  per closed record a guess at its k-th largest price, from which a bound on the k largest follows
    keep   per closed record, set: whether its slack is at most epsilon
    """
    value, weight = np.empty(len(y)), np.empty(len(y), np.int64)
    top = np.empty(len(y), np.int32)
    for q in order:
        above = 0.0
        for row in rows[start[q] : start[q + 1]]:
            if y[row] > level[q]:
                above += copies[row] * (y[row] - level[q])
        slack = cost[q] - level[q] - above / k
        if slack < 0.0:
            slack = _repair(
                rows[start[q] : start[q + 1]], cost[q], copies, k, y, level, q, value, weight, top
            )
        keep[q] = slack <= epsilon


@njit(cache=True, nogil=True)
def _repair(under, cost, copies, k, y, level, q, value, weight, top):
    """Lower the k largest prices evenly, if they are too high; the slack before."""
    n, total = _largest(under, copies, k, y, value, weight, top)
    level[q] = y[top[n - 1]]
    excess = total / k - cost
    if excess > 0.0:
        for i in range(n):
            y[top[i]] -= excess
        level[q] -= excess
    return -excess


@njit(cache=True, nogil=True)
def _largest(under, copies, k, y, value, weight, top):
    """The rows with the k largest prices into `top`, the largest first; how many, and the sum of the k."""
    n = len(under)
    for i in range(n):
        value[i] = -y[under[i]]
    left, total, n_top = k, 0.0, 0
    for i in np.argsort(value[:n]):
        row = under[i]
        top[n_top] = row
        n_top += 1
        total += min(copies[row], left) * y[row]
        left -= min(copies[row], left)
        if left == 0:
            break
    return n_top, total


@njit(cache=True, nogil=True)
def lower_until_feasible(start, rows, cost, copies, k, y):
    """Cap prices under every violated closed record at the level where it is satisfied. One pass is enough.

    A pass only lowers prices, which violates nothing that was satisfied.
    """
    value, weight = np.empty(len(y)), np.empty(len(y), np.int64)
    top = np.empty(len(y), np.int32)
    for q in range(len(cost)):
        under = rows[start[q] : start[q + 1]]
        highest = -np.inf
        for row in under:
            highest = max(highest, y[row])
        if highest <= cost[q]:
            continue
        n, total = _largest(under, copies, k, y, value, weight, top)
        if total <= k * cost[q]:
            continue
        cap = _cap(y, copies, k, cost[q], top, n)
        for i in range(n):
            y[top[i]] = min(y[top[i]], cap)


@njit(cache=True, nogil=True)
def _cap(y, copies, k, cost, top, n):
    """The level at which the k largest prices must be cut off to sum up to k * cost; at least the cost."""
    rest = 0.0  # of the k largest, those below the level
    n_above = k
    i = n - 1
    left = k
    for j in range(n - 1):
        left -= copies[top[j]]
    last = left  # copies of the lowest row that are among the k largest
    while i >= 0:
        share = last if i == n - 1 else copies[top[i]]
        cap = (k * cost - rest) / n_above
        if cap <= y[top[i]] or i == 0:
            return cap
        rest += share * y[top[i]]
        n_above -= share
        i -= 1
    return cost


@njit(cache=True, nogil=True)
def slacks(start, rows, cost, copies, k, y):
    """Per closed record its cost minus the mean of the k largest prices under it; at least 0 if feasible.

    Negative by no more than rounding shows that y is feasible. O(rows under a record * log).
    """
    value, weight = np.empty(len(y)), np.empty(len(y), np.int64)
    top = np.empty(len(y), np.int32)
    slack = np.empty(len(cost))
    for q in range(len(cost)):
        _, total = _largest(rows[start[q] : start[q + 1]], copies, k, y, value, weight, top)
        slack[q] = cost[q] - total / k
    return slack

"""A lower bound on the least cost: prices y of rows that sum to at most the cost of any group of k or more.

The linear program of which closed records to open, each with at least k of the records under it, has a dual:
any y with, for every closed record Q, the k largest y of the records under Q summing to at most k * cost(Q).
Then the prices of a group of k or more records under Q sum to at most size * cost(Q), and the sum of all
prices is at most the cost of any release. The prices are repeatedly raised together, by less each time, and
lowered where they are too high.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

__all__ = ["PricedRecords", "cheapest_over", "lower_until_feasible", "raise_prices", "slacks"]


class PricedRecords(NamedTuple):
    """Closed records with the rows under them, the cost of a record published as each, and k."""

    start: np.ndarray  # per closed record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    cost: np.ndarray  # per closed record
    copies: np.ndarray  # per row: how many records it has
    k: int


@kernel
def cheapest_over(closed):
    """The least cost of a closed record over each row."""
    start, rows, cost, n_rows = closed.start, closed.rows, closed.cost, len(closed.copies)
    least = np.full(n_rows, np.inf)
    for q in range(len(cost)):
        for row in rows[start[q] : start[q + 1]]:
            least[row] = min(least[row], cost[q])
    return least


@kernel
def _least_slack(under, cost, copies, k, y, level):
    """A lower bound on the slack of a closed record, from a guess at the k-th largest price. O(rows)."""
    above, highest = 0.0, -np.inf
    for row in under:
        highest = max(highest, y[row])
        if y[row] > level:
            above += copies[row] * (y[row] - level)
    return max(cost - highest, cost - level - above / k)


@kernel
def raise_prices(closed, y, level, order, keep, epsilon):
    """Visit closed records in the given order, and lower prices under those that are violated: one round.

    level  for each closed record a guess at its k-th largest price
    keep   filled: for each closed record whether its slack is at most epsilon
    """
    start, rows, cost, copies, k = closed.start, closed.rows, closed.cost, closed.copies, closed.k
    value, top = np.empty(len(y)), np.empty(len(y), np.int32)
    for q in order:
        under = rows[start[q] : start[q + 1]]
        slack = _least_slack(under, cost[q], copies, k, y, level[q])
        if slack < 0.0:
            slack, level[q] = _repair(under, cost[q], copies, k, y, value, top)
        keep[q] = slack <= epsilon


@kernel
def _repair(under, cost, copies, k, y, value, top):
    """Lower the k largest prices evenly if their sum is too high.

    Returns the slack before, and the k-th largest price after.
    """
    n, total = _largest(under, copies, k, y, value, top)
    level = y[top[n - 1]]
    excess = total / k - cost
    if excess > 0.0:
        for i in range(n):
            y[top[i]] -= excess
        level -= excess
    return -excess, level


@kernel
def _largest(under, copies, k, y, value, top):
    """Fill `top` with the rows of the k largest prices, largest first; return their number and the sum."""
    n = len(under)
    for i in range(n):
        value[i] = -y[under[i]]
    left, total, n_top = k, 0.0, 0
    for i in stable_order(value[:n]):
        row = under[i]
        top[n_top] = row
        n_top += 1
        total += min(copies[row], left) * y[row]
        left -= min(copies[row], left)
        if left == 0:
            break
    return n_top, total


@kernel
def lower_until_feasible(closed, y, level):
    """Cap prices under every violated closed record at the level where it is satisfied. One pass is enough.

    A pass only lowers prices, which violates nothing that was satisfied.
    """
    start, rows, cost, copies, k = closed.start, closed.rows, closed.cost, closed.copies, closed.k
    value, top = np.empty(len(y)), np.empty(len(y), np.int32)
    for q in range(len(cost)):
        under = rows[start[q] : start[q + 1]]
        if _least_slack(under, cost[q], copies, k, y, level[q]) >= 0.0:
            continue
        n, total = _largest(under, copies, k, y, value, top)
        level[q] = y[top[n - 1]]
        if total <= k * cost[q]:
            continue
        cap = _cap(y, copies, k, cost[q], top, n)
        for row in under:
            y[row] = min(y[row], cap)


@kernel
def _cap(y, copies, k, cost, top, n):
    """The level at which prices must be capped so that the k largest sum to k * cost.

    top  the n rows with the k largest prices, largest first, which sum to more
    """
    among = k  # copies that are capped if all from this row on are
    for i in range(n - 1):
        among -= copies[top[i]]
    rest, n_cut = 0.0, k
    for i in range(n - 1, 0, -1):
        cap = (k * cost - rest) / n_cut
        if cap <= y[top[i]]:
            return cap
        rest += among * y[top[i]]
        n_cut -= among
        among = copies[top[i - 1]]
    return (k * cost - rest) / n_cut


@kernel
def slacks(closed, y, level, exact_below):
    """A lower bound on the slack of each closed record: cost minus the mean of the k largest prices under it.

    If none is below 0, but for rounding, y is feasible. Exact where it is less than `exact_below`.
    O(rows under a record), and O(rows * log) where it is exact.
    """
    start, rows, cost, copies, k = closed.start, closed.rows, closed.cost, closed.copies, closed.k
    value, top = np.empty(len(y)), np.empty(len(y), np.int32)
    slack = np.empty(len(cost))
    for q in range(len(cost)):
        under = rows[start[q] : start[q + 1]]
        slack[q] = _least_slack(under, cost[q], copies, k, y, level[q])
        if slack[q] < exact_below:
            _, total = _largest(under, copies, k, y, value, top)
            slack[q] = cost[q] - total / k
    return slack

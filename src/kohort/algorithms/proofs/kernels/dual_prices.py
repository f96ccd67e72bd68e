"""A lower bound on the least cost: prices of rows that exceed the cost of any group of k or more by little.

The linear program of which closed records to open, each with at least k of the records under it, has a dual:
prices y of rows such that, for every closed record Q, the prices of any group of k or more records under Q
sum to at most size * cost(Q). The sum of all prices is then at most the cost of any release. Cuts say that of
some closed records only so many can be open; each has a price, and Q's *allowance*, the sum of the prices of
the cuts that it is a member of, is what the prices of a group under Q may exceed its cost by. The worst group
has every record priced above cost(Q), filled up to k with the highest of the others.

Prices are repeatedly raised together, by less each time, and repaired where they are too high. Within a round
prices of rows only fall and prices of cuts only rise, so what is satisfied when a round begins stays so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

_MARGIN = 0.02  # share of the cost of a closed record: prices that far below the guessed k-th are left out


class PricedRecords(NamedTuple):
    """Closed records with the rows under them, the cost of a record published as each, and k."""

    start: np.ndarray  # per closed record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    cost: np.ndarray  # per closed record
    copies: np.ndarray  # per row: how many records it has
    k: int


class CutPrices(NamedTuple):
    """The cuts that count each closed record, and the price of each cut."""

    start: np.ndarray  # per closed record and one more: its cuts are cuts[start[q]:start[q + 1]]
    cuts: np.ndarray
    price: np.ndarray  # per cut
    weight: float  # by how much a cut's price moves where a row's moves by 1


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
def _allowance(cuts, q):
    total = 0.0
    for cut in cuts.cuts[cuts.start[q] : cuts.start[q + 1]]:
        total += cuts.price[cut]
    return total


@kernel
def _least_slack(under, cost, copies, k, y, level):
    """A lower bound on the slack of a closed record without allowance, from a guess at its k-th price.

    The slack is what is left for each of k records: (allowance - excess of the worst group) / k. For any
    level of at most the cost, the excess is at most the sum of what prices exceed the level by, minus
    k * (cost - level). O(rows).
    """
    level = min(level, cost)
    above, highest = 0.0, -np.inf
    for row in under:
        highest = max(highest, y[row])
        above += copies[row] * max(y[row] - level, 0.0)
    return max(cost - highest, cost - level - above / k) if highest <= cost else cost - level - above / k


@kernel
def least_slacks(closed, cuts, y, level, order, exact_below, slack):
    """Fill lower bounds on the slacks of the closed records in `order`; exact where they are below a number.

    Exact slacks need the k highest prices sorted, and update `level`, the guesses at the k-th highest.
    """
    start, rows, cost, copies, k = closed.start, closed.rows, closed.cost, closed.copies, closed.k
    value, group = np.empty(len(y)), np.empty(len(y), np.int32)
    for q in order:
        under = rows[start[q] : start[q + 1]]
        allowance = _allowance(cuts, q)
        slack[q] = _least_slack(under, cost[q], copies, k, y, level[q]) + allowance / k
        if slack[q] < exact_below:
            _, _, excess, level[q] = _worst_group(under, cost[q], copies, k, y, level[q], value, group)
            slack[q] = (allowance - excess) / k


@kernel
def repair_prices(closed, cuts, y, level, order, lowered):
    """Visit closed records; where one is violated, lower the prices under it and raise those of its cuts.

    A row falls in proportion to the share of its records that the worst group has. If it fell in full, the
    bound would lose more than the group asks for: prices then come to rest below those of the linear program.

    lowered  per closed record: by how much its repairs lowered the prices under it; added to
    """
    start, rows, cost, copies, k = closed.start, closed.rows, closed.cost, closed.copies, closed.k
    value, group = np.empty(len(y)), np.empty(len(y), np.int32)
    for q in order:
        under = rows[start[q] : start[q + 1]]
        allowance = _allowance(cuts, q)
        if _least_slack(under, cost[q], copies, k, y, level[q]) + allowance / k >= 0.0:
            continue
        n, size, excess, level[q] = _worst_group(under, cost[q], copies, k, y, level[q], value, group)
        if excess <= allowance:
            continue
        n_cuts = cuts.start[q + 1] - cuts.start[q]
        last = group[n - 1]
        share = _share_of_last(group[:n], copies, size)
        squares = size - share * (1.0 - share) * copies[last]  # of shares, over all records of the rows
        change = (excess - allowance) / (squares + cuts.weight * n_cuts)
        for row in group[: n - 1]:
            y[row] -= change
        y[last] -= share * change
        for cut in cuts.cuts[cuts.start[q] : cuts.start[q + 1]]:
            cuts.price[cut] += cuts.weight * change
        lowered[q] += change
        level[q] -= change


@kernel
def _share_of_last(group, copies, size):
    """The share of the records of a group's last row that it has; it has all records of the others."""
    surplus = -size
    for row in group:
        surplus += copies[row]
    return 1.0 - surplus / copies[group[-1]]


@kernel
def _worst_group(under, cost, copies, k, y, level, value, group):
    """Fill `group` with the rows of the group of k or more whose prices exceed its cost most.

    Returns its number of rows, of records, the excess, and the k-th highest price or, if lower, the cost.
    """
    n, size, excess = 0, 0, 0.0
    for row in under:
        if y[row] > cost:
            group[n] = row
            n += 1
            size += copies[row]
            excess += copies[row] * (y[row] - cost)
    if size >= k:
        return n, size, excess, cost
    n_others = _others(under, cost, copies, k - size, y, level, value, group[n:])
    found = stable_order(value[:n_others])
    others = group[n : n + n_others].copy()
    for place in found:
        row = others[place]
        taken = min(copies[row], k - size)
        group[n] = row
        n += 1
        size += taken
        excess += taken * (y[row] - cost)
        level = y[row]
        if size == k:
            break
    return n, size, excess, level


@kernel
def _others(under, cost, copies, missing, y, level, value, others):
    """Fill in candidates for the highest prices up to the cost; return how many, with -price in `value`.

    Rows well below the guess at the k-th highest price are left out if enough others remain.
    """
    for lowest in (level - _MARGIN * cost, -np.inf):
        n_others, n_records = 0, 0
        for row in under:
            if lowest <= y[row] <= cost:
                others[n_others] = row
                value[n_others] = -y[row]
                n_others += 1
                n_records += copies[row]
        if n_records >= missing:
            break
    return n_others


@kernel
def cap_prices(closed, cuts, y, level):
    """Cap prices under every violated closed record at the level where it is satisfied. One pass is enough.

    A pass only lowers prices, which violates nothing that was satisfied.
    """
    start, rows, cost, copies, k = closed.start, closed.rows, closed.cost, closed.copies, closed.k
    value, group = np.empty(len(y)), np.empty(len(y), np.int32)
    for q in range(len(cost)):
        under = rows[start[q] : start[q + 1]]
        allowance = _allowance(cuts, q)
        if _least_slack(under, cost[q], copies, k, y, level[q]) + allowance / k >= 0.0:
            continue
        n, _, excess, level[q] = _worst_group(under, cost[q], copies, k, y, level[q], value, group)
        if excess <= allowance:
            continue
        cap = _cap(y, copies, cost[q], excess - allowance, group[:n])
        for row in group[:n]:
            y[row] = min(y[row], cap)


@kernel
def _cap(y, copies, cost, too_much, group):
    """The level, at least the cost, at which a cap on prices lowers the sum of a group by `too_much`."""
    value = np.empty(len(group))
    for i in range(len(group)):
        value[i] = -y[group[i]]
    n_cut, cut, order = 0, 0.0, stable_order(value)  # records above the cap, and the sum of their prices
    for place in range(len(order)):
        row = group[order[place]]
        n_cut += copies[row]
        cut += copies[row] * y[row]
        following = y[group[order[place + 1]]] if place + 1 < len(order) else -np.inf
        cap = (cut - too_much) / n_cut
        if cap >= max(following, cost):
            return cap
        if following <= cost:
            return cost
    return cost

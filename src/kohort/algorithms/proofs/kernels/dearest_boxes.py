"""Boxes around k records, one of them of a given row, that are priced above the box's cost: branch and bound.

As in `kernels.cheapest_boxes`, a box grows from the row, and candidates are the rows that it may get. A
candidate has a least cost, that of any box which holds it. So a box of cost c holds only candidates whose
least cost is at most c, and the k records have at most the mean price of the row and the k - 1 dearest of
these. Where that is never above c, there is no such box. Else a value is chosen that many of the dearest
records need: either the box gets it, or all candidates that have it are dropped.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.cell_costs import cell_cost
from kohort.algorithms.proofs.kernels.cheapest_boxes import (
    exclude_value,
    growth_in,
    include_value,
    must_grow,
)
from kohort.algorithms.proofs.kernels.needed_values import needed_value
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

__all__ = ["dear_boxes"]

_PASSES = 3  # times that candidates are dropped and the bound is raised, in one node
_FEW = 200  # candidates that are sorted


@kernel
def dear_boxes(rows, search, some, price, rank, most, nodes, tolerance):
    """For each of some rows the k records, one of them its own, that exceed the cost of their box by most.

    rank   per row: no record of a row of lower rank is among the k, since that one is looked at by itself
    most   per row the highest price of all rows of its rank or higher ones
    nodes  how many nodes of the tree may be visited for a row

    Returns per row the excess of the mean price, if it is above the tolerance, else the tolerance; an upper
    bound on the excess of any such k records; the start of its box in the list; the list of the rows in all
    these boxes; and the cost of each box.
    """
    excess, bound = np.empty(len(some)), np.empty(len(some))
    start, cost = np.zeros(len(some) + 1, np.int64), np.zeros(len(some))
    listed, n_listed = np.empty(1024, np.int32), 0
    room = (
        np.empty(len(rows.copies)),
        np.empty(rows.k + 1),
        np.empty(rows.k + 1, np.int64),
        np.empty(len(rows.copies), np.int32),
        np.empty(len(rows.copies), np.int64),
    )
    for number in range(len(some)):
        row = some[number]
        _start(rows, search, row, rank, most[row])
        found = _searched(rows, search, row, price, nodes, tolerance, room)
        excess[number], bound[number], n, cost[number] = found
        while n_listed + n > len(listed):
            longer = np.empty(2 * len(listed), np.int32)
            longer[:n_listed] = listed[:n_listed]
            listed = longer
        listed[n_listed : n_listed + n] = room[3][:n]
        n_listed += n
        start[number + 1] = n_listed
    return excess, bound, start, listed[:n_listed], cost


@kernel
def _start(rows, search, row, rank, limit):
    """Begin with the row itself as the box, and every row of a higher rank that costs less than the limit."""
    cells, n_columns, n, total = rows.cells, rows.leaves.shape[1], 0, 0.0
    for a in range(n_columns):
        leaf = rows.leaves[row, a]
        search.lo[0, a] = search.hi[0, a] = leaf
        search.width[0, a] = 1
        search.spent[0, a] = cell_cost(cells, a, leaf, leaf, 1)
        total += search.spent[0, a]
    for other in range(len(rows.leaves)):
        if rank[other] < rank[row]:
            continue
        cost = total
        for a in range(n_columns):
            more = 0.0
            if rows.leaves[other, a] != rows.leaves[row, a]:
                more = growth_in(cells, search, 0, a, rows.leaves[other, a])
            search.more[0, n, a] = more
            cost += more
            if cost >= limit:
                break
        if cost < limit or other == row:
            search.rows[0, n] = other
            n += 1
    search.n[0] = n


@kernel
def _searched(rows, search, first, price, nodes, tolerance, room):
    """The greatest excess found, an upper bound on it, the number of rows in that box, and its cost."""
    level, best, n_best, best_cost = 0, tolerance, 0, 0.0
    while level >= 0:
        nodes -= 1
        may_exceed = _narrowed(rows, search, level, first, price, best, room)
        if may_exceed:
            excess, n, is_whole = _excess_inside(rows, search, level, first, price, room)
            if excess > best:
                best, n_best, best_cost = excess, n, search.spent[level].sum()
                _keep_inside(rows, search, level, room[3])
            may_exceed = not is_whole and search.bound[level] > best
        if not may_exceed:
            level -= 1
            continue
        if nodes <= 0 or level + 1 >= len(search.n):
            return best, max(best, search.bound[: level + 1].max()), n_best, best_cost
        column, leaf = needed_value(rows, search, level, price, room[0], room[4])
        include_value(rows, search, level, column, leaf)
        exclude_value(rows, search, level, column, leaf)
        level += 1
    return best, best, n_best, best_cost


@kernel
def _narrowed(rows, search, level, first, price, best, room):
    """Drop candidates of boxes that are not priced above their cost; whether others may be left.

    The bound of the level becomes an upper bound on the excess.
    """
    more, must, cost, n_columns = search.more[level], search.must, room[0], rows.leaves.shape[1]
    spent = search.spent[level].sum()
    for _ in range(_PASSES):
        least = spent
        for a in range(n_columns):
            must[a] = must_grow(rows, search, level, a)
            least += must[a]
        if least == np.inf:  # fewer than k candidates are left
            return False
        for i in range(search.n[level]):
            cost[i] = spent
            for a in range(n_columns):
                cost[i] += max(more[i, a], must[a])
        limit, search.bound[level] = _limit(rows, search, level, first, price, least, best, room)
        if search.bound[level] <= best:
            return False
        n = 0
        for i in range(search.n[level]):
            if cost[i] < limit:
                search.rows[level, n] = search.rows[level, i]
                cost[n] = cost[i]
                for a in range(n_columns):
                    more[n, a] = more[i, a]
                n += 1
        dropped = search.n[level] - n
        search.n[level] = n
        if 20 * dropped < n:
            break
    return search.n[level] > 0


@kernel
def _limit(rows, search, level, first, price, least, best, room):
    """The cost that a box with more than the best excess stays below, and an upper bound on its excess.

    O(n * log n) for few candidates; for many a few times O(n), which proves less about the excess.
    """
    if search.n[level] <= _FEW:
        return _exact_limit(rows, search, level, first, price, least, best, room)
    limit, cost, others = np.inf, room[0], rows.k - 1
    while True:
        total, records, used = 0.0, 0, 0
        for i in range(search.n[level]):
            if cost[i] < limit:
                row = search.rows[level, i]
                copies = rows.copies[row] - (row == first)
                total, records, used = _held(room, total, records, used, price[row], copies, others)
        mean = (total + price[first]) / rows.k if records >= others else -np.inf
        if mean - best >= 0.99 * limit or mean - least <= best:
            return limit, mean - least
        limit = min(limit, mean - best)


@kernel
def _exact_limit(rows, search, level, first, price, least, best, room):
    """As `_limit`, by going through the candidates from the cheapest on."""
    cost, n, others = room[0], search.n[level], rows.k - 1
    order = stable_order(cost[:n])
    limit, bound, total, records, used = -np.inf, -np.inf, 0.0, 0, 0
    for place in range(n):
        i = order[place]
        row = search.rows[level, i]
        copies = rows.copies[row] - (row == first)
        total, records, used = _held(room, total, records, used, price[row], copies, others)
        if records < others:
            continue
        here = max(cost[i], least)
        mean = (total + price[first]) / rows.k
        following = cost[order[place + 1]] if place + 1 < n else np.inf
        if mean - here > best and following > here:
            limit = max(limit, min(mean - best, following))
            bound = max(bound, mean - here)
    return limit, bound


@kernel
def _held(room, total, records, used, price, copies, k):
    """Add copies of a price to the k highest: their sum, their number, and how many prices they have."""
    top, number = room[1], room[2]
    if copies == 0 or k == 0 or (records >= k and price <= top[used - 1]):
        return total, records, used
    place = used
    while place > 0 and top[place - 1] < price:
        place -= 1
    if used == k:  # the lowest of k single ones leaves
        total -= top[used - 1] * number[used - 1]
        records -= number[used - 1]
        used -= 1
    for p in range(used, place, -1):
        top[p], number[p] = top[p - 1], number[p - 1]
    top[place], number[place] = price, min(copies, k)
    used += 1
    total += price * number[place]
    records += number[place]
    while records > k:
        over = min(records - k, number[used - 1])
        number[used - 1] -= over
        records -= over
        total -= over * top[used - 1]
        if number[used - 1] == 0:
            used -= 1
    return total, records, used


@kernel
def _excess_inside(rows, search, level, first, price, room):
    """By how much the row and the dearest in the box exceed its cost, its number of rows, whether all are."""
    total, records, used, n, others = 0.0, 0, 0, 0, rows.k - 1
    for i in range(search.n[level]):
        if _is_inside(rows, search, level, i):
            row = search.rows[level, i]
            copies = rows.copies[row] - (row == first)
            total, records, used = _held(room, total, records, used, price[row], copies, others)
            n += 1
    mean = (total + price[first]) / rows.k if records >= others else -np.inf
    excess = mean - search.spent[level].sum()
    return excess, n, n == search.n[level]


@kernel
def _is_inside(rows, search, level, i):
    inside = True
    for a in range(rows.leaves.shape[1]):
        inside &= search.more[level, i, a] <= 0.0
    return inside


@kernel
def _keep_inside(rows, search, level, kept):
    n = 0
    for i in range(search.n[level]):
        if _is_inside(rows, search, level, i):
            kept[n] = search.rows[level, i]
            n += 1

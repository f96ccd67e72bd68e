"""Prices of records that no group can pay which satisfies k-anonymity and a rule about a sensitive value.

Records of a row with the same sensitive value are a unit and have one price. A group under a closed record of
cost d can pay its prices if they sum to at most d times its size. The best group under a closed record, the
one whose prices exceed that by most, is found exactly for each case of the rule: at least `size` records, at
most `cap` of each value. Without the rule this is `kernels.dual_prices`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

_REPAIRS = 6  # of a closed record in a round: others may be as dear as those whose price was lowered
_TRIES = 60  # repairs of a closed record in the last pass before its prices are cut at its cost
_ROUNDING = 1e-13  # the caller takes it off all prices


class PricedUnits(NamedTuple):
    """Closed records with the rows under them, the units of these rows, and the cases of a rule.

    A group satisfies a case if it has at least `size` records, at most `cap` of each value, and at least
    `least_distinct` values. One that satisfies the privacy model satisfies a case.
    """

    start: np.ndarray  # per closed record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    cost: np.ndarray  # per closed record
    unit_start: np.ndarray  # per row and one more: its units
    row: np.ndarray  # per unit
    copies: np.ndarray  # per unit: how many records it has
    value: np.ndarray  # per unit: from 0; the last value has no cap
    n_values: int
    caps: np.ndarray  # per case
    sizes: np.ndarray  # per case
    least_distinct: int


@kernel
def feasible_records(units):
    """For each closed record whether some group under it satisfies a case of the rule."""
    count = np.zeros(units.n_values, np.int64)
    feasible = np.zeros(len(units.cost), np.bool_)
    for q in range(len(units.cost)):
        count[:] = 0
        for row in units.rows[units.start[q] : units.start[q + 1]]:
            for unit in range(units.unit_start[row], units.unit_start[row + 1]):
                count[units.value[unit]] += units.copies[unit]
        if np.count_nonzero(count) < units.least_distinct:
            continue
        for case in range(len(units.caps)):
            room = count[units.n_values - 1]
            for value in range(units.n_values - 1):
                room += min(count[value], units.caps[case])
            feasible[q] |= room >= units.sizes[case]
    return feasible


@kernel
def highest_of_rows(units, price):
    """The highest price of the units of each row."""
    highest = np.full(len(units.unit_start) - 1, -np.inf)
    for unit in range(len(price)):
        highest[units.row[unit]] = max(highest[units.row[unit]], price[unit])
    return highest


@kernel
def raise_unit_prices(units, price, floor, order, keep, epsilon):
    """Visit closed records in the given order, and lower prices under those that are violated: one round.

    floor  for each closed record a guess at the lowest price in its best groups
    keep   filled: for each closed record whether its slack is at most epsilon
    """
    highest = highest_of_rows(units, price)
    room = _room(units)
    for q in order:
        excess, n = _best_group(units, q, price, highest, floor, epsilon, room)
        keep[q] = -excess <= epsilon
        for _ in range(_REPAIRS):
            if excess <= _ROUNDING:
                break
            _lower(units, price, highest, room, n, excess)
            excess, n = _best_group(units, q, price, highest, floor, 0.0, room)


@kernel
def lower_unit_prices(units, price, floor, order):
    """Lower prices under every violated closed record until none is, but for rounding. One pass is enough.

    A pass only lowers prices, which violates nothing that was satisfied.
    """
    highest = highest_of_rows(units, price)
    room = _room(units)
    for q in order:
        for number in range(_TRIES):
            excess, n = _best_group(units, q, price, highest, floor, 0.0, room)
            if excess <= _ROUNDING:
                break
            if number < _TRIES - 1:
                _level(units, q, price, highest, room, n, excess)
            else:
                _cap(units, q, price, highest, units.cost[q])


@kernel
def _cap(units, q, price, highest, cap):
    """Lower all prices under a closed record to at most `cap`."""
    for row in units.rows[units.start[q] : units.start[q + 1]]:
        for unit in range(units.unit_start[row], units.unit_start[row + 1]):
            price[unit] = min(price[unit], cap)
        highest[row] = min(highest[row], cap)


@kernel
def _level(units, q, price, highest, room, n, excess):
    """Lower the prices of the best group by `excess`, and others so that none takes the place of a member.

    Of each value, prices from the lowest in the group on are lowered by as much, and those below it to at
    most what that becomes. In the case of the group, the best one then has no excess.
    """
    sorted_units, best, lowest = room[2], room[4], np.full(units.n_values, np.inf)
    least = np.inf
    for i in range(n):
        if best[i] > 0:
            value = units.value[sorted_units[i]]
            lowest[value] = least = price[sorted_units[i]]  # they are sorted
    for row in units.rows[units.start[q] : units.start[q + 1]]:
        top = -np.inf
        for unit in range(units.unit_start[row], units.unit_start[row + 1]):
            limit = lowest[units.value[unit]]
            if limit == np.inf:
                limit = least
            price[unit] = price[unit] - excess if price[unit] >= limit else min(price[unit], limit - excess)
            top = max(top, price[unit])
        highest[row] = top


@kernel
def unit_slacks(units, price, floor, feasible, exact_below):
    """Cost minus mean price of the best group of each closed record; infinite where there is no valid one.

    Where it is above `exact_below`, a lower bound on it: cost minus highest price.
    """
    highest = highest_of_rows(units, price)
    room = _room(units)
    slack = np.full(len(units.cost), np.inf)
    for q in range(len(units.cost)):
        if feasible[q]:
            slack[q] = -_best_group(units, q, price, highest, floor, exact_below, room)[0]
    return slack


@kernel
def _room(units):
    """Room for the units of a group: gathered, sorted, their copies in a case, in the best one, by value."""
    n = len(units.copies)
    return (
        np.empty(n, np.int64),
        np.empty(n, np.float64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(units.n_values, np.int64),
    )


@kernel
def _lower(units, price, highest, room, n, excess):
    """Lower the prices of the best group, which is in `room`, by `excess` on average.

    Each falls in proportion to the share of the unit that is taken.
    """
    sorted_units, best = room[2], room[4]
    size, squares = 0, 0.0
    for i in range(n):
        size += best[i]
        squares += best[i] * best[i] / units.copies[sorted_units[i]]
    for i in range(n):
        if best[i] > 0:
            price[sorted_units[i]] -= excess * size / squares * best[i] / units.copies[sorted_units[i]]
    for i in range(n):
        if best[i] > 0:
            row = units.row[sorted_units[i]]
            top = -np.inf
            for unit in range(units.unit_start[row], units.unit_start[row + 1]):
                top = max(top, price[unit])
            highest[row] = top


@kernel
def _best_group(units, q, price, highest, floor, epsilon, room):
    """By how much the mean price of the best group exceeds the cost, and how many units were sorted for it.

    The group is left in `room`. Where no price comes near the cost, less than -epsilon is returned, and no
    group. Units priced below the guessed floor are looked at only if the others do not make up a group.
    O(rows), and O(rows * log rows) where the guess was wrong.
    """
    cost, top = units.cost[q], -np.inf
    for row in units.rows[units.start[q] : units.start[q + 1]]:
        top = max(top, highest[row])
    if top - cost < -epsilon:
        return top - cost, 0
    lowest = min(floor[q], cost)  # whoever is priced above the cost may be in the group
    while True:
        n = _gathered(units, q, price, highest, lowest, room)
        excess, least = _best_case(units, cost, price, n, lowest == -np.inf, room)
        if lowest == -np.inf or excess + cost >= lowest or (excess > -np.inf and not units.least_distinct):
            break
        lowest = -np.inf
    margin = max(0.25 * (top - least), 0.02 * abs(cost))
    floor[q] = least - margin
    return excess, n


@kernel
def _gathered(units, q, price, highest, lowest, room):
    """Fill the room with the units under a closed record priced at `lowest` or more, highest price first."""
    found, key, sorted_units = room[0], room[1], room[2]
    n = 0
    for row in units.rows[units.start[q] : units.start[q + 1]]:
        if highest[row] < lowest:
            continue
        for unit in range(units.unit_start[row], units.unit_start[row + 1]):
            if price[unit] >= lowest:
                found[n], key[n] = unit, -price[unit]
                n += 1
    order = stable_order(key[:n])
    for i in range(n):
        sorted_units[i] = found[order[i]]
    return n


@kernel
def _best_case(units, cost, price, n, is_all, room):
    """The greatest excess of a mean price over the cost in any case, and the lowest price it looked at.

    -inf if the gathered units do not make up a group, in some case that all units might satisfy.
    """
    taken, best = room[3], room[4]
    greatest, least = -np.inf, np.inf
    for case in range(len(units.caps)):
        total, size, last = _taken_in_case(units, cost, price, n, case, room)
        if size < units.sizes[case] and not is_all:
            return -np.inf, least
        if size < units.sizes[case]:
            continue
        least = min(least, price[room[2][last]])
        if total / size > greatest:
            greatest = total / size
            for i in range(n):
                best[i] = taken[i]
    return greatest, least


@kernel
def _taken_in_case(units, cost, price, n, case, room):
    """Take the group of the greatest mean price: sum of price - cost, number of records, place of the last.

    First one record of each of the dearest values, as many as are needed; then the dearest that the cap
    allows, up to the size; then those that raise the mean.
    """
    sorted_units, taken, count = room[2], room[3], room[5]
    cap, wanted, free = units.caps[case], units.sizes[case], units.n_values - 1
    total, size, last = _take_dearest_values(units, cost, price, n, room)
    if size < units.least_distinct:
        return total, 0, last
    for i in range(n):
        unit = sorted_units[i]
        gain = price[unit] - cost
        if size >= wanted and gain * size <= total:
            break
        value = units.value[unit]
        more = units.copies[unit] - taken[i]
        if value != free:
            more = min(more, cap - count[value])
        if gain * size <= total or size == 0:
            more = min(more, wanted - size)
        if more > 0:
            taken[i] += more
            count[value] += more
            size += more
            total += more * gain
            last = max(last, i)
    return total, size, last


@kernel
def _take_dearest_values(units, cost, price, n, room):
    """Take one record of each of the dearest values; as `_taken_in_case`, which begins with it."""
    sorted_units, taken, count = room[2], room[3], room[5]
    count[:] = 0
    total, size, last = 0.0, 0, 0
    for i in range(n):
        taken[i] = 0
        value = units.value[sorted_units[i]]
        if size < units.least_distinct and count[value] == 0:
            count[value] = 1
            taken[i] = 1
            total += price[sorted_units[i]] - cost
            size, last = size + 1, i
    return total, size, last

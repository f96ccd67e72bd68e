"""Prices of records that no group can pay which satisfies k-anonymity and t-closeness (equal distance).

A group of s records with c_v of value v, whose share in the table is q_v, satisfies the model if the excess,
the sum of max(0, c_v - q_v * s), is at most t * s. If shares of records may be taken, the dearest group has
as few records as any: a larger one, scaled down, has the same mean. Of each value, q_v * s records are free.
What is taken beyond them adds to the excess.

That no group can pay is proven by charges: for any u_v >= 0, each record of value v gets
t * max(u) + sum(q * u) - u_v on top of its price. Over a valid group these add up to at least 0: the sum of
(c_v - q_v * s) * u_v is at most the excess times max(u). So a valid group can pay no more with them, and with
them any `size` dearest records may be taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

_TRIES = 60  # repairs of a closed record in the last pass before its prices are cut at its cost
_ROUNDING = 1e-13  # the caller takes it off all prices


class CloseUnits(NamedTuple):
    """Closed records with the rows under them, the units of these rows, and what a group may have.

    charge  closed records by values: u, found so far
    level   per closed record a guess at the lowest price with charges in its dearest group
    """

    start: np.ndarray  # per closed record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    cost: np.ndarray  # per closed record
    unit_start: np.ndarray  # per row and one more: its units
    copies: np.ndarray  # per unit: how many records it has
    value: np.ndarray  # per unit
    share: np.ndarray  # per value: its share in the table
    t: float
    size: int
    charge: np.ndarray
    level: np.ndarray


@kernel
def close_records(units):
    """For each closed record whether some group under it, with shares of records, satisfies the model."""
    close = np.empty(len(units.cost), np.bool_)
    count = np.empty(len(units.share))
    for q in range(len(units.cost)):
        count[:] = 0
        for row in units.rows[units.start[q] : units.start[q + 1]]:
            for unit in range(units.unit_start[row], units.unit_start[row + 1]):
                count[units.value[unit]] += units.copies[unit]
        lacking = 0.0
        for value in range(len(count)):
            lacking += max(units.share[value] * units.size - count[value], 0.0)
        close[q] = lacking <= units.t * units.size * (1 + 1e-9) and count.sum() >= units.size
    return close


@kernel
def raise_close_prices(units, price, order, keep, epsilon):
    """Visit closed records in the given order, and lower prices under those that are violated: one round.

    keep  filled: for each closed record whether its slack is at most epsilon
    """
    room = _room(units)
    for q in order:
        excess = _charged_excess(units, q, price, room)
        if excess > 0.0:
            excess, n = _dearest_group(units, q, price, room)
            if excess > 0.0:
                _lower(units, price, room, n, excess)
                units.level[q] -= excess
        keep[q] = -excess <= epsilon


@kernel
def lower_close_prices(units, price, order):
    """Lower prices under every violated closed record until none is, by its charges. One pass is enough."""
    room = _room(units)
    for q in order:
        for number in range(_TRIES):
            if _charged_excess(units, q, price, room) <= _ROUNDING:
                break
            excess, n = _dearest_group(units, q, price, room)
            if number < _TRIES - 1:
                _lower(units, price, room, n, max(excess, 0.0))
                continue
            for row in units.rows[units.start[q] : units.start[q + 1]]:
                for unit in range(units.unit_start[row], units.unit_start[row + 1]):
                    price[unit] = min(price[unit], units.cost[q])
            units.charge[q] = 0.0
            units.level[q] = units.cost[q]


@kernel
def close_slacks(units, price, close, exact_below):
    """Lower bounds on the cost minus the mean price of the dearest group of each closed record.

    Infinite where there is no valid group; better than by old charges where they are below `exact_below`.
    """
    room = _room(units)
    slack = np.full(len(units.cost), np.inf)
    for q in range(len(units.cost)):
        if close[q]:
            slack[q] = -_charged_excess(units, q, price, room)
            if 0.0 < slack[q] < exact_below:
                charge, level = units.charge[q].copy(), units.level[q]
                slack[q] = max(slack[q], -_dearest_group(units, q, price, room)[0])
                units.charge[q], units.level[q] = charge, level
    return slack


@kernel
def _room(units):
    """Room for units: gathered, sort key, sorted, taken as free and in excess; charged and left by value."""
    n, values = len(units.copies), len(units.share)
    return (
        np.empty(n, np.int64),
        np.empty(n, np.float64),
        np.empty(n, np.int64),
        np.empty(n, np.float64),
        np.empty(n, np.float64),
        np.empty(values, np.float64),
        np.empty(values, np.float64),
    )


@kernel
def _charged_excess(units, q, price, room):
    """An upper bound on the excess of the dearest group's mean over the cost, by charges. O(units)."""
    extra, u, level = room[5], units.charge[q], units.level[q]
    together = 0.0
    for value in range(len(u)):
        together += units.share[value] * u[value]
    together += units.t * u.max()
    highest, above = -np.inf, 0.0
    for value in range(len(u)):
        extra[value] = together - u[value]
    for row in units.rows[units.start[q] : units.start[q + 1]]:
        for unit in range(units.unit_start[row], units.unit_start[row + 1]):
            charged = price[unit] + extra[units.value[unit]]
            highest = max(highest, price[unit])
            if charged > level:
                above += units.copies[unit] * (charged - level)
    return min(highest, level + above / units.size) - units.cost[q]


@kernel
def _dearest_group(units, q, price, room):
    """The excess of the mean of the dearest group over the cost, with shares of records, and its units.

    The group is left in the room; charges and level are set to those that prove it is the dearest.
    """
    found, key, ordered, free, beyond, left = room[0], room[1], room[2], room[3], room[4], room[6]
    n = 0
    for row in units.rows[units.start[q] : units.start[q + 1]]:
        for unit in range(units.unit_start[row], units.unit_start[row + 1]):
            found[n], key[n] = unit, -price[unit]
            n += 1
    place = stable_order(key[:n])
    left[:] = units.share * units.size
    total, missing = 0.0, float(units.size)
    for i in range(n):
        unit = found[place[i]]
        ordered[i] = unit
        value = units.value[unit]
        free[i] = min(float(units.copies[unit]), left[value])
        left[value] -= free[i]
        beyond[i] = 0.0
        missing -= free[i]
        total += free[i] * price[unit]
    return _exchanged(units, q, price, room, n, total, missing)


@kernel
def _exchanged(units, q, price, room, n, total, missing):
    """Fill what is missing by the dearest records beyond the free ones, then exchange cheap free ones."""
    ordered, free, beyond = room[2], room[3], room[4]
    spare, cheap = units.t * units.size, n - 1
    high = price[ordered[0]]
    for i in range(n):
        unit = ordered[i]
        rest = units.copies[unit] - free[i]
        while rest > 1e-12 and spare > 1e-12:
            while missing <= 1e-12 and cheap > i and free[cheap] <= 1e-12:
                cheap -= 1
            if missing <= 1e-12 and (cheap <= i or price[ordered[cheap]] >= price[unit]):
                spare = 0.0
                break
            amount = min(rest, spare)
            if missing > 1e-12:
                amount = min(amount, missing)
                missing -= amount
            else:
                amount = min(amount, free[cheap])
                free[cheap] -= amount
                total -= amount * price[ordered[cheap]]
            beyond[i] += amount
            rest -= amount
            spare -= amount
            total += amount * price[unit]
            high = price[unit]
        if spare <= 1e-12:
            break
    while cheap > 0 and free[cheap] <= 1e-12:
        cheap -= 1
    low = min(price[ordered[cheap]], high)
    _set_charges(units, q, price, room, n, low, high - low)
    return total / units.size - units.cost[q], n


@kernel
def _set_charges(units, q, price, room, n, low, most):
    """Charge each value what its record at the limit of the free ones is dearer than the cheapest taken."""
    ordered, u, left = room[2], units.charge[q], room[6]
    u[:] = 0.0
    left[:] = units.share * units.size
    for i in range(n):
        value = units.value[ordered[i]]
        if left[value] > 0.0:
            left[value] -= units.copies[ordered[i]]
            u[value] = min(max(price[ordered[i]] - low, 0.0), most) if left[value] <= 0.0 else 0.0
    together = units.t * u.max()
    for value in range(len(u)):
        together += units.share[value] * u[value]
    units.level[q] = low + together


@kernel
def _lower(units, price, room, n, excess):
    """Lower the prices of a group in the room by `excess` on average, in proportion to what is taken."""
    ordered, free, beyond = room[2], room[3], room[4]
    squares = 0.0
    for i in range(n):
        taken = (free[i] + beyond[i]) / units.copies[ordered[i]]
        squares += units.copies[ordered[i]] * taken * taken
    for i in range(n):
        taken = (free[i] + beyond[i]) / units.copies[ordered[i]]
        price[ordered[i]] -= excess * units.size * taken / squares

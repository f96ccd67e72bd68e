"""Whether no k records are priced above k times the cost of their box: an exhaustive check, compiled.

Values are decided one after the other: the records of a group have it, or none of them does. `left` are the
rows that can still be among the records, the dearest first; `spent` is what the values cost that the records
are known to have. A case is closed when k of the dearest rows left are priced below k * spent, or when what
is too dear about them must be spent on values: see `box_payments`.

The number of cases may grow beyond any patience, whatever the size of the table: so work is counted, and a
check that exceeds its limit ends without a verdict. What is counted does not depend on the machine.

Shares no code with the search for prices, but for the decorator that compiles.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel, lean
from kohort.verification.box_payments import Rows, missing_payments, payments_for, without_unpayable

_OPEN, _HAS = 0, 1
_REFUTED, _CLOSED, _UNDECIDED = 0, 1, 2
_NEAR = 1e-9
_CASES = 64  # that wait at first; more if they are needed
_PRICE = 0.1  # weight of a price in the choice of a value, where what is owed has 1


class BoxColumns(NamedTuple):
    """What cells cost, by column: an interval or set of w > 1 values base + step * (w - 1)."""

    n_values: np.ndarray
    is_tree: np.ndarray  # nodes of a hierarchy: the cost of a pair of values is in `pair`
    is_set: np.ndarray  # sets; all other columns have intervals
    loners: np.ndarray  # values from here on cost `whole` together with any other
    base: np.ndarray
    step: np.ndarray
    whole: np.ndarray
    pair_start: np.ndarray
    pair: np.ndarray


def prices_hold(
    columns: BoxColumns, values: np.ndarray, copies: np.ndarray, price: np.ndarray, k: int, limit: int
) -> bool | None:
    """Whether no k records are priced above the cost of their box; None if that takes too much work.

    Rows must be sorted, the dearest first.

    limit  how much work may be done, about one for each cell that is looked at
    """
    done = [0]

    def verdict(start: _Start) -> int:
        if sum(done) > limit:
            return _UNDECIDED
        payments = payments_for(values, copies, columns.n_values)
        found, work = _closed_everywhere(columns, Rows(values, copies, price), k, start, limit, payments)
        done.append(work)
        return int(found)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = set(pool.map(verdict, _starts(columns, values, copies)))
    if _REFUTED in found:
        return False
    return None if _UNDECIDED in found or sum(done) > limit else True


class _Start(NamedTuple):
    """Rows that a group may have, and a value that it has in each of some columns."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def _starts(columns: BoxColumns, values: np.ndarray, copies: np.ndarray) -> list[_Start]:
    """Cases that all groups are in, by the most frequent value that a group has in each of up to two columns.

    Of the columns of sets, those whose records are spread most evenly; cases of many rows first.
    """
    none, everything = np.empty(0, np.int64), np.arange(len(values), dtype=np.int32)
    records = {
        a: np.bincount(values[:, a], copies, minlength=columns.n_values[a])
        for a in np.flatnonzero(columns.is_set).tolist()
    }
    starts = [_Start(everything, none, none)]
    for a in sorted(records, key=lambda a: records[a].max())[:2]:
        order = np.argsort(-records[a], kind="stable")
        place = np.argsort(order)[values[:, a]]
        starts = [
            _Start(
                start.rows[place[start.rows] >= number],
                np.append(start.columns, a),
                np.append(start.values, value),
            )
            for start in starts
            for number, value in enumerate(order)
        ]
    return sorted(starts, key=lambda start: -len(start.rows))


class _Cases(NamedTuple):
    """Cases that wait, the last one next: `_CASES` of them at first."""

    left: np.ndarray  # rows that can still be among the records; n_left of them
    n_left: np.ndarray
    known: np.ndarray  # per column and value whether the records have it
    end: np.ndarray  # per column the least value, the greatest value, and how many are known


@kernel
def _closed_everywhere(columns, table, k, start, limit, payments):
    """The verdict on all cases that begin with some rows, and a value of some columns.

    Also how much work that took: rows are gone through once, the dearest column by column.
    """
    values, copies, price = table
    (n, m), width = values.shape, columns.n_values.max()
    cases = _Cases(
        np.empty((_CASES, n), np.int32),
        np.zeros(_CASES, np.int64),
        np.zeros((_CASES, m, width), np.int8),
        np.zeros((_CASES, m, 3), np.int64),
    )
    load = np.zeros((m, width))
    cases.left[0, : len(start.rows)], cases.n_left[0], waiting, work = start.rows, len(start.rows), 1, 0
    for i in range(len(start.columns)):
        _have(columns, cases.known[0], cases.end[0], start.columns[i], start.values[i])
    while waiting > 0:
        case = waiting - 1
        known, end = cases.known[case], cases.end[case]
        rows = cases.left[case, : cases.n_left[case]]
        work += len(rows) + m * width
        if work > limit:
            return _UNDECIDED, work
        spent = 0.0
        for a in range(m):
            spent += _cost(columns, a, end[a])
        total, n_dearest = _dearest(copies, price, rows, k)
        if n_dearest < 0 or total <= k * (spent + _NEAR):
            waiting -= 1
            continue
        missing = missing_payments(columns, table, k, rows, known, end, spent, payments)
        work += payments.counted[1]
        if missing > 0.0:
            _weigh_owed(values, rows, payments, load)
            cases.n_left[case] = without_unpayable(values, price, rows, payments)
            rows = cases.left[case, : cases.n_left[case]]
            total, n_dearest = _dearest(copies, price, rows, k)
        if missing == 0.0 or n_dearest < 0 or total <= k * (spent + _NEAR):
            waiting -= 1
            continue
        _weigh_prices(values, price, rows[:n_dearest], load)
        a, value = _undecided(columns, values, rows, known, end, load)
        if a < 0:  # the dearest are all in the box, and priced above its cost
            return _REFUTED, work
        if waiting + 2 > len(cases.n_left):
            cases = _Cases(
                np.concatenate((cases.left, cases.left)),
                np.concatenate((cases.n_left, cases.n_left)),
                np.concatenate((cases.known, cases.known)),
                np.concatenate((cases.end, cases.end)),
            )
        waiting = _split(columns, values, cases, case, a, value)
    return _CLOSED, work


@lean
def _cost(columns, a, end):
    """What the known values of a column cost."""
    return _cost_of(columns, a, end[0], end[1], end[2]) if end[2] > 0 else 0.0


@lean
def _cost_of(columns, a, first, last, count):
    """What `count` values from `first` to `last` cost in a column."""
    if columns.is_tree[a]:
        return columns.pair[columns.pair_start[a] + first * columns.n_values[a] + last]
    if first == last:
        return 0.0
    if last >= columns.loners[a]:
        return columns.whole[a]
    return columns.base[a] + columns.step[a] * (count - 1 if columns.is_set[a] else last - first)


@lean
def _dearest(copies, price, rows, k):
    """What the k dearest records cost together, and how many rows they have; -1 if there are fewer."""
    total, records = 0.0, 0
    for i in range(len(rows)):
        more = min(copies[rows[i]], k - records)
        total += more * price[rows[i]]
        records += more
        if records == k:
            return total, i + 1
    return total, -1


@lean
def _weigh_owed(values, rows, payments, load):
    """Note for each value what rows that have it still owe. No such row is ruled out by what is missing."""
    m = values.shape[1]
    for a in range(m):
        for value in range(load.shape[1]):
            load[a, value] = 0.0
    for i in range(payments.counted[0]):
        if payments.least_owed[i] > 0.0:
            for a in range(m):
                load[a, values[rows[i], a]] += payments.least_owed[i]


@lean
def _weigh_prices(values, price, rows, load):
    """Add for each value the prices of the dearest rows that have it."""
    for row in rows:
        for a in range(values.shape[1]):
            load[a, values[row, a]] += _PRICE * (max(price[row], 0.0) + _NEAR)


@kernel
def _undecided(columns, values, rows, known, end, load):
    """A column and a value that is to be decided next: what matters much, and costs much.

    In a column of intervals without known values: where the load is halved. -1 if all are decided.
    """
    best, column, chosen = 0.0, -1, 0
    for a in range(values.shape[1]):
        n = columns.n_values[a]
        if columns.is_set[a] or columns.is_tree[a]:
            value, urgency = _heaviest(load[a, :n], known[a]), 1.5 if end[a, 2] == 0 else 1.0
            weight = load[a, value] if known[a, value] == _OPEN else 0.0
        elif end[a, 2] == 0:
            value, urgency = _middle(load[a, :n], values, rows, a), 40.0
            weight = load[a, :n].sum() / 2
        else:
            value = _half_way(load[a, :n], end[a, 0], end[a, 1])
            weight, urgency = _beyond(load[a, :n], value, end[a]), float(_distance(value, end[a]))
        score = weight * urgency * columns.whole[a] / n
        if score > best:
            best, column, chosen = score, a, value
    return column, chosen


@lean
def _heaviest(load, known):
    best, value = -1.0, 0
    for v in range(len(load)):
        if known[v] == _OPEN and load[v] > best:
            best, value = load[v], v
    return value


@kernel
def _middle(load, values, rows, a):
    """The value that begins the upper half of the load; the only value, where all rows have the same."""
    least = most = values[rows[0], a]
    for row in rows:
        least, most = min(least, values[row, a]), max(most, values[row, a])
    if least == most:
        return least
    half, below, value = load.sum() / 2, 0.0, 0
    while value < most and below + load[value] <= half:
        below += load[value]
        value += 1
    return min(max(value, least + 1), most)


@kernel
def _half_way(load, first, last):
    """A value with half of the load on that side of the interval which has more; `first` if there is none."""
    below, above = load[:first].sum(), load[last + 1 :].sum()
    if max(below, above) <= 0.0:
        return first
    half = 0.0
    if above >= below:
        for value in range(last + 1, len(load)):
            half += load[value]
            if 2 * half >= above:
                return value
    for value in range(first - 1, -1, -1):
        half += load[value]
        if 2 * half >= below:
            return value
    return first


@lean
def _distance(value, end):
    return max(value - end[1], end[0] - value, 0)


@kernel
def _beyond(load, value, end):
    """The load at a value outside an interval and beyond it."""
    return load[value:].sum() if value > end[1] else load[: value + 1].sum() if value < end[0] else 0.0


@kernel
def _split(columns, values, cases, case, a, value):
    """Replace a case by two or three: without the value and with it, or below, above, and on both sides."""
    left, n_left, known, end = cases
    more, n_values = case + 1, columns.n_values[a]
    is_interval = not (columns.is_set[a] or columns.is_tree[a])
    _copy(cases, case, more)
    if is_interval and end[case, a, 2] == 0 and not _have_all(values, left[case, : n_left[case]], a, value):
        _copy(cases, case, more + 1)
        _have(columns, known[more + 1], end[more + 1], a, value - 1)
        _have(columns, known[more + 1], end[more + 1], a, value)
        n_left[case] = _without(values, left[case], n_left[case], a, value, n_values - 1)
        n_left[more] = _without(values, left[more], n_left[more], a, 0, value - 1)
        return more + 2
    low = high = value
    if is_interval and end[case, a, 2] > 0:
        low, high = (value, n_values - 1) if value > end[case, a, 1] else (0, value)
    _have(columns, known[more], end[more], a, value)
    n_left[case] = _without(values, left[case], n_left[case], a, low, high)
    return more + 1


@lean
def _have_all(values, rows, a, value):
    same = True
    for row in rows:
        same &= values[row, a] == value
    return same


@kernel
def _copy(cases, case, to):
    cases.n_left[to] = cases.n_left[case]
    cases.left[to, : cases.n_left[case]] = cases.left[case, : cases.n_left[case]]
    cases.known[to], cases.end[to] = cases.known[case], cases.end[case]


@lean
def _have(columns, known, end, a, value):
    """Note that the records have a value; in a hierarchy, whatever is between its ends costs no more."""
    if end[a, 2] == 0:
        end[a, 0] = end[a, 1] = value
    end[a, 0], end[a, 1] = min(end[a, 0], value), max(end[a, 1], value)
    end[a, 2] += 1
    known[a, value] = _HAS
    if columns.is_tree[a]:
        known[a, end[a, 0] : end[a, 1] + 1] = _HAS


@lean
def _without(values, rows, n, a, low, high):
    """Keep the rows whose value is not between low and high; how many they are."""
    kept = 0
    for i in range(n):
        if not low <= values[rows[i], a] <= high:
            rows[kept] = rows[i]
            kept += 1
    return kept

"""Whether what is too dear about k records must be spent on the values that they need: for `box_check`.

Take a level of at most what the known values cost. k records are priced at most k * level and what each of
them owes: its price above the level. Each value that they have besides the known ones costs k records `step`
each, and that pays for what the rows that need the value owe (in an interval, also the rows beyond it). Where
all rows left owe at most k * (spent - level) after that, no k of them are priced above k times their cost.

The rows of a value are paid the same share of what they owe. In a column without known values one value is
free: so the most that a value pays there counts as not paid.

What is missing otherwise rules out rows. A row needs values; what these have not paid, though it is spent
where the row is among the records, and how far its price is below the level, must be less than what is
missing.

Shares no code with the search for prices, but for the decorator that compiles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import lean

_NEAR = 1e-9
_TIMES = 8  # k: so many of the dearest records may have to be paid
_TURNS = 4


class Rows(NamedTuple):
    """Distinct rows, the dearest first: the value of each column, how many records, and their price."""

    values: np.ndarray
    copies: np.ndarray
    price: np.ndarray


class Payments(NamedTuple):
    """What rows owe and values pay; room that one case after the other uses."""

    order: np.ndarray  # columns, in the order in which they pay
    owed: np.ndarray  # per row above the level
    due: np.ndarray  # values by turns: rows take turns, so that a sum need not wait for the one before
    rest: np.ndarray  # per value of a column: the share that is not paid
    unspent: np.ndarray  # columns by values: what a row's need of the value could pay besides
    least_owed: np.ndarray  # what is not paid with the level for which least is missing
    least_unspent: np.ndarray  # and what is unspent then
    least: np.ndarray  # what is missing then, and that level
    counted: np.ndarray  # rows above that level; cells looked at


def payments_for(values: np.ndarray, copies: np.ndarray, n_values: np.ndarray) -> Payments:
    """Room for rows with these values. Columns pay first in which most records have the same value."""
    (n, m), width = values.shape, int(n_values.max())
    most = [np.bincount(values[:, a], copies).max() for a in range(m)]
    return Payments(
        order=np.argsort(most, kind="stable")[::-1].copy(),
        owed=np.zeros(n),
        due=np.zeros((width, _TURNS)),
        rest=np.ones(width),
        unspent=np.zeros((m, width)),
        least_owed=np.zeros(n),
        least_unspent=np.zeros((m, width)),
        least=np.zeros(2),
        counted=np.zeros(2, np.int64),
    )


@lean
def missing_payments(columns, table, k, rows, known, end, spent, payments):
    """What rows owe beyond k * (spent - level) and values do not pay, for the best level; 0 if nothing."""
    values, copies, price = table
    above, records = 0, 0
    while above < len(rows) and price[rows[above]] > spent:
        records += copies[rows[above]]
        above += 1
    goal = max(records, k)
    payments.least[0], payments.counted[1] = np.inf, 0
    while True:
        while above < len(rows) and records < goal:
            records += copies[rows[above]]
            above += 1
        level = max(price[rows[above]], 0.0) if above < len(rows) else 0.0
        _owe(copies, price, rows[:above], level, payments)
        missing = _pay(columns, values, k, rows[:above], known, end, k * (spent - level + _NEAR), payments)
        if missing <= 0.0:
            return 0.0
        if missing < payments.least[0]:
            _note(columns, missing, level, above, payments)
        if above == len(rows) or goal > _TIMES * k:
            return payments.least[0]
        goal = 2 * max(records, k)


@lean
def _note(columns, missing, level, above, payments):
    """Note the level for which least is missing so far."""
    payments.least[0], payments.least[1], payments.counted[0] = missing, level, above
    for i in range(above):
        payments.least_owed[i] = payments.owed[i]
    for a in range(len(columns.n_values)):
        for value in range(columns.n_values[a]):
            payments.least_unspent[a, value] = payments.unspent[a, value]


@lean
def _owe(copies, price, rows, level, payments):
    """Note what rows owe above a level."""
    for i in range(len(rows)):
        payments.owed[i] = copies[rows[i]] * max(price[rows[i]] - level, 0.0)


@lean
def _pay(columns, values, k, rows, known, end, allowed, payments):
    """Let values pay what rows owe, column by column; what is left of it beyond `allowed`."""
    left, m = -allowed, values.shape[1]
    payments.counted[1] += len(rows) * m
    for i in range(len(rows)):
        left += payments.owed[i]
    for a in range(m):
        for value in range(columns.n_values[a]):
            payments.unspent[a, value] = 0.0
    for a in payments.order:
        if left <= 0.0:
            return left
        is_linear = not columns.is_tree[a] and columns.loners[a] == columns.n_values[a]
        if not is_linear or (end[a, 2] == 0 and not columns.is_set[a]):
            continue
        _sum_up(columns.n_values[a], values, rows, a, payments)
        budget = k * columns.step[a]
        if columns.is_set[a]:
            left -= _paid_by_set(columns.n_values[a], known[a], end[a, 2] > 0, a, budget, payments)
        else:
            below = _paid_from(0, end[a, 0], 1, a, budget, payments)
            left -= below + _paid_from(columns.n_values[a] - 1, end[a, 1], -1, a, budget, payments)
            for value in range(end[a, 0], end[a, 1] + 1):
                payments.rest[value] = 1.0
        for i in range(len(rows)):
            payments.owed[i] *= payments.rest[values[rows[i], a]]
    return left


@lean
def _sum_up(n_values, values, rows, a, payments):
    """Note what the rows of each value owe together, in the first turn."""
    for value in range(n_values):
        for turn in range(_TURNS):
            payments.due[value, turn] = 0.0
    for i in range(len(rows)):
        payments.due[values[rows[i], a], i % _TURNS] += payments.owed[i]
    for value in range(n_values):
        for turn in range(1, _TURNS):
            payments.due[value, 0] += payments.due[value, turn]


@lean
def _paid_by_set(n_values, known, is_any_known, a, budget, payments):
    """What values pay that are not known; where none is, all but the one that pays most."""
    total = most = 0.0
    for value in range(n_values):
        due = payments.due[value, 0]
        paid = 0.0 if known[value] else min(due, budget)
        payments.rest[value] = 1.0 - paid / due if paid > 0.0 else 1.0
        if is_any_known and not known[value]:
            payments.unspent[a, value] = budget - paid
        total += paid
        most = max(most, paid)
    return total if is_any_known else total - most


@lean
def _paid_from(outermost, known, step, a, budget, payments):
    """What the values from the outermost to a known one pay for all rows at them or farther out."""
    total = owed = 0.0
    for value in range(outermost, known, step):
        owed += payments.due[value, 0]
        paid = min(owed, budget)
        payments.rest[value] = 1.0 - paid / owed if paid > 0.0 else 1.0
        payments.unspent[a, value] = budget - paid
        owed -= paid
        total += paid
    for value in range(known - 2 * step, outermost - step, -step):
        payments.rest[value] *= payments.rest[value + step]
        payments.unspent[a, value] += payments.unspent[a, value + step]
    return total


@lean
def without_unpayable(values, price, rows, payments):
    """Keep the rows that what is missing does not rule out; how many they are."""
    kept, missing, level = 0, payments.least[0] + _NEAR, payments.least[1]
    for row in rows:
        more = max(level - price[row], 0.0)
        for a in range(values.shape[1]):
            more += payments.least_unspent[a, values[row, a]]
        rows[kept] = row
        kept += more < missing
    return kept

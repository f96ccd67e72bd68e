"""What every open slot must satisfy: at least k records, and rules about their sensitive values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import lean

__all__ = [
    "CLOSE",
    "DISTINCT",
    "ENTROPY",
    "MOST",
    "RULE",
    "TOGETHER",
    "WITHIN",
    "Promises",
    "drop_tally",
    "recount",
    "shortfall",
    "too_frequent",
]

DISTINCT, MOST, TOGETHER, CLOSE, ENTROPY, WITHIN = 0, 1, 2, 3, 4, 5
RULE = np.dtype(
    [("kind", np.int64), ("first_value", np.int64), ("end_value", np.int64), ("limit", np.float64)]
)
_NEAR = 1e-9  # tolerance during the search; rules are decided exactly at the end


class Promises(NamedTuple):
    """k and the rules of the models. The values of all sensitive attributes share one numbering.

    DISTINCT  at least `limit` different values
    MOST      none of the listed values makes up more than the share `limit`
    TOGETHER  the listed values together do not make up more than the share `limit`
    CLOSE     the excess of values over their share in the table adds up to at most the share `limit`
    ENTROPY   the entropy of the values is at least `limit`
    WITHIN    the share of every value lies between `low` and `high`
    """

    k: int
    rules: np.recarray  # RULE: kind, values from `first_value` to before `end_value`, limit
    listed: np.ndarray  # rules by values
    share: np.ndarray  # per value: its share in the whole table
    low: np.ndarray  # rules by values: the least share of a value in a slot
    high: np.ndarray  # rules by values: the greatest
    value: np.ndarray  # units by sensitive attributes
    tally: np.ndarray  # tallies by values: the records of an open slot
    tally_of: np.ndarray  # per slot: its tally, or -1
    free: np.ndarray  # how many tallies are unused, followed by these tallies


@lean
def recount(promises, unit, slot, copies):
    """Add copies of a unit to the tally of a slot, or remove them if `copies` is negative."""
    tally = promises.tally_of[slot]
    if tally < 0:
        tally = promises.tally_of[slot] = promises.free[promises.free[0]]
        promises.free[0] -= 1
    for value in promises.value[unit]:
        promises.tally[tally, value] += copies


@lean
def drop_tally(promises, slot):
    """Free the tally of an empty slot."""
    tally = promises.tally_of[slot]
    if tally >= 0:
        promises.tally_of[slot] = -1
        promises.free[0] += 1
        promises.free[promises.free[0]] = tally


@lean
def shortfall(promises, slot, size):
    """By how many records a slot of this size violates k or a rule: 0 if it satisfies all. O(values)."""
    missing = float(max(promises.k - size, 0))
    if len(promises.rules) == 0 or size == 0:
        return missing
    counts = promises.tally[promises.tally_of[slot]]
    for rule in range(len(promises.rules)):
        amount = _amount(promises, rule, counts, size)
        if amount > _NEAR:
            missing += amount
    return missing


@lean
def _amount(promises, rule, counts, size):
    kind, limit = promises.rules[rule].kind, promises.rules[rule].limit
    total = 0.0
    for value in range(promises.rules[rule].first_value, promises.rules[rule].end_value):
        count = counts[value]
        if kind == WITHIN:
            total += max(count - promises.high[rule, value] * size, 0.0)
            total += max(promises.low[rule, value] * size - count, 0.0)
        if count == 0 or kind == WITHIN:
            continue
        if kind == DISTINCT:
            total += 1
        elif kind == CLOSE:
            total += max(count - promises.share[value] * size, 0.0)
        elif kind == ENTROPY:
            total -= count * np.log(count / size)
        elif promises.listed[rule, value]:
            total = max(total, float(count)) if kind == MOST else total + count
    if kind == DISTINCT:
        return limit - total
    if kind == ENTROPY:
        return limit * size - total
    if kind == WITHIN:
        return total
    return total - limit * size


@lean
def too_frequent(promises, slot, size):
    """A value of which a slot has too many records, by the first broken rule about shares, or -1."""
    counts = promises.tally[promises.tally_of[slot]]
    for rule in range(len(promises.rules)):
        kind = promises.rules[rule].kind
        if kind == DISTINCT or _amount(promises, rule, counts, size) <= _NEAR:
            continue
        worst, most = -1, 0.0
        for value in range(promises.rules[rule].first_value, promises.rules[rule].end_value):
            if counts[value] == 0 or not promises.listed[rule, value]:
                continue
            amount = float(counts[value])
            if kind == CLOSE:
                amount -= promises.share[value] * size
            elif kind == WITHIN:
                amount -= promises.high[rule, value] * size
            if amount > most:
                worst, most = value, amount
        return worst
    return -1

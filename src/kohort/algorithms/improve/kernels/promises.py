"""What every slot owes: at least k records, and rules about the sensitive values of its records."""

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
    "Promises",
    "drop_tally",
    "recount",
    "shortfall",
]

DISTINCT, MOST, TOGETHER, CLOSE, ENTROPY = 0, 1, 2, 3, 4
RULE = np.dtype(
    [("kind", np.int64), ("first_value", np.int64), ("end_value", np.int64), ("limit", np.float64)]
)
_NEAR = 1e-9  # rules are decided exactly at the end; in between, so near is enough


class Promises(NamedTuple):
    """k, and rules. The values of all sensitive attributes are numbered through.

    DISTINCT  at least `limit` different values
    MOST      none of the listed values makes up more than the share `limit`
    TOGETHER  nor do they together
    CLOSE     what the values have in excess of their share in the table is at most the share `limit`
    ENTROPY   the entropy of the values is at least `limit`
    """

    k: int
    rules: np.recarray  # RULE: kind, values from `first_value` to before `end_value`, limit
    listed: np.ndarray  # rules by values
    share: np.ndarray  # per value: of the whole table
    value: np.ndarray  # units by sensitive attributes
    tally: np.ndarray  # tallies by values: the records of an open slot
    tally_of: np.ndarray  # per slot, or -1
    free: np.ndarray  # how many tallies no slot has, and these


@lean
def recount(promises, unit, slot, copies):
    """Note that so many copies of a unit came to a slot, or left it where the number is below 0."""
    tally = promises.tally_of[slot]
    if tally < 0:
        tally = promises.tally_of[slot] = promises.free[promises.free[0]]
        promises.free[0] -= 1
    for value in promises.value[unit]:
        promises.tally[tally, value] += copies


@lean
def drop_tally(promises, slot):
    """Forget an empty slot."""
    tally = promises.tally_of[slot]
    if tally >= 0:
        promises.tally_of[slot] = -1
        promises.free[0] += 1
        promises.free[promises.free[0]] = tally


@lean
def shortfall(promises, slot, size):
    """By how much, in records, a slot of this size breaks its promises: 0 if it keeps them. O(values)."""
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
        if count == 0:
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
    return total - limit * size

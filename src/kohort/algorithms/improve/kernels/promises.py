"""What every open slot must satisfy: at least k records, or k people, and rules about their sensitive values.

Where people have several records, a slot is tallied by people: see `kohort.problem.promises.counts`.
"""

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
    "new_met",
    "recount",
    "shortfall",
    "too_frequent",
]

DISTINCT, MOST, TOGETHER, CLOSE, ENTROPY, WITHIN = 0, 1, 2, 3, 4, 5
RULE = np.dtype(
    [("kind", np.int64), ("first_value", np.int64), ("end_value", np.int64), ("limit", np.float64)]
)
MET = np.dtype([("key", np.int64), ("records", np.int64)])
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
    tally: np.ndarray  # tallies by values: records or people of an open slot; last, those of any value
    tally_of: np.ndarray  # per slot: its tally, or -1
    free: np.ndarray  # how many tallies are unused, followed by these tallies
    person: np.ndarray  # per unit: its person; empty where every record is that of another person
    own_start: np.ndarray  # per person and one more: values that they are spread over are own[start:end]
    own: np.ndarray
    is_spread: np.ndarray  # per value: whether people are spread over their records, or have it or not
    met: np.recarray  # a hash table: how many records a person has in a tally, of a value or of any


def new_met(n_records: int, n_kinds: int) -> np.recarray:
    """An empty table for so many records, each of which is counted in so many ways."""
    return np.zeros(2 * n_records * n_kinds + 65, dtype=MET).view(np.recarray)


@lean
def recount(promises, unit, slot, copies):
    """Add copies of a unit to the tally of a slot, or remove them if `copies` is negative."""
    tally = promises.tally_of[slot]
    if tally < 0:
        tally = promises.tally_of[slot] = promises.free[promises.free[0]]
        promises.free[0] -= 1
    if len(promises.person) > 0:
        _recount_person(promises, unit, tally, copies)
        return
    promises.tally[tally, -1] += copies
    for value in promises.value[unit]:
        promises.tally[tally, value] += copies


@lean
def _recount_person(promises, unit, tally, copies):
    """A value counts who has it in any record of the tally, or their share of records there that have it."""
    person, width = promises.person[unit], promises.tally.shape[1]
    first = (tally * (len(promises.own_start) - 1) + person) * width
    before = _records_met(promises.met, first + width - 1, copies)
    promises.tally[tally, -1] += _more_people(before, copies)
    _spread(promises, tally, person, first, -before)
    for value in promises.value[unit]:
        more = _more_people(_records_met(promises.met, first + value, copies), copies)
        if not promises.is_spread[value]:
            promises.tally[tally, value] += more
    _spread(promises, tally, person, first, before + copies)


@lean
def _more_people(before, copies):
    """1 if a person comes who had no records, -1 if all records of a person go, else 0."""
    return (1 if before + copies > 0 else 0) - (1 if before > 0 else 0)


@lean
def _spread(promises, tally, person, first, records):
    """Add a person's shares of values to a tally where they have so many records; below 0: remove them."""
    if records != 0:
        for value in promises.own[promises.own_start[person] : promises.own_start[person + 1]]:
            promises.tally[tally, value] += _records_met(promises.met, first + value, 0) / records


@lean
def _records_met(met, key, copies):
    """How many records were met under a key; from now on `copies` more. O(1) on average."""
    place = key % len(met)
    while met[place].records > 0 and met[place].key != key:
        place = (place + 1) % len(met)
    before = met[place].records
    if copies != 0:
        met[place].key, met[place].records = key, before + copies
        if before + copies == 0:
            _close_gap(met, place)
    return before


@lean
def _close_gap(met, gap):
    """Move keys after an empty place that are looked for from before it."""
    place = (gap + 1) % len(met)
    while met[place].records > 0:
        if (place - met[place].key) % len(met) >= (place - gap) % len(met):
            met[gap].key, met[gap].records = met[place].key, met[place].records
            met[place].records = 0
            gap = place
        place = (place + 1) % len(met)


@lean
def drop_tally(promises, slot):
    """Free the tally of an empty slot."""
    tally = promises.tally_of[slot]
    if tally >= 0:
        for value in range(promises.tally.shape[1] if len(promises.own) > 0 else 0):
            promises.tally[tally, value] = 0.0  # shares are rounded
        promises.tally_of[slot] = -1
        promises.free[0] += 1
        promises.free[promises.free[0]] = tally


@lean
def shortfall(promises, slot, size):
    """By how many records or people a slot of this size breaks k or a rule: 0 if it keeps all. O(values)."""
    if len(promises.tally) == 0 or size == 0:
        return max(promises.k - float(size), 0.0)
    counts = promises.tally[promises.tally_of[slot]]
    missing = max(promises.k - counts[-1], 0.0)
    for rule in range(len(promises.rules)):
        amount = _amount(promises, rule, counts)
        if amount > _NEAR:
            missing += amount
    return missing


@lean
def _amount(promises, rule, counts):
    size = counts[-1]
    kind, limit = promises.rules[rule].kind, promises.rules[rule].limit
    total = 0.0
    for value in range(promises.rules[rule].first_value, promises.rules[rule].end_value):
        count = counts[value]
        if kind == WITHIN:
            total += max(count - promises.high[rule, value] * size, 0.0)
            total += max(promises.low[rule, value] * size - count, 0.0)
        if count <= _NEAR or kind == WITHIN:
            continue
        if kind == DISTINCT:
            total += 1
        elif kind == CLOSE:
            total += max(count - promises.share[value] * size, 0.0)
        elif kind == ENTROPY:
            total -= count * np.log(count / size)
        elif promises.listed[rule, value]:
            total = max(total, count) if kind == MOST else total + count
    if kind == DISTINCT:
        return limit - total
    if kind == ENTROPY:
        return limit * size - total
    if kind == WITHIN:
        return total
    return total - limit * size


@lean
def too_frequent(promises, slot):
    """A value of which a slot has too many records, by the first broken rule about shares, or -1."""
    counts = promises.tally[promises.tally_of[slot]]
    size = counts[-1]
    for rule in range(len(promises.rules)):
        kind = promises.rules[rule].kind
        if kind == DISTINCT or _amount(promises, rule, counts) <= _NEAR:
            continue
        worst, most = -1, 0.0
        for value in range(promises.rules[rule].first_value, promises.rules[rule].end_value):
            if counts[value] <= _NEAR or not promises.listed[rule, value]:
                continue
            amount = counts[value]
            if kind == CLOSE:
                amount -= promises.share[value] * size
            elif kind == WITHIN:
                amount -= promises.high[rule, value] * size
            if amount > most:
                worst, most = value, amount
        return worst
    return -1

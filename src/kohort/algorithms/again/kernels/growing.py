"""Groups with as many people of each of m values, grown around seeds where prices make them cheap.

A group costs its size times the cost of a record that covers all its members; its reduced cost is that minus
the prices of its members. A group is grown by whoever lowers the reduced cost most, of those whose value
still fits: it ends with m values, q people of each.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.cell_costs import cell_cost
from kohort.kernels.compiled import kernel, lean

__all__ = ["grow_columns", "part_people"]


@kernel
def grow_columns(costs, leaves, value_of, price, seeds, shape):
    """Per seed a group of low reduced cost with it, its first member; all -1 where there is none.

    leaves    people by attributes
    value_of  the value of each person, numbers from 0 on without gaps
    shape     the number of values m of a group, and how many people q of each
    """
    m, q = shape
    n_values = value_of.max() + 1
    free, must = np.ones(len(value_of), np.bool_), np.zeros(n_values, np.bool_)
    short, gain = np.empty((n_values, 2 * q), np.int64), np.empty((n_values, 2 * q))
    found = np.full((len(seeds), m * q), -1)
    for number in range(len(seeds)):
        _shortlist(costs, leaves, value_of, price, free, seeds[number], m * q, short, gain)
        _grow(costs, leaves, value_of, price, seeds[number], q, must, short, found[number])
    return found


@kernel
def part_people(costs, leaves, value_of, price, columns, shape):
    """Disjoint groups: columns in their order, as long as they fit, or others grown from their first member.

    A value that so many of the people left have that all of their groups need it is in every next group, so
    that few people stay without one.

    columns  groups in the order in which they are taken; a row may name its first member alone
    """
    m, q = shape
    n_values = value_of.max() + 1
    free, must = np.ones(len(value_of), np.bool_), np.zeros(n_values, np.bool_)
    short, gain = np.empty((n_values, 2 * q), np.int64), np.empty((n_values, 2 * q))
    left = np.zeros(n_values, np.int64)
    for value in value_of:
        left[value] += 1
    found, n_found, before = np.full((len(value_of) // (m * q) + 1, m * q), -1), 0, -1
    while n_found > before:
        before = n_found
        for column in columns:
            seed = column[0]
            if not free[seed] or left[value_of[seed]] < q:
                continue
            n_must = _needed(left, m, q, must)
            if n_must == m and not must[value_of[seed]]:
                continue
            group = found[n_found]
            if _fits(column, free, value_of, must, n_must):
                group[:] = column
            else:
                _shortlist(costs, leaves, value_of, price, free, seed, m * q, short, gain)
                if not _grow(costs, leaves, value_of, price, seed, q, must, short, group):
                    continue
            for person in group:
                free[person] = False
                left[value_of[person]] -= 1
            n_found += 1
    return found[:n_found]


@lean
def _needed(left, m, q, must):
    """Mark the values that have to be in the next group, and count them; at most m, the most frequent."""
    units = 0
    for value in range(len(left)):
        units += left[value] // q
    n_must = 0
    for value in range(len(left)):
        must[value] = left[value] // q > 0 and (left[value] // q) * m > units - m
        n_must += must[value]
    while n_must > m:  # more than groups can take: whoever is rarest waits
        rarest = -1
        for value in range(len(left)):
            if must[value] and (rarest < 0 or left[value] < left[rarest]):
                rarest = value
        must[rarest] = False
        n_must -= 1
    return n_must


@lean
def _fits(column, free, value_of, must, n_must):
    """Whether all members of a column are free, and all values in it that have to be."""
    if column[-1] < 0:
        return False
    there = 0
    for place in range(len(column)):
        if not free[column[place]]:
            return False
        value, first = value_of[column[place]], True
        for earlier in range(place):
            first &= value_of[column[earlier]] != value
        there += first and must[value]
    return there == n_must


@lean
def _shortlist(costs, leaves, value_of, price, free, seed, size, short, gain):
    """Fill in the best people of each value beside the seed, best first; -1 where there are fewer."""
    width = short.shape[1]
    short[:], gain[:] = -1, -np.inf
    for person in range(len(value_of)):
        value = value_of[person]
        if not free[person] or person == seed:
            continue
        own, least = price[person], gain[value, width - 1]
        for a in range(leaves.shape[1]):
            lo, hi = min(leaves[seed, a], leaves[person, a]), max(leaves[seed, a], leaves[person, a])
            own -= size * cell_cost(costs, a, lo, hi, hi - lo + 1)
            if own <= least:
                break
        if own <= least:
            continue
        place = width - 1
        while place > 0 and gain[value, place - 1] < own:
            gain[value, place], short[value, place] = gain[value, place - 1], short[value, place - 1]
            place -= 1
        gain[value, place], short[value, place] = own, person


@kernel
def _grow(costs, leaves, value_of, price, seed, q, must, short, group):
    """Fill in a group around a seed from a short list; False, and all -1, where it cannot be completed."""
    n_values, size = len(short), len(group)
    m = size // q
    lo, hi = leaves[seed].copy(), leaves[seed].copy()
    count, enough, owed = np.zeros(n_values, np.int64), np.zeros(n_values, np.bool_), 0
    for value in range(n_values):
        there = value_of[seed] == value
        for person in short[value]:
            there += person >= 0
        enough[value] = there >= q
        owed += must[value] and value != value_of[seed]
    count[value_of[seed]], n_in = 1, 1
    group[:], group[0] = -1, seed
    for place in range(1, size):
        best, best_value, best_at = -np.inf, -1, -1
        for value in range(n_values):
            new = count[value] == 0
            if count[value] == q or not enough[value]:
                continue
            if new and (n_in == m or (not must[value] and m - n_in <= owed)):
                continue
            for at in range(short.shape[1]):
                if short[value, at] >= 0:
                    own = _gain(costs, leaves, price, short[value, at], lo, hi, size, best)
                    if own > best:
                        best, best_value, best_at = own, value, at
        if best_value < 0:
            group[:] = -1
            return False
        person = short[best_value, best_at]
        short[best_value, best_at] = -1
        if count[best_value] == 0:
            n_in += 1
            owed -= must[best_value]
        count[best_value] += 1
        group[place] = person
        for a in range(leaves.shape[1]):
            lo[a], hi[a] = min(lo[a], leaves[person, a]), max(hi[a], leaves[person, a])
    return True


@lean
def _gain(costs, leaves, price, person, lo, hi, size, enough):
    """The price of a person minus what the group costs with them; less than `enough` is not computed."""
    own = price[person]
    for a in range(leaves.shape[1]):
        first, last = min(lo[a], leaves[person, a]), max(hi[a], leaves[person, a])
        own -= size * cell_cost(costs, a, first, last, last - first + 1)
        if own <= enough:
            break
    return own

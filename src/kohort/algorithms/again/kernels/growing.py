"""Groups with as many people of each of m values, grown around seeds where prices make them cheap.

A group costs its size times the cost of a record that covers all its members; its reduced cost is that minus
the prices of its members. A group is grown by whoever lowers the reduced cost most, of those whose value
still fits: it ends with m values, q people of each.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel, lean


@kernel
def grow_columns(costs, leaves, value_of, price, seeds, shape, family):
    """Per seed a group of low reduced cost with it, its first member; all -1 where there is none.

    leaves    people by attributes
    value_of  the value of each person, numbers from 0 on without gaps
    shape     the number of values m of a group, and how many people q of each
    family    the signatures that a group may have, by values; without any, all may be
    """
    m, q = shape
    n_values = value_of.max() + 1
    free, scarce = np.ones(len(value_of), np.bool_), np.zeros(n_values, np.bool_)
    short, gain = np.empty((n_values, 2 * q), np.int64), np.empty((n_values, 2 * q))
    found = np.full((len(seeds), m * q), -1)
    for number in range(len(seeds)):
        _shortlist(costs, leaves, value_of, price, free, seeds[number], m * q, short, gain)
        _grow(costs, leaves, value_of, price, seeds[number], q, scarce, m, family, short, found[number])
    return found


@kernel
def part_people(costs, leaves, value_of, price, columns, shape, family):
    """Disjoint groups: columns in their order, as long as they fit, or others grown from their first member.

    A group takes no more of the scarce values than leaves as many groups as there can be: few people stay
    without one.

    columns  groups in the order in which they are taken; a row may name its first member alone
    """
    m, q = shape
    n_values = value_of.max() + 1
    free, scarce = np.ones(len(value_of), np.bool_), np.zeros(n_values, np.bool_)
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
            room = _room(left, m, q, scarce)
            if not room and scarce[value_of[seed]]:
                continue
            group = found[n_found]
            if _fits(column, free, value_of, scarce, room):
                group[:] = column
            else:
                _shortlist(costs, leaves, value_of, price, free, seed, m * q, short, gain)
                if not _grow(costs, leaves, value_of, price, seed, q, scarce, room, family, short, group):
                    continue
            for person in group:
                free[person] = False
                left[value_of[person]] -= 1
            n_found += 1
    return found[:n_found]


@lean
def _room(left, m, q, scarce):
    """Mark the scarce values, and return how many of them the next group may have.

    Of units of q people, there can be as many groups as the most G with sum(min(units, G)) >= m G. A next
    group that leaves G - 1 may have any values with G units or more, and of the others, the scarce ones, as
    many as sum(min(units, G - 1)) exceeds m (G - 1).
    """
    least, most = 0, 0
    for value in range(len(left)):
        most += left[value] // q
    while least < most:
        groups, units = (least + most + 1) // 2, 0
        for value in range(len(left)):
            units += min(left[value] // q, groups)
        if units >= m * groups:
            least = groups
        else:
            most = groups - 1
    room = -m * (least - 1)
    for value in range(len(left)):
        scarce[value] = left[value] // q < least
        room += min(left[value] // q, least - 1)
    return room


@lean
def _fits(column, free, value_of, scarce, room):
    """Whether all members of a column are free, and no more scarce values in it than there is room for."""
    if column[-1] < 0:
        return False
    n_scarce = 0
    for place in range(len(column)):
        if not free[column[place]]:
            return False
        value, first = value_of[column[place]], True
        for earlier in range(place):
            first &= value_of[column[earlier]] != value
        n_scarce += first and scarce[value]
    return n_scarce <= room


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
def _grow(costs, leaves, value_of, price, seed, q, scarce, room, family, short, group):
    """Fill in a group around a seed from a short list; False, and all -1, where it cannot be completed."""
    fitting = np.ones(len(family), np.bool_)
    n_values, size = len(short), len(group)
    m = size // q
    lo, hi = leaves[seed].copy(), leaves[seed].copy()
    count, enough = np.zeros(n_values, np.int64), np.zeros(n_values, np.bool_)
    for value in range(n_values):
        there = int(value_of[seed] == value)
        for person in short[value]:
            there += person >= 0
        enough[value] = there >= q
    count[value_of[seed]], n_in = 1, 1
    fitting &= family[:, value_of[seed]]
    n_scarce = 1 if scarce[value_of[seed]] else 0
    group[:], group[0] = -1, seed
    for place in range(1, size):
        best, best_value, best_at = -np.inf, -1, -1
        for value in range(n_values):
            new = count[value] == 0
            if count[value] == q or not enough[value]:
                continue
            if new and (n_in == m or (scarce[value] and n_scarce >= room)):
                continue
            if new and len(family) and not _any_with(family, fitting, value):
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
            fitting &= family[:, best_value]
            n_scarce += scarce[best_value]
        count[best_value] += 1
        group[place] = person
        for a in range(leaves.shape[1]):
            lo[a], hi[a] = min(lo[a], leaves[person, a]), max(hi[a], leaves[person, a])
    return True


@lean
def _any_with(family, fitting, value):
    """Whether a signature that still fits has a value."""
    found = False
    for number in range(len(family)):
        found |= fitting[number] and family[number, value]
    return found


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

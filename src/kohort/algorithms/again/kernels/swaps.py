"""People of the same kind who change groups, two at a time, where that lowers the cost."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.cell_costs import cell_cost
from kohort.kernels.compiled import kernel, lean

__all__ = ["swap_alike"]


@kernel
def swap_alike(costs, leaves, members, kind_of, trials, seed):
    """The members of the groups after swaps; how many of each kind a group has stays the same.

    leaves   records by attributes
    members  groups by places: records, -1 where a group has fewer
    kind_of  the kind of each record
    trials   how many pairs are tried, drawn by the seed
    """
    members = members.copy()
    n_groups, width = members.shape
    price = np.empty(n_groups)
    for group in range(n_groups):
        price[group] = _price(costs, leaves, members[group], -1, -1)
    state = np.uint64(2 * seed + 1) * np.uint64(0x9E3779B97F4A7C15)
    for _ in range(trials if n_groups > 1 else 0):
        state = _next(state)
        one, a = np.int64(state >> np.uint64(33)) % n_groups, np.int64(state >> np.uint64(3)) % width
        state = _next(state)
        other, b = np.int64(state >> np.uint64(33)) % n_groups, np.int64(state >> np.uint64(3)) % width
        left, right = members[one, a], members[other, b]
        if one == other or left < 0 or right < 0 or kind_of[left] != kind_of[right]:
            continue
        before = price[one] + price[other]
        first = _price(costs, leaves, members[one], a, right)
        if first >= before:
            continue
        second = _price(costs, leaves, members[other], b, left)
        if first + second < before - 1e-12:
            members[one, a], members[other, b] = right, left
            price[one], price[other] = first, second
    return members


@lean
def _next(state):
    """The next number of a xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@lean
def _price(costs, leaves, group, place, instead):
    """The cost of all records of a group, with another record at one place; -1: as it is."""
    total, size = 0.0, 0
    for number in range(len(group)):
        size += group[number] >= 0
    for a in range(leaves.shape[1]):
        lo, hi = 2**31 - 1, -1
        for number in range(len(group)):
            record = instead if number == place else group[number]
            if record >= 0:
                lo, hi = min(lo, leaves[record, a]), max(hi, leaves[record, a])
        total += cell_cost(costs, a, lo, hi, hi - lo + 1)
    return total * size

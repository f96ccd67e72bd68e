"""People of the same kind who change groups, two at a time, where that lowers the cost."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel, lean


@kernel
def swap_alike(costs, leaves, members, kind_of, bound, home, trials, seed):
    """The members of the groups after swaps; how many of each kind a group has stays the same.

    leaves   records by attributes
    members  groups by places: records, and -1 after the last one
    kind_of  the kind of each record: two of the same kind may swap; -1: it stays where it is
    bound    whether each record has to stay in groups of the same home
    home     the home of each group
    trials   how many pairs are tried, drawn by the seed
    """
    members = members.copy()
    n_groups, width = members.shape
    people, start = _by_kind(members, kind_of)
    place_of, price = np.full(len(kind_of), -1), np.empty(n_groups)
    size = (members >= 0).sum(axis=1)
    for group in range(n_groups):
        price[group] = _price(costs, leaves, members[group, : size[group]], -1, -1)
        for place in range(size[group]):
            place_of[members[group, place]] = group * width + place
    state = np.uint64(2 * seed + 1) * np.uint64(0x9E3779B97F4A7C15)
    for _ in range(trials if n_groups > 1 and len(people) else 0):
        state = _next(state)
        left = people[np.int64(state >> np.uint64(16)) % len(people)]
        first, last = start[kind_of[left]], start[kind_of[left] + 1]
        state = _next(state)
        right = people[first + np.int64(state >> np.uint64(16)) % (last - first)]
        one, a = place_of[left] // width, place_of[left] % width
        other, b = place_of[right] // width, place_of[right] % width
        if one == other or (home[one] != home[other] and (bound[left] or bound[right])):
            continue
        before = price[one] + price[other]
        after = _price(costs, leaves, members[one, : size[one]], a, right)
        if after >= before:
            continue
        second = _price(costs, leaves, members[other, : size[other]], b, left)
        if after + second < before - 1e-12:
            members[one, a], members[other, b] = right, left
            place_of[left], place_of[right] = place_of[right], place_of[left]
            price[one], price[other] = after, second
    return members


@kernel
def _by_kind(members, kind_of):
    """The records of all groups that may swap, by kind, and the first of each kind and one more."""
    n_kinds = 0
    for kind in kind_of:
        n_kinds = max(n_kinds, kind + 1)
    start = np.zeros(n_kinds + 1, np.int64)
    for record in members.ravel():
        if record >= 0 and kind_of[record] >= 0:
            start[kind_of[record] + 1] += 1
    for kind in range(n_kinds):
        start[kind + 1] += start[kind]
    people, filled = np.empty(start[n_kinds], np.int64), start.copy()
    for record in members.ravel():
        if record >= 0 and kind_of[record] >= 0:
            people[filled[kind_of[record]]] = record
            filled[kind_of[record]] += 1
    return people, start


@lean
def _next(state):
    """The next number of a xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@lean
def _price(costs, leaves, group, place, instead):
    """The cost of all records of a group, with another record at one place; -1: as it is."""
    total = 0.0
    for a in range(leaves.shape[1]):
        lo, hi = 2**31 - 1, -1
        for number in range(len(group)):
            leaf = leaves[instead if number == place else group[number], a]
            lo, hi = min(lo, leaf), max(hi, leaf)
        total += cell_cost(costs, a, lo, hi, hi - lo + 1)
    return total * len(group)

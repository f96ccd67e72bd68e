"""The cheapest partition of parts into allowed sets, and what it costs to have one set or pair among them."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["best_sets"]


@njit(cache=True, nogil=True)
def best_sets(sets, costs, n_parts):
    """The cheapest partition of all parts, and what deciding on a block or a pair of parts costs.

    `sets` are the blocks that are allowed, as bits. `block[s]` is the block with the first part of the set s, for
    the sets on the way. `with_block` is the least cost with each allowed block; `together[a, b]` and
    `apart[a, b]`, a < b, are those with a and b in one block or not. O(3^parts), O(2^parts * blocks) where that is
    less: blocks are taken in the order of their first parts, so only what can be left over counts.
    """
    full = (1 << n_parts) - 1
    cost_of, by_first, start = _sorted_by_first(sets, costs, n_parts)
    before = np.full(full + 1, np.inf)  # the least cost of all but a set, where that comes first
    before[full] = 0.0
    for left in range(full, 0, -1):
        if before[left] < np.inf:
            _take(left, by_first, start, cost_of, before)
    best = np.full(full + 1, np.inf)
    best[0] = 0.0
    block = np.zeros(full + 1, np.int64)
    with_set = np.full(full + 1, np.inf)
    for left in range(1, full + 1):
        if before[left] < np.inf:
            _give(left, by_first, start, cost_of, before[left], best, block, with_set)
    together = np.full((n_parts, n_parts), np.inf)
    apart = np.full((n_parts, n_parts), np.inf)
    for chosen in sets:
        cost = with_set[chosen]
        if cost < np.inf:
            for a in range(n_parts):
                for b in range(a + 1, n_parts):
                    table = together if (chosen >> a) & (chosen >> b) & 1 else apart
                    if ((chosen >> a) | (chosen >> b)) & 1:
                        table[a, b] = min(table[a, b], cost)
    return best[full], block, with_set[sets], together, apart


@njit(cache=True, nogil=True)
def _sorted_by_first(sets, costs, n_parts):
    """The cost of every set, infinite where it is not allowed; the allowed ones by their first part."""
    cost_of = np.full(1 << n_parts, np.inf)
    start = np.zeros(n_parts + 1, np.int64)
    for place in range(len(sets)):
        cost_of[sets[place]] = costs[place]
        start[_first_part(sets[place]) + 1] += 1
    for part in range(n_parts):
        start[part + 1] += start[part]
    by_first = np.empty(len(sets), np.int64)
    fill = start.copy()
    for chosen in sets:
        by_first[fill[_first_part(chosen)]] = chosen
        fill[_first_part(chosen)] += 1
    return cost_of, by_first, start


@njit(cache=True, nogil=True)
def _first_part(chosen):
    part = 0
    while not (chosen >> part) & 1:
        part += 1
    return part


@njit(cache=True, nogil=True)
def _fewer_are_allowed(left, allowed):
    """Than the set has subsets with its first part."""
    n_parts = 0
    while left:
        n_parts += 1
        left &= left - 1
    return allowed <= 1 << (n_parts - 1)


@njit(cache=True, nogil=True)
def _take(left, by_first, start, cost_of, before):
    """Take a block with the first part away from what is left."""
    part = _first_part(left)
    if _fewer_are_allowed(left, start[part + 1] - start[part]):
        for place in range(start[part], start[part + 1]):
            chosen = by_first[place]
            if chosen & left == chosen:
                before[left ^ chosen] = min(before[left ^ chosen], before[left] + cost_of[chosen])
        return
    others = left ^ (1 << part)
    rest = others  # that stays
    while rest >= 0:
        before[rest] = min(before[rest], before[left] + cost_of[left ^ rest])
        rest = (rest - 1) & others if rest else -1


@njit(cache=True, nogil=True)
def _give(left, by_first, start, cost_of, before, best, block, with_set):
    """The best block with the first part of what is left, and what everything costs with each."""
    part = _first_part(left)
    if _fewer_are_allowed(left, start[part + 1] - start[part]):
        for place in range(start[part], start[part + 1]):
            chosen = by_first[place]
            if chosen & left == chosen:
                cost = cost_of[chosen] + best[left ^ chosen]
                with_set[chosen] = min(with_set[chosen], before + cost)
                if cost < best[left]:
                    best[left], block[left] = cost, chosen
        return
    others = left ^ (1 << part)
    rest = others
    while rest >= 0:
        chosen = left ^ rest
        cost = cost_of[chosen] + best[rest]
        with_set[chosen] = min(with_set[chosen], before + cost)
        if cost < best[left]:
            best[left], block[left] = cost, chosen
        rest = (rest - 1) & others if rest else -1

"""The cost of making parts of one attribute a block, for all blocks at once, and the best way to do it."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["best_runs", "run_costs", "set_costs"]


@njit(cache=True, nogil=True)
def _cell_cost(size, widest, rest, own, price, claimed, k, withheld_cost, discernible):
    """A bound on the cost of a class; `claimed` are the prices of its cells, should it be withheld."""
    if size == 0:
        return 0.0
    if size >= k:
        return float(size) * size if discernible else rest + own * price
    if widest < k:
        return withheld_cost * size
    published = float(k) * size if discernible else rest + own * price
    return min(withheld_cost * size, published + claimed)


@njit(cache=True, nogil=True)
def run_costs(
    order, start, part_of, cells, outer_of, outer_before, last, price, k, withheld_cost, discernible
):
    """Per run of parts what its records cost at least: from the part a to the part b, at [a, b].

    `cells` are sizes, rest (cost of the other attributes), own and claimed, one row each. Groups of cells are
    alike in the other attributes as far as these are decided; `outer_before[o, p]` counts the records before
    part p in the widest such group o. No run goes beyond `last[p]`. `price[a, b]` is that of a run.

    A class changes only where a run takes in another of its cells. So each is added to a rectangle of runs,
    by its corners. O(pairs of cells in a group + parts^2).
    """
    n_parts = len(last)
    fixed = np.zeros((n_parts + 1, n_parts + 1))
    sloped = np.zeros((n_parts + 1, n_parts + 1))
    refused = np.zeros((n_parts + 1, n_parts + 1))  # classes that may not be withheld and cannot be published
    for group in range(len(start) - 1):
        outer = outer_before[outer_of[group]]
        for one in range(start[group], start[group + 1]):
            first = part_of[order[one]]
            low = 0
            if one > start[group]:
                low = part_of[order[one - 1]] + 1
            while last[low] < first:
                low += 1
            size, rest, own, claimed = 0.0, 0.0, 0.0, 0.0
            for two in range(one, start[group + 1]):
                second = part_of[order[two]]
                if second > last[first]:
                    break
                high = last[first]
                if two + 1 < start[group + 1]:
                    high = min(high, part_of[order[two + 1]] - 1)
                cell = order[two]
                size += cells[0, cell]
                rest += cells[1, cell]
                own += cells[2, cell]
                claimed += cells[3, cell]
                if size >= k and not discernible:
                    _add(fixed, low, first, second, high, rest)
                    _add(sloped, low, first, second, high, own)
                else:
                    widest = outer[high + 1] - outer[low]
                    cost = _cell_cost(
                        size, widest, rest, own, price[first, second], claimed, k, withheld_cost, discernible
                    )
                    if cost < np.inf:
                        _add(fixed, low, first, second, high, cost)
                    else:
                        _add(refused, low, first, second, high, 1.0)
    costs = np.full((n_parts, n_parts), np.inf)
    _sum_up(fixed)
    _sum_up(sloped)
    _sum_up(refused)
    for a in range(n_parts):
        for b in range(a, last[a] + 1):
            if refused[a, b] < 0.5:
                costs[a, b] = fixed[a, b] + sloped[a, b] * price[a, b]
    return costs


@njit(cache=True, nogil=True)
def _add(table, low, first, second, high, value):
    """To the runs that begin from low to first and end from second to high."""
    table[low, second] += value
    table[first + 1, second] -= value
    table[low, high + 1] -= value
    table[first + 1, high + 1] += value


@njit(cache=True, nogil=True)
def _sum_up(table):
    for a in range(len(table)):
        for b in range(len(table)):
            if a:
                table[a, b] += table[a - 1, b]
            if b:
                table[a, b] += table[a, b - 1]
            if a and b:
                table[a, b] -= table[a - 1, b - 1]


@njit(cache=True, nogil=True)
def best_runs(costs):
    """The cheapest way to part a line into runs: the runs' last parts, and what deciding on a border costs.

    `costs[a, b]` is infinite where a run is not allowed. `cut[p]` and `merged[p]` are the least costs with a
    border between the parts p and p + 1, and without. O(parts^2), O(parts^3) for `merged`.
    """
    n = len(costs)
    before = np.full(n + 1, np.inf)  # the least cost of the parts before one
    after = np.full(n + 1, np.inf)
    before[0], after[n] = 0.0, 0.0
    begins = np.zeros(n + 1, np.int64)
    for b in range(n):
        for a in range(b + 1):
            cost = before[a] + costs[a, b]
            if cost < before[b + 1]:
                before[b + 1], begins[b + 1] = cost, a
    for a in range(n - 1, -1, -1):
        for b in range(a, n):
            after[a] = min(after[a], costs[a, b] + after[b + 1])
    cut = np.full(max(n - 1, 0), np.inf)
    merged = np.full(max(n - 1, 0), np.inf)
    for p in range(n - 1):
        cut[p] = before[p + 1] + after[p + 1]
    for a in range(n):
        for b in range(a + 1, n):
            cost = before[a] + costs[a, b] + after[b + 1]
            for p in range(a, b):
                merged[p] = min(merged[p], cost)
    block_of = np.zeros(n, np.int64)
    end = n
    while end > 0 and before[n] < np.inf:
        block_of[begins[end] : end] = begins[end]
        end = begins[end]
    return before[n], block_of, cut, merged


@njit(cache=True, nogil=True)
def set_costs(order, start, part_of, cells, outer_of, outer_sizes, price, k, withheld_cost, discernible):
    """Per set of parts, as bits, what its records cost at least as one block. See `run_costs`.

    `outer_sizes[o, p]` counts the records of part p in the widest group o; cells with part -1 are left out.
    O(groups * 2^parts).
    """
    n_parts = outer_sizes.shape[1]
    n_sets = 1 << n_parts
    costs = np.zeros(n_sets)
    sums = np.zeros((5, n_sets))
    here = np.zeros((5, n_parts))
    for group in range(len(start) - 1):
        here[:] = 0.0
        seen = False
        for place in range(start[group], start[group + 1]):
            cell = order[place]
            part = part_of[cell]
            if part >= 0:
                seen = True
                for row in range(4):
                    here[row, part] += cells[row, cell]
        if not seen:
            continue
        here[4] = outer_sizes[outer_of[group]]
        low = 0
        for chosen in range(1, n_sets):
            low = 0
            while not (chosen >> low) & 1:
                low += 1
            rest = chosen & (chosen - 1)
            for row in range(5):
                sums[row, chosen] = sums[row, rest] + here[row, low]
            costs[chosen] += _cell_cost(
                sums[0, chosen],
                sums[4, chosen],
                sums[1, chosen],
                sums[2, chosen],
                price[chosen],
                sums[3, chosen],
                k,
                withheld_cost,
                discernible,
            )
    return costs


@njit(cache=True, nogil=True)
def best_sets(costs, n_parts, only_all):
    """The cheapest partition of every set of parts, and what deciding on a pair of parts costs.

    `costs` of blocks by their bits, infinite where one is not allowed; `only_all`: parts stay alone or are
    all in one block. `best[s]` is the least cost of the set s and `block[s]` the block with its first part;
    `together[a, b]` and `apart[a, b]` are the least costs of all parts with a and b in one block or not, and
    `alone[a]` what the other parts cost at least where a is a block by itself. O(3^parts).
    """
    n_sets = 1 << n_parts
    full = n_sets - 1
    best = np.full(n_sets, np.inf)
    block = np.zeros(n_sets, np.int64)
    best[0] = 0.0
    for chosen in range(1, n_sets):
        low = chosen & -chosen
        others = chosen ^ low
        some = others
        while True:
            candidate = low | some
            if some == 0 or not only_all or candidate == full:
                cost = costs[candidate] + best[chosen ^ candidate]
                if cost < best[chosen]:
                    best[chosen], block[chosen] = cost, candidate
            if some == 0:
                break
            some = (some - 1) & others
    together = np.full((n_parts, n_parts), np.inf)
    apart = np.full((n_parts, n_parts), np.inf)
    for chosen in range(1, n_sets):
        if only_all and chosen != full and chosen & (chosen - 1):
            continue
        cost = costs[chosen] + best[full ^ chosen]
        if cost == np.inf:
            continue
        for a in range(n_parts):
            if (chosen >> a) & 1:
                for b in range(n_parts):
                    if (chosen >> b) & 1:
                        together[a, b] = min(together[a, b], cost)
                    else:
                        apart[a, b] = min(apart[a, b], cost)
                        apart[b, a] = apart[a, b]
    alone = np.empty(n_parts)
    for a in range(n_parts):
        alone[a] = best[full ^ (1 << a)]
    return best, block, together, apart, alone

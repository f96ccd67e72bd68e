"""The cheapest partition of parts into allowed sets, and the least cost with a given set or pair in it."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def best_sets(sets, costs, n_parts, limit):
    """The cheapest partition of all parts, and the least cost with each block or pair of parts decided.

    `sets` are the allowed blocks, as bits. Returns the least cost; `block[s]`, the best block with the first
    part of the remaining set s; `with_block`, the least cost with each allowed block; and `together[a, b]`
    and `apart[a, b]`, a < b, the least costs with a and b in one block or not. Costs not below the limit
    become infinite.

    Costs are reduced by potentials, so that all reduced costs are 0 or more. Blocks are taken in the order of
    their first parts, as long as there is room below the limit. O(3^parts), O(2^parts * blocks) if less.
    """
    full = (1 << n_parts) - 1
    potential = potentials(sets, costs, n_parts)
    paid = potential.sum()
    reduced = np.empty(len(sets))
    for place in range(len(sets)):
        reduced[place] = max(costs[place] - _sum_of(sets[place], potential), 0.0)
    room = limit - paid
    useful = reduced < room
    cost_of, by_first, start = _sorted_by_first(sets[useful], reduced[useful], n_parts)
    before = np.full(full + 1, np.inf)  # per set that is left: the least cost of the blocks taken before it
    before[full] = 0.0
    for left in range(full, 0, -1):
        if before[left] < room:
            _take(left, by_first, start, cost_of, before)
    best = np.full(full + 1, np.inf)
    best[0] = 0.0
    block = np.zeros(full + 1, np.int64)
    with_set = np.full(full + 1, np.inf)
    for left in range(1, full + 1):
        if before[left] < room:
            _give(left, by_first, start, cost_of, before[left], best, block, with_set)
    with_block = np.full(len(sets), np.inf)
    together = np.full((n_parts, n_parts), np.inf)
    apart = np.full((n_parts, n_parts), np.inf)
    for place in range(len(sets)):
        chosen = sets[place]
        cost = with_set[chosen] + paid
        if cost < limit:
            with_block[place] = cost
            for a in range(n_parts):
                for b in range(a + 1, n_parts):
                    table = together if (chosen >> a) & (chosen >> b) & 1 else apart
                    if ((chosen >> a) | (chosen >> b)) & 1:
                        table[a, b] = min(table[a, b], cost)
    least = best[full] + paid
    return least if least < limit else np.inf, block, with_block, together, apart


@kernel
def potentials(sets, costs, n_parts):
    """A potential for each part, such that the potentials of a block's parts sum to at most its cost.

    In proportion to the costs of parts as blocks of their own, then raised one by one. O(sets * parts).
    """
    weight = np.zeros(n_parts)
    for place in range(len(sets)):
        if sets[place] & (sets[place] - 1) == 0 and costs[place] < np.inf:
            weight[_first_part(sets[place])] = costs[place]
    share = np.full(n_parts, np.inf)
    for place in range(len(sets)):
        whole = _sum_of(sets[place], weight)
        if whole > 0.0:
            for part in range(n_parts):
                if (sets[place] >> part) & 1:
                    share[part] = min(share[part], costs[place] / whole)
    found = np.zeros(n_parts)
    for part in range(n_parts):
        if weight[part] > 0.0:
            found[part] = share[part] * weight[part]
    for part in range(n_parts):
        more = np.inf
        for place in range(len(sets)):
            if (sets[place] >> part) & 1:
                more = min(more, costs[place] - _sum_of(sets[place], found))
        if 0.0 < more < np.inf:
            found[part] += more
    return found


@kernel
def _sum_of(chosen, numbers):
    total = 0.0
    for part in range(len(numbers)):
        if (chosen >> part) & 1:
            total += numbers[part]
    return total


@kernel
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


@kernel
def _first_part(chosen):
    part = 0
    while not (chosen >> part) & 1:
        part += 1
    return part


@kernel
def _fewer_are_allowed(left, allowed):
    """Whether there are fewer allowed blocks than subsets of the set with its first part."""
    n_parts = 0
    while left:
        n_parts += 1
        left &= left - 1
    return allowed <= 1 << (n_parts - 1)


@kernel
def _take(left, by_first, start, cost_of, before):
    """Update `before` for every set that remains after a block with the first part of `left` is taken."""
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


@kernel
def _give(left, by_first, start, cost_of, before, best, block, with_set):
    """Find the best block with the first part of `left`, and the least total cost with each such block."""
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

"""Lower bounds on the costs of blocks of one attribute's parts, and the cheapest partition into blocks."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def _cell_cost(table, size, widest, rest, own, price):
    """A lower bound on the cost of a class of which `widest` records may become one."""
    if size == 0:
        return 0.0
    if size >= table.k:
        return float(size) * size if table.discernible else rest + own * price
    if widest < table.k:
        return table.withheld_cost * size
    published = float(table.k) * size if table.discernible else rest + own * price
    return min(table.withheld_cost * size, published)


@kernel
def run_costs(table, records_before, last, price):
    """A lower bound on the cost of the records of each run of parts: for the run from part a to b, at [a, b].

    `records_before[o, p]` counts the records before part p in the widest group o. No run from part p goes
    beyond `last[p]`. `price[a, b]` is the price of a run.

    A class changes only where a run takes in another of its cells. So the cost of each class is added to a
    rectangle of runs, by its corners. O(pairs of cells in a group + parts^2).
    """
    order, start, part_of, cells = table.order, table.start, table.part_of, table.cells
    n_parts = len(last)
    fixed = np.zeros((n_parts + 1, n_parts + 1))
    sloped = np.zeros((n_parts + 1, n_parts + 1))
    refused = np.zeros((n_parts + 1, n_parts + 1))  # classes that may not be withheld and cannot be published
    for group in range(len(start) - 1):
        outer = records_before[table.outer_of[group]]
        for one in range(start[group], start[group + 1]):
            first = part_of[order[one]]
            low = 0
            if one > start[group]:
                low = part_of[order[one - 1]] + 1
            while last[low] < first:
                low += 1
            size, rest, own = 0.0, 0.0, 0.0
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
                if size >= table.k and not table.discernible:
                    _add(fixed, low, first, second, high, rest)
                    _add(sloped, low, first, second, high, own)
                else:
                    widest = outer[high + 1] - outer[low]
                    cost = _cell_cost(table, size, widest, rest, own, price[first, second])
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


@kernel
def _add(table, low, first, second, high, value):
    """Add a value to all runs that begin at low..first and end at second..high."""
    table[low, second] += value
    table[first + 1, second] -= value
    table[low, high + 1] -= value
    table[first + 1, high + 1] += value


@kernel
def _sum_up(table):
    for a in range(len(table)):
        for b in range(len(table)):
            if a:
                table[a, b] += table[a - 1, b]
            if b:
                table[a, b] += table[a, b - 1]
            if a and b:
                table[a, b] -= table[a - 1, b - 1]


@kernel
def best_runs(costs):
    """The cheapest partition of a line of parts into runs, and the least costs with each border decided.

    `costs[a, b]` is infinite where a run is not allowed. `cut[p]` and `merged[p]` are the least costs with a
    border between the parts p and p + 1, and without. O(parts^2), O(parts^3) for `merged`.
    """
    n = len(costs)
    before = np.full(n + 1, np.inf)  # the least cost of all parts before each
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


@kernel
def set_costs(table, unit_of_part, n_units, sets, price):
    """A lower bound on the cost of each set of units, given as bits, as one block. See `run_costs`.

    A unit is some of the parts; those with unit -1 are left out. Sums over a set are those over its lower and
    its upper half. O(groups * (sets + 2^(units / 2))).
    """
    order, start, part_of, cells = table.order, table.start, table.part_of, table.cells
    outer_sizes = np.zeros((len(table.records), n_units))
    for part in range(len(unit_of_part)):
        if unit_of_part[part] >= 0:
            outer_sizes[:, unit_of_part[part]] += table.records[:, part]
    n_low = (n_units + 1) // 2
    low_bits = (1 << n_low) - 1
    costs = np.zeros(len(sets))
    here = np.zeros((n_units, 4))
    lower = np.zeros((1 << n_low, 4))
    upper = np.zeros((1 << (n_units - n_low), 4))
    for group in range(len(start) - 1):
        here[:] = 0.0
        seen = False
        for place in range(start[group], start[group + 1]):
            cell = order[place]
            unit = unit_of_part[part_of[cell]]
            if unit >= 0:
                seen = True
                for row in range(3):
                    here[unit, row] += cells[row, cell]
        if not seen:
            continue
        here[:, 3] = outer_sizes[table.outer_of[group]]
        _sum_over_sets(here[:n_low], lower)
        _sum_over_sets(here[n_low:], upper)
        for place in range(len(sets)):
            one, two = lower[sets[place] & low_bits], upper[sets[place] >> n_low]
            size, rest, own, widest = one[0] + two[0], one[1] + two[1], one[2] + two[2], one[3] + two[3]
            costs[place] += _cell_cost(table, size, widest, rest, own, price[place])
    return costs


@kernel
def _sum_over_sets(parts, sums):
    for chosen in range(1, len(sums)):
        low = 0
        while not (chosen >> low) & 1:
            low += 1
        rest = chosen & (chosen - 1)
        for row in range(sums.shape[1]):
            sums[chosen, row] = sums[rest, row] + parts[low, row]


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

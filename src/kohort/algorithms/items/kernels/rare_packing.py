"""Rare itemsets of a basket that share no item: each forces a generalization of its own."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.kernels.item_cuts import in_list
from kohort.algorithms.items.kernels.local_cuts import first_places, next_places
from kohort.kernels.compiled import kernel

_TESTS = 300  # itemsets of each size that are examined per basket


@kernel
def rare_packing(cuts, least, above, m, k, begin, end):
    """The sum, over baskets begin..end - 1, of what rare itemsets that share no item cost at least.

    least  per leaf what it costs by itself: 0 if k baskets have it
    above  per leaf the width of the node above it

    O(baskets * m * 300 intersections of lists that stop at k).
    """
    total = np.int64(0)
    for b in range(begin, end):
        items, n = np.empty(cuts.start[b + 1] - cuts.start[b], np.int64), 0
        for at in range(cuts.start[b], cuts.start[b + 1]):
            leaf = cuts.leaf[at]
            total += least[leaf]
            if least[leaf] == 0:
                items[n] = leaf
                n += 1
        for size in range(2, m + 1):
            added, n = _disjoint(cuts, items, n, size, above, k)
            total += added
    return total


@kernel
def _disjoint(cuts, items, n, size, above, k):
    """Take rare itemsets of one size out of items[:n]; return what they cost, and how many items are left."""
    places, cost = np.empty(size, np.int64), np.int64(0)
    if n < size:
        return cost, n
    first_places(places)
    for _ in range(_TESTS):
        if _is_rare(cuts, items, places, k):
            cheapest = above[items[places[0]]]
            for place in places:
                cheapest = min(cheapest, above[items[place]])
            cost += cheapest
            for i in range(size - 1, -1, -1):
                n -= 1
                items[places[i]] = items[n]
            if n < size:
                return cost, n
            first_places(places)
        elif not next_places(places, n):
            return cost, n
    return cost, n


@kernel
def _is_rare(cuts, items, places, k):
    """Whether fewer than k baskets have all items at these places."""
    rarest = items[places[0]]
    for place in places:
        item = items[place]
        if _n(cuts, item) < _n(cuts, rarest):
            rarest = item
    found = 0
    for at in range(cuts.tid_start[rarest], cuts.tid_start[rarest + 1]):
        everywhere = True
        for place in places:
            if items[place] != rarest and not in_list(cuts.tid_start, cuts.tid, items[place], cuts.tid[at]):
                everywhere = False
                break
        found += everywhere
        if found >= k:
            return False
    return True


@kernel
def _n(cuts, item):
    return cuts.tid_start[item + 1] - cuts.tid_start[item]

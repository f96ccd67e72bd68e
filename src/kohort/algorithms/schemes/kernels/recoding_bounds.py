"""Costs of classes when attributes are parted, and lower bounds while some choices are undecided.

A cell holds the records that are in the same finest part of every attribute. Where `own` is empty the cost is
discernibility: a record costs the size of its class. Otherwise a record costs, per attribute, its `own` times
the price of its part, minus its `offset`. Records in classes below k are withheld.
"""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel

__all__ = [
    "KEPT",
    "LOST",
    "OPEN",
    "class_costs",
    "grouped",
    "merge_costs_of_cells",
    "merge_costs_of_parts",
    "raise_prices",
    "sum_cells",
]

KEPT, OPEN, LOST = 0, 1, 2  # a cell is always, perhaps, or never in a class of k or more records


@kernel
def sum_cells(class_of, n_classes, counts, own, offset):
    """Sums of records, own coefficients and offsets over each class. O(rows * attributes)."""
    sizes = np.zeros(n_classes, np.int64)
    owns = np.zeros((n_classes, own.shape[1]))
    offsets = np.zeros(n_classes)
    for row in range(len(class_of)):
        cell = class_of[row]
        sizes[cell] += counts[row]
        offsets[cell] += offset[row]
        for j in range(own.shape[1]):
            owns[cell, j] += own[row, j]
    return sizes, owns, offsets


@kernel
def class_costs(sizes, penalties, widest, k, withheld_cost):
    """A lower bound on the cost of each cell, its state, and how many records are withheld in any case.

    sizes      records of each cell
    penalties  cost of each cell if it is published; empty for discernibility
    widest     records of the largest class that each cell can be in; if equal to `sizes`, the bound is exact
    """
    least = np.zeros(len(sizes))
    state = np.zeros(len(sizes), np.int8)
    lost = 0
    for cell in range(len(sizes)):
        size = sizes[cell]
        if widest[cell] < k:
            state[cell] = LOST
            least[cell] = withheld_cost * size
            lost += int(size)
            continue
        if size < k:
            state[cell] = OPEN
        least[cell] = penalties[cell] if len(penalties) else float(size) * max(size, k)
    return least, state, lost


@kernel
def grouped(group_of, part_of, n_groups, n_parts):
    """The order of cells sorted by group and within by part, and where each group starts. O(cells)."""
    n = len(group_of)
    by_part = np.empty(n, np.int64)
    place = np.zeros(n_parts + 1, np.int64)
    for cell in range(n):
        place[part_of[cell] + 1] += 1
    for part in range(n_parts):
        place[part + 1] += place[part]
    for cell in range(n):
        by_part[place[part_of[cell]]] = cell
        place[part_of[cell]] += 1
    start = np.zeros(n_groups + 1, np.int64)
    for cell in range(n):
        start[group_of[cell] + 1] += 1
    for group in range(n_groups):
        start[group + 1] += start[group]
    order = np.empty(n, np.int64)
    fill = start[:-1].copy()
    for place_of_cell in range(n):
        group = group_of[by_part[place_of_cell]]
        order[fill[group]] = by_part[place_of_cell]
        fill[group] += 1
    return order, start


@kernel
def merge_costs_of_cells(order, start, part_of, sizes, state, variable, k, costs):
    """Add to `costs`, by variable, what merging parts of one attribute adds to the discernibility of cells.

    `variable[a, b]` is merged if and only if the parts a < b are; -1: no variable. Each pair of cells counts
    once, so the sum over merged variables is a lower bound. A cell below k has been counted as k already; it
    adds cost only where a merge makes its class larger than that, and then it is published. O(pairs of cells
    in a group).
    """
    for group in range(len(start) - 1):
        for one in range(start[group], start[group + 1]):
            first = order[one]
            for two in range(one + 1, start[group + 1]):
                second = order[two]
                merged = variable[part_of[first], part_of[second]]
                if merged >= 0 and state[first] != LOST and state[second] != LOST:
                    together = float(sizes[first] + sizes[second])
                    costs[merged] += sizes[first] * max(together - max(sizes[first], k), 0.0)
                    costs[merged] += sizes[second] * max(together - max(sizes[second], k), 0.0)


@kernel
def merge_costs_of_parts(kept, measure, variable, costs):
    """Add to `costs`, by variable, what merging parts adds to a cost that is a sum over cells of a table.

    `kept` are the own coefficients of the published records of each part; merged with another part, each
    costs at least its `measure` more.
    """
    for a in range(len(kept)):
        for b in range(a + 1, len(kept)):
            merged = variable[a, b]
            if merged >= 0:
                costs[merged] += kept[a] * measure[b] + kept[b] * measure[a]


@kernel
def raise_prices(cells, room, event_start, events, own_costs, left, prices, rounds):
    """Raise the prices of cells that are withheld unless one of their events happens, by dual ascent.

    Cell cells[i] is withheld, which costs room[i] more than its bound, unless one of its events happens: a
    merge, which adds own_costs[e] to the cell itself, and `left`, as far as no cell has claimed it yet, to
    others. A price beyond the cell's own costs is claimed from all its events, so the sum of all prices is a
    lower bound on the cost. In each round the cells share the remainder evenly; in the last each takes as
    much as it can. Changes `prices` and `left`.
    """
    n = len(cells)
    for turn in range(rounds):
        wanting = np.zeros(len(left))
        for i in range(n):
            if prices[cells[i]] < room[i]:
                for e in range(event_start[i], event_start[i + 1]):
                    wanting[events[e]] += 1.0
        for i in range(n):
            price = prices[cells[i]]
            more = room[i] - price
            for e in range(event_start[i], event_start[i + 1]):
                share = 1.0 if turn == rounds - 1 else wanting[events[e]]
                free = max(own_costs[e] - price, 0.0)
                more = min(more, free + left[events[e]] / max(share, 1.0))
            if not more > 0.0:  # also true for NaN, where both are infinite
                continue
            prices[cells[i]] += more
            for e in range(event_start[i], event_start[i + 1]):
                claim = more - max(own_costs[e] - price, 0.0)
                left[events[e]] = max(left[events[e]] - max(claim, 0.0), 0.0)

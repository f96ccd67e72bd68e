"""Costs of classes when attributes are parted, and lower bounds while some choices are undecided.

A cell holds the records that are in the same finest part of every attribute. Where `own` is empty the cost is
discernibility: a record costs the size of its class. Otherwise a record costs, per attribute, its `own` times
the price of its part, minus its `offset`. Records in classes below k are withheld.
"""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel

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

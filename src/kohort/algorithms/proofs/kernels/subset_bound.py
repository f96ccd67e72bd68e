"""Lower bounds on the cost of a record in a group of k that agrees with it in some columns and no others."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import place_among, sorted_copy, stable_order
from kohort.problem.encoding.layout import SET, TREE


@kernel
def lower_least_costs(cells, rows, copies, k, order, start, equal, least):
    """Lower `least`, the least cost of each row, to the cost of a group that agrees in the columns `equal`.

    Rows order[start[c]:start[c + 1]] agree in these columns, and are at least k records. In any other column
    the group has a second value, and enough values for k records. O(rows * columns) but for wide columns.
    """
    total = np.empty(len(order))
    for c in range(len(start) - 1):
        rows_here = order[start[c] : start[c + 1]]
        cost = total[start[c] : start[c + 1]]
        cost[:] = 0.0
        for a in range(rows.shape[1]):
            if equal[a]:
                x = rows[rows_here[0], a]
                cost += cell_cost(cells, a, x, x, 1)
            else:
                _add_least_cells(cells, a, rows[rows_here, a], copies[rows_here], k, cost)
        for i in range(len(rows_here)):
            least[rows_here[i]] = min(least[rows_here[i]], cost[i])


@kernel
def _add_least_cells(cells, a, leaves, copies, k, cost):
    """Add the least cost of a cell of each row to `cost`; infinite if the column has no second value."""
    attribute = cells.attribute[a]
    present, n_of = _tally(leaves, copies)
    mixing = place_among(present, attribute.loners_from)
    cell = np.empty(len(present))
    for p in range(len(present)):
        if len(present) == 1:
            cell[p] = np.inf
        elif attribute.kind == TREE:
            cell[p] = _least_node(cells, a, present, n_of, k, p)
        elif p >= mixing or n_of[:mixing].sum() < k or mixing == 1:
            cell[p] = attribute.whole
        else:
            if attribute.kind == SET:
                steps = _fewest(n_of[:mixing], k, p)
            else:
                steps = _narrowest(present[:mixing], n_of[:mixing], k, p)
            cell[p] = min(attribute.line_base + attribute.line_slope * steps, attribute.whole)
    for i in range(len(leaves)):
        cost[i] += cell[place_among(present, leaves[i])]


@kernel
def _tally(leaves, copies):
    """The leaves that occur, in their order, and how many records have each."""
    order = stable_order(leaves)
    present, n_of, n = np.empty(len(leaves), np.int64), np.zeros(len(leaves), np.int64), 0
    for i in order:
        if n == 0 or present[n - 1] != leaves[i]:
            present[n] = leaves[i]
            n += 1
        n_of[n - 1] += copies[i]
    return present[:n], n_of[:n]


@kernel
def _fewest(n_of, k, p):
    """The least number of other values, one or more, that have k records together with value p."""
    others = sorted_copy(np.concatenate((n_of[:p], n_of[p + 1 :])))[::-1]
    records, taken = n_of[p] + others[0], 1
    while records < k:
        records += others[taken]
        taken += 1
    return taken


@kernel
def _narrowest(present, n_of, k, p):
    """The span of the narrowest interval that covers value p, another value, and k records."""
    narrowest, before = present[-1] - present[0], 0
    for first in range(p, -1, -1):
        before += n_of[first]
        last, records = p, before
        while last < len(present) - 1 and (records < k or last == first):
            if present[last + 1] - present[first] >= narrowest:
                break
            last += 1
            records += n_of[last]
        if records >= k and last > first:
            narrowest = min(narrowest, present[last] - present[first])
        if present[p] - present[first] >= narrowest:
            break
    return narrowest


@kernel
def _least_node(cells, a, present, n_of, k, p):
    """Cost of the lowest node that covers leaf p, another leaf, and k records."""
    cost = np.empty(len(present))
    for q in range(len(present)):
        cost[q] = cell_cost(cells, a, min(present[p], present[q]), max(present[p], present[q]), 2)
    cost[p] = np.inf
    records = n_of[p]
    for q in stable_order(cost):
        records += n_of[q]
        if records >= k:
            return cost[q]
    return np.inf

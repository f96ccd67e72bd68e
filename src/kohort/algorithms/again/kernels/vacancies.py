"""Vacant places filled by newcomers of the same kind, each by the one that widens the cell's labels least."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel, lean


@kernel
def fill_vacancies(costs, leaves, ranges, vacancies, pool, limit):
    """The record that each vacancy gets, or -1: cell after cell, all vacancies of a cell or none.

    leaves     records by attributes
    ranges     least and greatest leaf of each cell, [2, cells, attributes]; widened as places are filled
    vacancies  cell and kind of each vacancy, [2, vacancies]; those of a cell stand together, by kind
    pool       first of each kind's newcomers and one more, then the newcomers by kind
    limit      at most this many newcomers are compared for a vacancy
    """
    start, order = pool[0], pool[1].copy()
    left = start[1:] - start[:-1]
    cell_of, kind_of = vacancies[0], vacancies[1]
    found = np.full(len(cell_of), -1)
    first = 0
    while first < len(cell_of):
        last = first
        while last < len(cell_of) and cell_of[last] == cell_of[first]:
            last += 1
        if _enough(kind_of[first:last], left):
            for place in range(first, last):
                kind = kind_of[place]
                begin = start[kind]
                best = _nearest(
                    costs, leaves, ranges[:, cell_of[place]], order[begin : begin + left[kind]], limit
                )
                record = order[begin + best]
                found[place] = record
                left[kind] -= 1
                order[begin + best] = order[begin + left[kind]]
                for a in range(leaves.shape[1]):
                    ranges[0, cell_of[place], a] = min(ranges[0, cell_of[place], a], leaves[record, a])
                    ranges[1, cell_of[place], a] = max(ranges[1, cell_of[place], a], leaves[record, a])
        first = last
    return found


@lean
def _enough(kinds, left):
    """Whether there are newcomers for all these kinds, which stand in order."""
    needed = 0
    for number in range(len(kinds)):
        needed = needed + 1 if number and kinds[number] == kinds[number - 1] else 1
        if kinds[number] < 0 or needed > left[kinds[number]]:
            return False
    return True


@lean
def _nearest(costs, leaves, ranges, candidates, limit):
    """The place among the candidates of the one with which the cell costs least."""
    best, least = 0, np.inf
    for number in range(min(len(candidates), limit)):
        record, cost = candidates[number], 0.0
        for a in range(leaves.shape[1]):
            lo = min(ranges[0, a], leaves[record, a])
            hi = max(ranges[1, a], leaves[record, a])
            cost += cell_cost(costs, a, lo, hi, hi - lo + 1)
        if cost < least:
            best, least = number, cost
    return best

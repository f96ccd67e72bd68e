"""A few groups of records that are built anew together: gathered, moved, swapped, their values counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.generalization import SET, TREE, range_cost

__all__ = [
    "Cells",
    "Parts",
    "build",
    "cell_cost",
    "clear",
    "new_parts",
    "pair_costs",
    "parts_cost",
    "polish",
    "put",
]

_EPSILON = 1e-9
_PASSES = 4


class Cells(NamedTuple):
    """What a cell costs, per attribute; weights are in it."""

    kind: np.ndarray  # TREE, ORDERED or SET
    n_leaves: np.ndarray
    leaf_start: np.ndarray  # and one more
    loners_from: np.ndarray  # leaves from here on mix with nothing
    line: np.ndarray  # attributes by: cost of two values less a step, of a step, of everything
    pair_start: np.ndarray
    pair: np.ndarray  # of a hierarchy: leaves by leaves


class Parts(NamedTuple):
    """The groups of a pool: what each has, and costs."""

    lo: np.ndarray  # groups by attributes
    hi: np.ndarray
    width: np.ndarray  # different values
    cell: np.ndarray  # cost of a cell
    copies: np.ndarray  # groups by leaves of all attributes
    cost: np.ndarray  # per group: of one record
    size: np.ndarray


@njit(cache=True, nogil=True)
def pair_costs(tables, attribute, n):
    """The cost of the lowest node over any two leaves of a hierarchy with n leaves, row by row."""
    cost = np.zeros(n * n)
    for lo in range(n):
        for hi in range(lo, n):
            cost[lo * n + hi] = range_cost(tables, attribute, lo, hi)
    return cost


@njit(cache=True, nogil=True)
def new_parts(cells, n_groups):
    """Empty groups."""
    r = len(cells.kind)
    return Parts(
        np.zeros((n_groups, r), np.int64),
        np.zeros((n_groups, r), np.int64),
        np.zeros((n_groups, r), np.int64),
        np.zeros((n_groups, r)),
        np.zeros((n_groups, cells.leaf_start[r]), np.int64),
        np.zeros(n_groups),
        np.zeros(n_groups, np.int64),
    )


@njit(cache=True, nogil=True)
def cell_cost(cells, a, lo, hi, width):
    """Of a cell that stands for so many values from lo to hi."""
    if cells.kind[a] == TREE:
        return cells.pair[cells.pair_start[a] + lo * cells.n_leaves[a] + hi]
    if lo == hi:
        return 0.0
    if hi >= cells.loners_from[a]:
        return cells.line[a, 2]
    return cells.line[a, 0] + cells.line[a, 1] * (width - 1 if cells.kind[a] == SET else hi - lo)


@njit(cache=True, nogil=True)
def _joined(cells, parts, part, row):
    """What a record of a group costs once this row is in it."""
    total = 0.0
    for a in range(len(row)):
        x = row[a]
        if parts.copies[part, cells.leaf_start[a] + x] > 0:
            total += parts.cell[part, a]
        elif parts.size[part] == 0:
            total += cell_cost(cells, a, x, x, 1)
        else:
            lo, hi = min(parts.lo[part, a], x), max(parts.hi[part, a], x)
            total += cell_cost(cells, a, lo, hi, parts.width[part, a] + 1)
    return total


@njit(cache=True, nogil=True)
def _ends_without(cells, parts, part, a, x):
    """The least and the greatest leaf of a group once its only record with leaf x is gone."""
    lo, hi, start = parts.lo[part, a], parts.hi[part, a], cells.leaf_start[a]
    if lo == hi:
        return lo, hi
    if x == lo:
        lo += 1
        while parts.copies[part, start + lo] == 0:
            lo += 1
    elif x == hi:
        hi -= 1
        while parts.copies[part, start + hi] == 0:
            hi -= 1
    return lo, hi


@njit(cache=True, nogil=True)
def _without(cells, parts, part, row):
    """What a record of a group costs once this row has left it."""
    total = 0.0
    for a in range(len(row)):
        if parts.copies[part, cells.leaf_start[a] + row[a]] > 1:
            total += parts.cell[part, a]
        else:
            lo, hi = _ends_without(cells, parts, part, a, row[a])
            total += cell_cost(cells, a, lo, hi, parts.width[part, a] - 1)
    return total


@njit(cache=True, nogil=True)
def put(cells, parts, part, row, sign):
    """Add a row to a group, or take it out where the sign is -1."""
    total = 0.0
    for a in range(len(row)):
        x, place = row[a], cells.leaf_start[a] + row[a]
        if sign > 0 and parts.copies[part, place] == 0:
            if parts.size[part] == 0:
                parts.lo[part, a], parts.hi[part, a], parts.width[part, a] = x, x, 0
            parts.lo[part, a], parts.hi[part, a] = min(parts.lo[part, a], x), max(parts.hi[part, a], x)
            parts.width[part, a] += 1
        elif sign < 0 and parts.copies[part, place] == 1 and parts.size[part] > 1:
            parts.lo[part, a], parts.hi[part, a] = _ends_without(cells, parts, part, a, x)
            parts.width[part, a] -= 1
        parts.copies[part, place] += sign
        parts.cell[part, a] = cell_cost(cells, a, parts.lo[part, a], parts.hi[part, a], parts.width[part, a])
        total += parts.cell[part, a]
    parts.cost[part] = total
    parts.size[part] += sign


@njit(cache=True, nogil=True)
def clear(cells, parts, rows, part_of):
    """Take all rows out of their groups."""
    for i in range(len(rows)):
        if part_of[i] >= 0:
            for a in range(rows.shape[1]):
                parts.copies[part_of[i], cells.leaf_start[a] + rows[i, a]] = 0
            parts.size[part_of[i]] = 0
            part_of[i] = -1


@njit(cache=True, nogil=True)
def parts_cost(parts, n_parts):
    """Of all records together."""
    total = 0.0
    for part in range(n_parts):
        total += parts.size[part] * parts.cost[part]
    return total


@njit(cache=True, nogil=True)
def build(cells, parts, rows, part_of, k, n_parts):
    """Make groups of k rows, each around a seed far from the last one, and let the others join them."""
    seed = np.random.randint(len(rows))
    for part in range(n_parts):
        if part > 0:
            seed = _farthest(cells, rows, part_of, seed)
        _join(cells, parts, rows, part_of, seed, part)
        while parts.size[part] < k:
            best, least = -1, np.inf
            for i in range(len(rows)):
                if part_of[i] < 0:
                    cost = _joined(cells, parts, part, rows[i])
                    if cost < least:
                        best, least = i, cost
                        if cost <= parts.cost[part] + _EPSILON:
                            break
            _join(cells, parts, rows, part_of, best, part)
    for i in range(len(rows)):
        if part_of[i] < 0:
            best, least = 0, np.inf
            for part in range(n_parts):
                added = _added(cells, parts, part, rows[i])
                if added < least:
                    best, least = part, added
            _join(cells, parts, rows, part_of, i, best)


@njit(cache=True, nogil=True)
def _join(cells, parts, rows, part_of, i, part):
    put(cells, parts, part, rows[i], 1)
    part_of[i] = part


@njit(cache=True, nogil=True)
def _added(cells, parts, part, row):
    """What it adds to the cost of all records if a row joins a group."""
    size = parts.size[part]
    return (size + 1) * _joined(cells, parts, part, row) - size * parts.cost[part]


@njit(cache=True, nogil=True)
def _farthest(cells, rows, part_of, seed):
    """The row without a group that would cost most together with the seed."""
    best, most = -1, -1.0
    for i in range(len(rows)):
        if part_of[i] < 0:
            cost = 0.0
            for a in range(rows.shape[1]):
                x, y = rows[i, a], rows[seed, a]
                cost += cell_cost(cells, a, min(x, y), max(x, y), 1 + (x != y))
            if cost > most:
                best, most = i, cost
    return best


@njit(cache=True, nogil=True)
def polish(cells, parts, rows, part_of, k, n_parts):
    """Move single rows, or let two change places, while that costs less."""
    for _ in range(_PASSES):
        before = parts_cost(parts, n_parts)
        for i in range(len(rows)):
            part = part_of[i]
            left = _without(cells, parts, part, rows[i])
            if parts.size[part] > k:
                won = parts.size[part] * parts.cost[part] - (parts.size[part] - 1) * left
                _move(cells, parts, rows, part_of, i, won, n_parts)
            elif left < parts.cost[part] - _EPSILON:
                _swap(cells, parts, rows, part_of, i, n_parts)
        if parts_cost(parts, n_parts) > before - _EPSILON:
            return


@njit(cache=True, nogil=True)
def _move(cells, parts, rows, part_of, i, won, n_parts):
    best, least = -1, won - _EPSILON
    for part in range(n_parts):
        if part != part_of[i]:
            added = _added(cells, parts, part, rows[i])
            if added < least:
                best, least = part, added
    if best >= 0:
        put(cells, parts, part_of[i], rows[i], -1)
        _join(cells, parts, rows, part_of, i, best)


@njit(cache=True, nogil=True)
def _swap(cells, parts, rows, part_of, i, n_parts):
    """Let a row change places with another one that makes both groups cheapest together."""
    mine = part_of[i]
    for part in range(n_parts):
        if part == mine:
            continue
        before = parts.size[mine] * parts.cost[mine] + parts.size[part] * parts.cost[part]
        put(cells, parts, mine, rows[i], -1)
        put(cells, parts, part, rows[i], 1)
        best, least = -1, before - _EPSILON
        for other in range(len(rows)):
            if part_of[other] == part:
                cost = (parts.size[mine] + 1) * _joined(cells, parts, mine, rows[other]) + (
                    parts.size[part] - 1
                ) * _without(cells, parts, part, rows[other])
                if cost < least:
                    best, least = other, cost
        if best >= 0:
            put(cells, parts, part, rows[best], -1)
            _join(cells, parts, rows, part_of, best, mine)
            part_of[i] = part
            return
        put(cells, parts, part, rows[i], -1)
        put(cells, parts, mine, rows[i], 1)

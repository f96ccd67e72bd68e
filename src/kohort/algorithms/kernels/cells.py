"""What a cell costs that stands for some of an attribute's values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.generalization import SET, TREE, range_cost
from kohort.kernels.compiled import kernel, lean

__all__ = ["KIND", "LEAF_START", "LONERS", "N_LEAVES", "PAIR_START", "Cells", "cell_cost", "pair_costs"]

# in Cells.about; leaves from LONERS on mix with nothing
KIND, N_LEAVES, LEAF_START, LONERS, PAIR_START = range(5)


class Cells(NamedTuple):
    """What a cell costs, per attribute; weights are in it. Few arrays: each costs time at every call."""

    about: np.ndarray  # attributes by KIND, ... PAIR_START
    line: np.ndarray  # attributes by: cost of two values less a step, of a step, of everything
    pair: np.ndarray  # of a hierarchy: leaves by leaves


@kernel
def pair_costs(tables, attribute, n):
    """The cost of the lowest node over any two leaves of a hierarchy with n leaves, row by row."""
    cost = np.zeros(n * n)
    for lo in range(n):
        for hi in range(lo, n):
            cost[lo * n + hi] = range_cost(tables, attribute, lo, hi)
    return cost


@lean
def cell_cost(cells, a, lo, hi, width):
    """Of a cell that stands for so many values from lo to hi."""
    if cells.about[a, KIND] == TREE:
        return cells.pair[cells.about[a, PAIR_START] + lo * cells.about[a, N_LEAVES] + hi]
    if lo == hi:
        return 0.0
    if hi >= cells.about[a, LONERS]:
        return cells.line[a, 2]
    return cells.line[a, 0] + cells.line[a, 1] * (width - 1 if cells.about[a, KIND] == SET else hi - lo)

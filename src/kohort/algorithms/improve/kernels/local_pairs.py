"""Costs of cells over pairs of the few leaves that the records of a region have."""

from __future__ import annotations

from kohort.algorithms.kernels.costs import range_cost
from kohort.kernels.compiled import kernel


@kernel
def fill_pairs(tables, attribute, leaves, costs):
    """Write the cost of a cell from leaf lo to leaf hi to costs[lo, hi], for lo <= hi; 0 for others.

    leaves  the leaves that occur, ascending; costs are numbered by their places here

    O(leaves^2 * height).
    """
    for lo in range(len(leaves)):
        for hi in range(lo):
            costs[lo, hi] = 0.0
        for hi in range(lo, len(leaves)):
            costs[lo, hi] = range_cost(tables, attribute, leaves[lo], leaves[hi])

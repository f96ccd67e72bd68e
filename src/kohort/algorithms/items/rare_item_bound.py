"""A lower bound on the least NCP of any k^m-anonymous recoding, local ones included."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.kernels.rare_packing import rare_packing
from kohort.algorithms.items.local_search import LocalSearch
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem

__all__ = ["rare_item_bound"]

_AT_ONCE = 200  # baskets between two looks at the clock


def rare_item_bound(problem: ItemsProblem, run: Run) -> float:
    """A lower bound on the NCP, for baskets that are one class.

    An item that fewer than k baskets have is published as a node that k baskets have an item under, or one
    above that. Of any other set of up to m items of a basket that fewer than k baskets have, one item is
    generalized, at least to the node above it. Sets of one basket that share no item add up. Where time runs
    out, the remaining baskets add what single items cost, so that the bound is lower but holds.
    """
    search = LocalSearch.of_all(problem)
    support = np.diff(search.cuts.tid_start)
    least = _least_widths(search.parent, search.width, support >= problem.model.k)
    above = np.where(search.parent >= 0, search.width[search.parent], search.width)
    n, total = len(problem.baskets), 0
    for begin in range(0, n, _AT_ONCE):
        m = 1 if run.out_of_time else problem.model.m
        end = min(begin + _AT_ONCE, n)
        total += rare_packing(search.cuts, least, above, m, problem.model.k, begin, end)
    return float(total) / len(problem.hierarchy.leaves) / max(len(problem.leaves), 1)


def _least_widths(parent: np.ndarray, width: np.ndarray, frequent: np.ndarray) -> np.ndarray:
    """Per node the width of the lowest frequent node at or above it, 0 for a leaf that is frequent itself."""
    lowest = np.zeros(len(parent), dtype=np.int64)
    for node in range(len(parent)):
        lowest[node] = node if frequent[node] or parent[node] < 0 else lowest[parent[node]]
    return np.where(width[lowest] > 1, width[lowest], 0)

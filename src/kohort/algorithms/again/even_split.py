"""People with the same signature, cut into groups in each of which all values are equally frequent."""

from __future__ import annotations

import numpy as np

from kohort.problem.costs import cost_named
from kohort.problem.encoding.coded import Coded
from kohort.problem.encoding.layout import TREE, CellCosts
from kohort.problem.problem import Problem

__all__ = ["even_groups"]


def even_groups(
    problem: Problem, kind_of_record: np.ndarray, people: np.ndarray, least: int
) -> list[np.ndarray]:
    """Groups with at least `least` people of each value, cut again and again where that costs least.

    A cut orders the people of each value by one attribute and halves them all at the same rank, so that both
    halves have as many people of every value. O(n log n) for each attribute.
    """
    if not len(people):
        return []
    kinds = kind_of_record[people]
    ranked = people[np.argsort(kinds, kind="stable")].reshape(len(np.unique(kinds)), -1)
    if ranked.shape[1] < least:
        return []
    coded = problem.coded if problem.cost.adds_up else Coded(problem.attributes, cost_named("loss"))
    leaves = _leaves(coded)
    found: list[np.ndarray] = []
    waiting = [ranked]
    while waiting:
        part = waiting.pop()
        halves = _best_halves(coded.cell_costs, leaves, part, least)
        if halves is None:
            found.append(part.ravel())
        else:
            waiting += halves
    return found


def _leaves(coded: Coded) -> np.ndarray:
    known = vars(coded).setdefault("_leaves_for_splits", None)
    if known is None:
        known = vars(coded)["_leaves_for_splits"] = coded.searched_leaves()
    return known


def _best_halves(
    costs: CellCosts, leaves: np.ndarray, part: np.ndarray, least: int
) -> list[np.ndarray] | None:
    """The two halves of the cheapest cut; None if there are too few people, or no cut lowers the cost."""
    if part.shape[1] < 2 * least:
        return None
    middle = part.shape[1] // 2
    best, cheapest = None, part.size * _cost(costs, leaves, part) - 1e-12
    for attribute in range(leaves.shape[1]):
        order = np.argsort(leaves[part, attribute], axis=1, kind="stable")
        ranked = np.take_along_axis(part, order, axis=1)
        halves = [ranked[:, :middle], ranked[:, middle:]]
        cost = sum(half.size * _cost(costs, leaves, half) for half in halves)
        if cost < cheapest:
            best, cheapest = halves, cost
    return best


def _cost(costs: CellCosts, leaves: np.ndarray, part: np.ndarray) -> float:
    """The cost of one record of a group."""
    rows = leaves[part.ravel()]
    lo, hi = rows.min(axis=0), rows.max(axis=0)
    total = 0.0
    for attribute, a, b in zip(costs.attribute, lo.tolist(), hi.tolist()):
        if attribute.kind == TREE:
            total += costs.pair[attribute.pair_start + a * attribute.n_leaves + b]
        elif a != b:
            wide = b >= attribute.loners_from
            total += attribute.whole if wide else attribute.line_base + attribute.line_slope * (b - a)
    return float(total)

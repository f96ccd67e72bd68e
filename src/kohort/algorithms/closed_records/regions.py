"""Regions: parts of a table that is too large to solve at once, cut along one attribute."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.mining.closed_records import MinedRows
from kohort.problem.problem import Problem

__all__ = ["split_region"]


def split_region(table: MinedRows, problem: Problem) -> list[np.ndarray] | None:
    """The rows of each part of a table, or None if the table cannot be cut.

    The parts are the children of the table's node in one attribute, where children with fewer than k records
    are pooled. The attribute is the one whose parts cost least.
    """
    best, best_cost = None, np.inf
    for attribute, node in enumerate(table.closure()):
        parts = _parts(table, attribute, int(node), problem.k)
        if len(parts) < 2:
            continue
        cost = sum(_cost(table.part(rows), problem.coded.node_costs) for rows in parts)
        if cost < best_cost:
            best, best_cost = parts, cost
    return best


def _parts(table: MinedRows, attribute: int, node: int, k: int) -> list[np.ndarray]:
    child = table.nodes_at(attribute, table.lineages.depth[node] + 1)
    if child is None:
        return []
    parts = [np.flatnonzero(child == c) for c in np.unique(child)]
    parts.sort(key=lambda rows: int(table.counts[rows].sum()))
    while len(parts) > 1 and table.counts[parts[0]].sum() < k:  # pool the smallest two until none is small
        parts[:2] = [np.sort(np.concatenate(parts[:2]))]
        parts.sort(key=lambda rows: int(table.counts[rows].sum()))
    return parts


def _cost(part: MinedRows, node_costs: list[np.ndarray]) -> float:
    nodes = part.closure() - part.node_start
    return float(part.counts.sum()) * sum(float(cost[node]) for cost, node in zip(node_costs, nodes))

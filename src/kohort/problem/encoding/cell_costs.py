"""The cost of a cell that covers some values of an attribute, by pairs of leaves or by the width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.problem.encoding.layout import ATTRIBUTE, TREE, CellCosts, Tables

__all__ = ["cell_costs_of"]


def cell_costs_of(attributes: Sequence[Attribute], tables: Tables) -> CellCosts:
    """The costs of cells over any two leaves. Memory: the square of the leaves of each hierarchy.

    tables  the tables of the same attributes
    """
    pairs = _pairs(attributes, tables)
    about = np.zeros(len(attributes), dtype=ATTRIBUTE).view(np.recarray)
    about.kind, about.n_leaves = tables.kind, np.diff(np.append(tables.leaf_start, len(tables.leaf_cost)))
    about.leaf_start, about.loners_from = tables.leaf_start, tables.loners_from
    about.pair_start = np.cumsum([0, *(len(pair) for pair in pairs)])[:-1]
    about.line_base, about.line_slope, about.whole = tables.base, tables.slope, tables.full
    return CellCosts(about, np.concatenate([*pairs, np.zeros(1)]))


def _pairs(attributes: Sequence[Attribute], tables: Tables) -> list[np.ndarray]:
    """The costs of all pairs of leaves, per attribute; empty for one without a hierarchy."""
    pairs, n_nodes = [], 0
    for attribute, kind, start in zip(attributes, tables.kind, tables.leaf_start):
        if kind != TREE:
            pairs.append(np.zeros(0))
            continue
        tree = attribute.domain
        assert isinstance(tree, Hierarchy)
        node_cost = tables.node_cost[n_nodes : n_nodes + len(tree.label)]
        pairs.append(_pair_costs(tree, node_cost, tables.leaf_cost[start : start + len(tree.leaves)]))
        n_nodes += len(tree.label)
    return pairs


def _pair_costs(tree: Hierarchy, node_cost: np.ndarray, leaf_cost: np.ndarray) -> np.ndarray:
    """The cost of the lowest node over leaves lo <= hi, at lo * leaves + hi; 0 at all other places."""
    cost = np.zeros((len(leaf_cost), len(leaf_cost)))
    for lo, hi, paid in zip(tree.lo, tree.hi, node_cost):  # a node comes before those below it
        cost[lo : hi + 1, lo : hi + 1] = paid
    np.fill_diagonal(cost, leaf_cost)
    return np.triu(cost).ravel()

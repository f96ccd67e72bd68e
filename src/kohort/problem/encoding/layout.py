"""The layout of a problem's arrays for compiled code; imports nothing, so that kernels depend on little."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["ATTRIBUTE", "ORDERED", "SET", "TREE", "CellCosts", "Lineages", "Tables", "Trees"]

TREE, ORDERED, SET = 0, 1, 2  # hierarchy nodes; intervals of an order; sets of values


class Tables(NamedTuple):
    """All attributes of a problem side by side; node and leaf arrays are concatenated.

    Costs include the attributes' weights. An interval or set of w > 1 values costs base + slope * (w - 1);
    one that holds a loner (a missing value) besides others costs `full`.
    """

    kind: np.ndarray  # per attribute: TREE, ORDERED or SET
    leaf_start: np.ndarray  # per attribute: its first leaf
    word_start: np.ndarray  # per attribute and one more: its first word in a bit set of values
    loners_from: np.ndarray  # per attribute: leaves from here on mix with nothing
    base: np.ndarray
    slope: np.ndarray
    full: np.ndarray
    leaf_node: np.ndarray  # per leaf: its node
    leaf_cost: np.ndarray  # per leaf: what it costs alone (a hidden one costs a star)
    frequency_rank: np.ndarray  # per leaf: rank by falling frequency inside its attribute
    parent: np.ndarray  # per node
    last_leaf: np.ndarray  # per node, counted inside its attribute
    sibling: np.ndarray  # per node: its place among its siblings
    n_children: np.ndarray  # per node
    node_cost: np.ndarray  # per node


# what is known of an attribute; one record each, so that compiled code gets a single array
ATTRIBUTE = np.dtype(
    [
        ("kind", np.int64),  # TREE, ORDERED or SET
        ("n_leaves", np.int64),
        ("leaf_start", np.int64),  # its first leaf among those of all attributes
        ("loners_from", np.int64),  # leaves from here on mix with nothing
        ("pair_start", np.int64),  # its first entry in `pair`
        # an interval or set of w > 1 values costs line_base + line_slope * (w - 1)
        ("line_base", np.float64),
        ("line_slope", np.float64),
        ("whole", np.float64),  # cost of a cell that holds a loner besides other values
    ]
)


class CellCosts(NamedTuple):
    """The cost of a cell, by attribute; weights are included."""

    attribute: np.recarray  # a record per attribute: kind, n_leaves, leaf_start, ... whole
    pair: np.ndarray  # for hierarchies, leaves by leaves: cost of the lowest node over both


class Lineages(NamedTuple):
    """Under which node every row is, at every depth of every hierarchy. Nodes are numbered through."""

    node: np.ndarray  # levels by rows: attributes one after the other, each from its root on; -1 below a leaf
    level: np.ndarray  # per attribute and one more: the level of its root
    depth: np.ndarray  # per node: steps below the root


class Trees(NamedTuple):
    """The hierarchies of all attributes; nodes and leaves are numbered through."""

    leaf_start: np.ndarray  # per attribute: its first leaf
    leaf_node: np.ndarray  # per leaf
    parent: np.ndarray  # per node
    last_leaf: np.ndarray  # per node, counted inside its attribute
    depth: np.ndarray  # per node: steps below the root
    lineage_start: np.ndarray  # per attribute: where its lineages begin
    lineage: np.ndarray  # per attribute, depth and leaf: the leaf's ancestor at that depth, -1 below the leaf
    n_leaves: np.ndarray  # per attribute

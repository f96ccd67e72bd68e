"""Hierarchies as flat arrays: which node every leaf and every row is under, at every depth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.encoding.layout import Lineages, Trees


def node_starts(hierarchies: Sequence[Hierarchy]) -> np.ndarray:
    """The first node of each hierarchy, where the nodes of all are numbered through."""
    return np.cumsum([0, *(len(h.label) for h in hierarchies)])[:-1]


def lineages_of(hierarchies: Sequence[Hierarchy], leaves: np.ndarray) -> Lineages:
    """The nodes that rows of leaves are under. Memory: 4 bytes per row and level."""
    levels = []
    for hierarchy, start, column in zip(hierarchies, node_starts(hierarchies), leaves.T):
        by_leaf = _lineages(hierarchy)
        levels.append(np.where(by_leaf < 0, -1, by_leaf + start).astype(np.int32)[:, column])
    return Lineages(
        node=np.concatenate(levels),
        level=np.cumsum([0, *(len(nodes) for nodes in levels)]),
        depth=np.concatenate([_depths(h) for h in hierarchies]),
    )


def trees_of(hierarchies: Sequence[Hierarchy]) -> Trees:
    """The nodes and leaves of all hierarchies, numbered through."""
    starts = node_starts(hierarchies)
    n_leaves = np.array([len(h.leaves) for h in hierarchies])
    lineages = [_lineages(h) for h in hierarchies]
    return Trees(
        leaf_start=np.cumsum(n_leaves) - n_leaves,
        leaf_node=_numbered_through([_leaf_nodes(h) for h in hierarchies], starts),
        parent=_numbered_through([h.parent for h in hierarchies], starts),
        last_leaf=np.concatenate([h.hi for h in hierarchies]).astype(np.int64),
        depth=np.concatenate([_depths(h) for h in hierarchies]),
        lineage_start=np.cumsum([0, *(lineage.size for lineage in lineages)])[:-1],
        lineage=_numbered_through([lineage.ravel() for lineage in lineages], starts),
        n_leaves=n_leaves,
    )


def _numbered_through(parts: list[np.ndarray], starts: np.ndarray) -> np.ndarray:
    """Node numbers of several attributes as numbers among all; -1 stays -1."""
    return np.concatenate([np.where(part < 0, -1, part + start) for part, start in zip(parts, starts)])


def _leaf_nodes(hierarchy: Hierarchy) -> np.ndarray:
    """The lowest node that each leaf may be published as: its own, or the root for a hidden leaf."""
    return np.where(hierarchy.hidden, 0, hierarchy.leaf_node).astype(np.int64)


def _depths(hierarchy: Hierarchy) -> np.ndarray:
    depth = np.zeros(len(hierarchy.parent), dtype=np.int64)
    for node in range(1, len(depth)):  # parents have smaller numbers
        depth[node] = depth[hierarchy.parent[node]] + 1
    return depth


def _lineages(hierarchy: Hierarchy) -> np.ndarray:
    """The ancestor of each leaf at each depth, depths by leaves; -1 where the leaf is higher up."""
    depth = _depths(hierarchy)
    lineage = np.full((int(depth.max()) + 1, len(hierarchy.leaves)), -1, dtype=np.int64)
    node = _leaf_nodes(hierarchy)
    leaf = np.arange(len(node))
    while True:
        lineage[depth[node], leaf] = node
        if not node.any():
            return lineage
        node = np.where(node > 0, hierarchy.parent[node], 0)

"""Levels of a hierarchy: how the whole domain of an attribute is generalized one step at a time."""

from __future__ import annotations

import numpy as np

from kohort.data.hierarchy import Hierarchy


def level_nodes(hierarchy: Hierarchy) -> np.ndarray:
    """The node that each leaf is generalized to at each level: one row per level, one column per leaf.

    At level h that is the leaf's highest ancestor among the nodes at most h above their own deepest leaf.
    So level 0 is the leaves, the last level is the root, each level is a coarser partition than the one
    before, and in a balanced hierarchy the levels are the usual ones. Among nodes with the same leaves (a
    unary chain) the lowest is used. A hidden leaf is the root at all levels. O(leaves * height).

    >>> paths = [("cat", "pet", "animal", "*"), ("dog", "pet", "animal", "*"), ("oak", "*")]
    >>> h = Hierarchy.from_paths(paths)
    >>> [[h.label[node] for node in level] for level in level_nodes(h)]
    [['cat', 'dog', 'oak'], ['pet', 'pet', 'oak'], ['pet', 'pet', 'oak'], ['*', '*', '*']]
    """
    node = np.where(hierarchy.hidden, 0, hierarchy.leaf_node)
    levels = []
    for height in range(hierarchy.height + 1):
        parent = hierarchy.parent[node]
        node = np.where((parent >= 0) & (hierarchy.level[parent] <= height), parent, node)
        lowest = hierarchy.node(hierarchy.lo[node], hierarchy.hi[node])
        levels.append(np.where(hierarchy.hidden, 0, lowest))
    return np.array(levels)

"""An item hierarchy as the kernels read it."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.kernels.item_cuts import ItemTree
from kohort.data.hierarchy import Hierarchy

__all__ = ["item_tree"]


def item_tree(hierarchy: Hierarchy, occurrences: np.ndarray) -> ItemTree:
    """The tree of a hierarchy, without ranks.

    occurrences  per leaf how often it occurs in baskets
    """
    n = len(hierarchy.parent)
    before = np.concatenate([[0], np.cumsum(occurrences)]).astype(np.int64)
    return ItemTree(
        parent=hierarchy.parent.astype(np.int64),
        lo=hierarchy.lo.astype(np.int64),
        hi=hierarchy.hi.astype(np.int64),
        last=hierarchy.leaf_node[hierarchy.hi].astype(np.int64),
        leaf_node=hierarchy.leaf_node.astype(np.int64),
        mass=before[hierarchy.hi + 1] - before[hierarchy.lo],
        rank=np.full(n, -1, dtype=np.int64),
        node=np.zeros(0, dtype=np.int64),
    )

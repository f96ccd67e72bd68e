"""Find the region of each record: from the root of a tree of cuts down to where nothing is cut any more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import lean


class TreeArrays(NamedTuple):
    """A tree of cuts. The leaves of the attribute that a node is cut along have entries side by side."""

    attribute: np.ndarray  # per node: the attribute it is cut along; -1: it is not cut
    first: np.ndarray  # per node: its first entry
    child: np.ndarray  # per entry: the node below
    lends: np.ndarray  # per entry: whether the first records with this leaf go to the pool instead
    last_lent: np.ndarray  # per node: the number of the last record that goes to the pool; -1: none does
    pool: np.ndarray  # per node: the node below that the pool is


@lean
def find_nodes(tree, rows, number, node):
    """Write the node of each record; `number` is the number of each record in the table. O(n * depth)."""
    for i in range(len(rows)):
        at = np.int64(0)
        while tree.attribute[at] >= 0:
            place = tree.first[at] + np.int64(rows[i, tree.attribute[at]])
            if number[i] <= tree.last_lent[at] and tree.lends[place]:
                at = tree.pool[at]
            else:
                at = tree.child[place]
        node[i] = at

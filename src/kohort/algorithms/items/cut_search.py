"""A cut of an item hierarchy in the making, for the baskets of one class."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from kohort.algorithms.run import Run
from kohort.data.hierarchy import Hierarchy
from kohort.kernels.item_cuts import ItemCut, ItemTree, TidLists, generalize, kept_nodes, tid_lists
from kohort.kernels.item_repairs import repair_itemsets
from kohort.kernels.itemsets import Baskets, collapsed, containing, mark_rare, picked, transposed

__all__ = ["CutSearch"]


class CutSearch:
    """Baskets of leaves, the supports of all nodes, and a cut that begins with the items themselves.

    Supports do not depend on the cut. No count-tree is kept: itemsets are walked through prefix by prefix.
    Memory: O(items in all distinct baskets * height).
    """

    def __init__(self, offsets: np.ndarray, leaves: np.ndarray, hierarchy: Hierarchy, k: int) -> None:
        self.k = k
        everything = Baskets(offsets, leaves.astype(np.int32), np.ones(len(offsets) - 1, dtype=np.int64))
        self.baskets = collapsed(everything)
        self.tree, self.lists = _ranked(self.baskets, hierarchy)
        self.cut = ItemCut(
            np.zeros(len(hierarchy.parent), dtype=bool), np.zeros(len(hierarchy.parent), dtype=np.int64)
        )

    @property
    def cost(self) -> int:
        """Occurrences times leaves that they are published as: the NCP, times both totals."""
        return int(self.cut.cost[0])

    @property
    def in_cut(self) -> np.ndarray:
        """Per node whether it is what the items under it are published as."""
        below = self.cut.below
        return ~below & (self.is_leaf | np.append(below[1:], False))

    @property
    def is_leaf(self) -> np.ndarray:
        return self.tree.last == np.arange(len(self.tree.last))

    def node_of_leaf(self) -> np.ndarray:
        """The node that each leaf is published as."""
        nodes = np.flatnonzero(self.in_cut)
        return np.repeat(nodes, self.tree.hi[nodes] - self.tree.lo[nodes] + 1)

    def bytes(self) -> int:
        """The memory of the baskets and lists."""
        return sum(array.nbytes for part in (self.baskets, self.lists, self.tree) for array in part)

    def repair(self, size: int) -> int:
        """Repair all rare itemsets of up to `size` nodes, in the order of the count-tree; how many were."""
        suspects = self._above_rare(size)
        if suspects is None:
            return 0
        open_baskets = collapsed(kept_nodes(self.baskets, self.tree, suspects & ~self.cut.below))
        prefix = np.full(size, -1, dtype=np.int64)
        return repair_itemsets(open_baskets, self.tree, self.cut, self.lists, size, self.k, prefix, 0)

    def first_rare(self, size: int) -> list[int]:
        """The nodes of a smallest rare itemset of the cut; none if there is none of up to `size` nodes."""
        published = self._published()
        for length in range(1, size + 1):
            marks, prefix = self._no_marks(), np.full(length, -1, dtype=np.int64)
            if mark_rare(published, len(self.tree.node), length, self.k, marks, prefix, 0, True):
                return [int(self.tree.node[rank]) for rank in prefix if rank >= 0]
        return []

    def generalize(self, node: int) -> None:
        """Publish everything under a node as this node."""
        generalize(self.tree, self.cut, node)

    def refine(self, m: int, run: Run) -> int:
        """Publish nodes of the cut as their children again, the most costly first, where that is safe.

        How many. A node that cannot be split now cannot be split later: each is tried once.
        """
        gains = [(-self._gain(node), node) for node in np.flatnonzero(self.in_cut & ~self.is_leaf).tolist()]
        heapify(gains)
        done = 0
        while gains and not run.out_of_time:
            _, node = heappop(gains)
            if self._can_split(node, m):
                self._split(node)
                done += 1
                for child in self._children(node):
                    if not self.is_leaf[child]:
                        heappush(gains, (-self._gain(child), int(child)))
        return done

    def _above_rare(self, size: int) -> np.ndarray | None:
        """Per node whether it is above (or at) a node of a rare itemset of the cut; None if there is none.

        Only such nodes can be in a rare itemset of the walk: where it is rare, so is what it publishes below.
        """
        marks, prefix = self._no_marks(), np.full(size, -1, dtype=np.int64)
        published = self._published()
        if not mark_rare(published, len(self.tree.node), size, self.k, marks, prefix, 0, False):
            return None
        suspects = np.zeros(len(self.tree.parent), dtype=bool)
        nodes = self.tree.node[marks]
        while len(nodes):
            suspects[nodes] = True
            nodes = np.unique(self.tree.parent[nodes])
            nodes = nodes[nodes > 0]
        return suspects

    def _published(self) -> Baskets:
        """What the cut publishes; the root says nothing."""
        keep = self.in_cut
        keep[0] = False
        return collapsed(kept_nodes(self.baskets, self.tree, keep))

    def _no_marks(self) -> np.ndarray:
        return np.zeros(len(self.tree.node), dtype=bool)

    def _children(self, node: int) -> np.ndarray:
        return np.flatnonzero(self.tree.parent == node)

    def _gain(self, node: int) -> int:
        return int(self._published_cost(node) - sum(map(self._published_cost, self._children(node))))

    def _published_cost(self, node: int) -> int:
        width = int(self.tree.hi[node] - self.tree.lo[node]) + 1
        return int(self.tree.mass[node]) * width if width > 1 else 0

    def _can_split(self, node: int, m: int) -> bool:
        """Whether every itemset of up to m nodes with a child of the node would still be frequent."""
        children = self._children(node)
        present = children[self.tree.rank[children] >= 0]
        sizes = np.array([self._support(child) for child in present])
        if (sizes < self.k).any():
            return False
        keep = self.in_cut
        keep[[0, node]] = False
        keep[children] = True
        tids = self.lists.basket[self.lists.start[node] : self.lists.start[node + 1]]
        baskets = collapsed(kept_nodes(picked(self.baskets, tids), self.tree, keep))
        n_nodes = len(self.tree.node)
        lists = transposed(baskets, n_nodes)
        for i in np.flatnonzero(np.isin(lists.present, self.tree.rank[present])) if m > 1 else ():
            others, prefix = containing(baskets, lists, i), np.full(m - 1, -1, dtype=np.int64)
            if mark_rare(others, n_nodes, m - 1, self.k, self._no_marks(), prefix, 0, True):
                return False
        return True

    def _support(self, node: int) -> int:
        tids = self.lists.basket[self.lists.start[node] : self.lists.start[node + 1]]
        return int(self.lists.weight[tids].sum())

    def _split(self, node: int) -> None:
        children = self._children(node)
        self.cut.below[children] = False
        gain = self._gain(node)
        self.cut.cost[children] = [self._published_cost(child) for child in children]
        while node >= 0:
            self.cut.cost[node] -= gain
            node = int(self.tree.parent[node])


def _ranked(baskets: Baskets, hierarchy: Hierarchy) -> tuple[ItemTree, TidLists]:
    """The tree with nodes ranked by support, then size, then place; and the baskets of every node."""
    n = len(hierarchy.parent)
    parent = hierarchy.parent.astype(np.int64)
    count = np.bincount(
        baskets.nodes,
        weights=np.repeat(baskets.weight, np.diff(baskets.start)),
        minlength=len(hierarchy.leaves),
    )
    before = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    tree = ItemTree(
        parent=parent,
        lo=hierarchy.lo.astype(np.int64),
        hi=hierarchy.hi.astype(np.int64),
        last=hierarchy.leaf_node[hierarchy.hi].astype(np.int64),
        leaf_node=hierarchy.leaf_node.astype(np.int64),
        mass=before[hierarchy.hi + 1] - before[hierarchy.lo],
        rank=np.full(n, -1, dtype=np.int64),
        node=np.zeros(0, dtype=np.int64),
    )
    lists = tid_lists(baskets, tree)
    total = np.concatenate([[0], np.cumsum(lists.weight[lists.basket])])
    support = total[lists.start[1:]] - total[lists.start[:-1]]
    order = np.lexsort((np.arange(n), -(tree.hi - tree.lo), -support))
    node = order[(support[order] > 0) & (order > 0)]
    tree.rank[node] = np.arange(len(node))
    return tree._replace(node=node), lists

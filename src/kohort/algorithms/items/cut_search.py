"""A cut of an item hierarchy in the making, for the baskets of one class."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.kernels.item_cuts import (
    ItemCut,
    ItemTree,
    TidLists,
    Walk,
    drop,
    generalize,
    kept_nodes,
    repair_itemsets,
    supports,
    tid_lists,
)
from kohort.algorithms.items.kernels.itemsets import (
    Baskets,
    collapsed,
    mark_rare,
    pair_counts,
    picked,
    transposed,
)
from kohort.algorithms.run import Run
from kohort.data.hierarchy import Hierarchy
from kohort.recoding.items import DROPPED


class CutSearch:
    """Baskets of leaves, the supports of all nodes, and a cut that starts at the items themselves.

    Supports do not depend on the cut. No count-tree is kept: itemsets are walked through prefix by prefix.
    Memory: O(items in all distinct baskets * height).
    """

    def __init__(
        self, offsets: np.ndarray, leaves: np.ndarray, hierarchy: Hierarchy, k: int, *, may_drop: bool = False
    ) -> None:
        self.k = k
        everything = Baskets(offsets, leaves.astype(np.int32), np.ones(len(offsets) - 1, dtype=np.int64))
        self.baskets = collapsed(everything)
        self.tree, self.lists, self.support = _ranked(self.baskets, hierarchy)
        n = len(hierarchy.parent)
        self.cut = ItemCut(
            np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool), may_drop
        )

    @property
    def cost(self) -> int:
        """The cost of the cut: the sum over occurrences of the leaves each is published as. It is the NCP
        without its division by the numbers of occurrences and leaves."""
        return int(self.cut.cost[0])

    @property
    def in_cut(self) -> np.ndarray:
        """Whether each node is in the cut: the items under it are published as it, or dropped."""
        below = self.cut.below
        return ~below & (self.is_leaf | np.append(below[1:], False))

    @property
    def published(self) -> np.ndarray:
        """Whether each node is in the cut and not dropped."""
        return self.in_cut & ~self.cut.dropped

    @property
    def is_leaf(self) -> np.ndarray:
        return self.tree.last == np.arange(len(self.tree.last))

    def node_of_leaf(self) -> np.ndarray:
        """The node that each leaf is published as, or DROPPED."""
        nodes = np.flatnonzero(self.in_cut)
        shown = np.where(self.cut.dropped[nodes], DROPPED, nodes)
        return np.repeat(shown, self.tree.hi[nodes] - self.tree.lo[nodes] + 1)

    def bytes(self) -> int:
        """The memory that the baskets and lists take, in bytes."""
        return sum(array.nbytes for part in (self.baskets, self.lists, self.tree) for array in part)

    @property
    def longest(self) -> int:
        """The size of the largest basket: no itemset is larger."""
        return int(np.diff(self.baskets.start).max(initial=0))

    def repair(self, size: int, run: Run) -> int:
        """Repair rare itemsets of up to `size` nodes, in the order of the count-tree; return how many.

        All of them are repaired unless time runs out.
        """
        run.report("itemsets", 0.0)
        repairs = 0
        while (suspects := self._above_rare(size)).any():
            found = self._repair_among(suspects, size, run)
            repairs += found
            # a dropped item comes back where a node above it is published, and that may make itemsets rare
            if not found or not self.cut.may_drop or run.out_of_time:
                break
        return repairs

    def _repair_among(self, suspects: np.ndarray, size: int, run: Run) -> int:
        """Visit the itemsets of these nodes once, and repair those that are rare; return how many."""
        open_baskets, nodes = self.shown_as(suspects & ~self.cut.below & ~self.cut.dropped, self.baskets)
        prefix = np.full(size, -1, dtype=np.int64)
        pairs = pair_counts(len(nodes), self.k)
        walk = Walk(self.tree, self.cut, self.lists, nodes, size, self.k, prefix, pairs)
        lists, repairs = transposed(open_baskets, len(nodes)), 0
        for first in range(len(lists.present)):
            run.report("itemsets", lists.start[first] / lists.start[-1])
            if run.out_of_time:
                break
            repairs += repair_itemsets(walk, open_baskets, lists, first, first + 1, 0)
        return repairs

    def climb(self, size: int) -> int:
        """Publish the nodes of all rare itemsets of up to `size` nodes as their parents, until none is rare.

        Returns how many nodes were generalized. Far quicker than `repair`, but costs more.
        """
        climbed = 0
        while len(rare := self._in_rare(size)):
            self.climb_from(rare)
            climbed += len(rare)
        return climbed

    def climb_from(self, nodes: np.ndarray) -> None:
        """Publish some nodes of the cut as their parents."""
        for node in np.unique(self.tree.parent[nodes]).tolist():
            if not self.cut.below[node]:
                self.generalize(node)

    def first_rare(self, size: int) -> list[int]:
        """The nodes of a smallest rare itemset of the cut; empty if there is none of up to `size` nodes."""
        published, nodes = self.shown_as(self.published, self.baskets)
        for length in range(1, min(size, self.longest) + 1):
            marks, first = self._rare(published, len(nodes), length, stop=True)
            if marks.any():
                return nodes[first[first >= 0]].tolist()
        return []

    def generalize(self, node: int) -> None:
        """Publish everything under a node as this node."""
        generalize(self.tree, self.cut, node)

    def drop(self, node: int) -> None:
        """Publish nothing for the items under a node."""
        drop(self.tree, self.cut, node)

    def _above_rare(self, size: int) -> np.ndarray:
        """Whether each node is above (or at) a node of a rare itemset of the cut.

        Only such nodes can be in a rare itemset of the walk: if that is rare, so are the itemsets below it,
        unless these were dropped.
        """
        nodes, suspects = self._in_rare(size), np.zeros(len(self.tree.parent), dtype=bool)
        while len(nodes):
            suspects[nodes] = True
            nodes = np.unique(self.tree.parent[nodes])
            nodes = nodes[nodes > 0]
        return suspects

    def _in_rare(self, size: int) -> np.ndarray:
        """The nodes of all rare itemsets of up to `size` nodes that the cut publishes."""
        if size == 1:
            return np.flatnonzero(self.published & (self.support > 0) & (self.support < self.k))
        published, nodes = self.shown_as(self.published, self.baskets)
        return nodes[self._rare(published, len(nodes), size, stop=False)[0]]

    def _rare(
        self, baskets: Baskets, n_nodes: int, size: int, *, stop: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether each node is in a rare itemset of up to `size` nodes; and the first such itemset.

        The itemset has -1 in unused places. With `stop` only its nodes are looked for.
        """
        marks, first = np.zeros(n_nodes, dtype=bool), np.full(size, -1, dtype=np.int64)
        mark_rare(baskets, size, self.k, marks, first, 0, stop, pair_counts(n_nodes, self.k))
        return marks, first

    def shown_as(self, keep: np.ndarray, baskets: Baskets) -> tuple[Baskets, np.ndarray]:
        """Baskets of the kept nodes that occur, without the root, which says nothing; and these nodes."""
        nodes = self.tree.node[keep[self.tree.node]]
        number = np.full(len(keep), -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        return collapsed(kept_nodes(baskets, self.tree, number)), nodes

    def children(self, node: int) -> np.ndarray:
        """The nodes right below a node."""
        return np.flatnonzero(self.tree.parent == node)

    def split(self, node: int) -> None:
        """Publish a node of the cut as its children."""
        children = self.children(node)
        self.cut.below[children] = False
        self.cut.cost[children] = self.tree.cost[children]
        change = int(self.cut.cost[children].sum()) - int(self.cut.cost[node])
        while node >= 0:
            self.cut.cost[node] += change
            node = int(self.tree.parent[node])

    def rare_with(self, node: int, keep: np.ndarray, m: int) -> bool:
        """Whether some set of a node and up to m - 1 of the kept nodes is rare."""
        if 0 < self.support[node] < self.k:
            return True
        if m == 1 or not self.support[node]:
            return False
        others, nodes = self.shown_as(keep, picked(self.baskets, self.tids(node)))
        return bool(self._rare(others, len(nodes), m - 1, stop=True)[0].any())

    def tids(self, node: int) -> np.ndarray:
        """The distinct baskets that have an item under a node."""
        return self.lists.basket[self.lists.start[node] : self.lists.start[node + 1]]


def _ranked(baskets: Baskets, hierarchy: Hierarchy) -> tuple[ItemTree, TidLists, np.ndarray]:
    """The tree, its nodes ordered by support, size and place; and the baskets and support of every node."""
    weights = np.repeat(baskets.weight, np.diff(baskets.start))
    tree = item_tree(hierarchy, np.bincount(baskets.nodes, weights, minlength=len(hierarchy.leaves)))
    lists = tid_lists(baskets, tree)
    support = supports(lists)
    order = np.lexsort((np.arange(len(support)), -(tree.hi - tree.lo), -support))
    return tree._replace(node=order[(support[order] > 0) & (order > 0)]), lists, support


def item_tree(hierarchy: Hierarchy, occurrences: np.ndarray) -> ItemTree:
    """The tree of a hierarchy, for baskets in which each leaf occurs this often; no order of its nodes."""
    before = np.concatenate([[0], np.cumsum(occurrences)]).astype(np.int64)
    mass, width = before[hierarchy.hi + 1] - before[hierarchy.lo], hierarchy.hi - hierarchy.lo + 1
    return ItemTree(
        parent=hierarchy.parent.astype(np.int64),
        lo=hierarchy.lo.astype(np.int64),
        hi=hierarchy.hi.astype(np.int64),
        last=hierarchy.leaf_node[hierarchy.hi].astype(np.int64),
        leaf_node=hierarchy.leaf_node.astype(np.int64),
        cost=np.where(width > 1, mass * width, 0),
        dropped_cost=mass * len(hierarchy.leaves),
        node=np.zeros(0, dtype=np.int64),
    )

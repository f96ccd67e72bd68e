"""A cut of an item hierarchy in the making, for the baskets of one class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.items.kernels.item_cuts import (
    ItemCut,
    ItemTree,
    TidLists,
    drop,
    generalize,
    kept_nodes,
    supports,
    tid_lists,
)
from kohort.algorithms.items.kernels.item_repairs import Walk, repair_itemsets
from kohort.algorithms.items.kernels.itemsets import Baskets, collapsed, mark_rare, picked, transposed
from kohort.algorithms.items.kernels.pair_counts import pair_counts
from kohort.algorithms.run import Run
from kohort.data.hierarchy import Hierarchy
from kohort.recoding.item_nodes import DROPPED


class _Rare(NamedTuple):
    """Whether each node is in a rare itemset, and the nodes of the first one, -1 in unused places."""

    marks: np.ndarray
    first: np.ndarray


class CutSearch:
    """Baskets of leaves, the supports of all nodes, and a cut that starts at the items themselves.

    Supports do not depend on the cut. No count-tree is kept: itemsets are walked through prefix by prefix.
    Memory: O(items in all distinct baskets * height).
    """

    def __init__(
        self,
        offsets: np.ndarray,
        leaves: np.ndarray,
        hierarchy: Hierarchy,
        k: int,
        *,
        may_drop: bool = False,
    ) -> None:
        self.k = k
        everything = Baskets(offsets, leaves.astype(np.int32), np.ones(len(offsets) - 1, dtype=np.int64))
        self.baskets = collapsed(everything)
        self.tree, self.lists, self.support = _ranked(self.baskets, hierarchy)
        n = len(hierarchy.parent)
        self.cut = ItemCut(
            below=np.zeros(n, dtype=bool),
            cost=np.zeros(n, dtype=np.int64),
            dropped=np.zeros(n, dtype=bool),
            may_drop=may_drop,
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
        repairs, suspects = 0, self._above_rare(size)
        while suspects is not None:
            found = self._repair_among(suspects, size, run)
            repairs += found
            if not found or not self.cut.may_drop or run.out_of_time:
                break
            # a dropped item comes back where a node above it is published, and that may make itemsets rare
            suspects = self._above_rare(size)
        return repairs

    def _repair_among(self, suspects: np.ndarray, size: int, run: Run) -> int:
        """Visit the itemsets of these nodes once, and repair those that are rare; return how many."""
        open_baskets, nodes = self.shown_as(suspects & ~self.cut.below & ~self.cut.dropped)
        prefix = np.full(size, -1, dtype=np.int64)
        walk = Walk(
            self.tree, self.cut, self.lists, nodes, size, self.k, prefix, pair_counts(len(nodes), self.k)
        )
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
        published, nodes = self.shown_as(self.published)
        for length in range(1, min(size, self.longest) + 1):
            found = self._rare(published, len(nodes), length, stop=True)
            if found is not None:
                return [int(nodes[number]) for number in found.first if number >= 0]
        return []

    def generalize(self, node: int) -> None:
        """Publish everything under a node as this node."""
        generalize(self.tree, self.cut, node)

    def drop(self, node: int) -> None:
        """Publish nothing for the items under a node."""
        drop(self.tree, self.cut, node)

    def _above_rare(self, size: int) -> np.ndarray | None:
        """Whether each node is above (or at) a node of a rare itemset of the cut; None if none is rare.

        Only such nodes can be in a rare itemset of the walk: if that is rare, so are the itemsets below it,
        unless these were dropped.
        """
        nodes = self._in_rare(size)
        if not len(nodes):
            return None
        suspects = np.zeros(len(self.tree.parent), dtype=bool)
        while len(nodes):
            suspects[nodes] = True
            nodes = np.unique(self.tree.parent[nodes])
            nodes = nodes[nodes > 0]
        return suspects

    def _in_rare(self, size: int) -> np.ndarray:
        """The nodes of all rare itemsets of up to `size` nodes that the cut publishes."""
        if size == 1:
            return np.flatnonzero(self.published & (self.support > 0) & (self.support < self.k))
        published, nodes = self.shown_as(self.published)
        found = self._rare(published, len(nodes), size, stop=False)
        return nodes[:0] if found is None else nodes[found.marks]

    def _rare(self, baskets: Baskets, n_nodes: int, size: int, *, stop: bool) -> _Rare | None:
        """Which nodes are in rare itemsets of up to `size` nodes, or with `stop` in one; None: in none."""
        marks, first = np.zeros(n_nodes, dtype=bool), np.full(size, -1, dtype=np.int64)
        pairs = pair_counts(n_nodes, self.k)
        if mark_rare(baskets, n_nodes, size, self.k, marks, first, 0, stop, pairs):
            return _Rare(marks, first)
        return None

    def shown_as(self, keep: np.ndarray, baskets: Baskets | None = None) -> tuple[Baskets, np.ndarray]:
        """Baskets of the kept nodes that occur, without the root, which says nothing; and these nodes."""
        nodes = self.tree.node[keep[self.tree.node]]
        number = np.full(len(keep), -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        return collapsed(kept_nodes(baskets or self.baskets, self.tree, number)), nodes

    def children(self, node: int) -> np.ndarray:
        """The nodes right below a node."""
        return np.flatnonzero(self.tree.parent == node)

    def published_cost(self, node: int) -> int:
        """The cost of the items under a node when they are published as this node."""
        width = int(self.tree.hi[node] - self.tree.lo[node]) + 1
        return int(self.tree.mass[node]) * width if width > 1 else 0

    def dropped_cost(self, node: int) -> int:
        """The cost of the items under a node when they are dropped."""
        return int(self.tree.mass[node]) * int(self.tree.hi[0] + 1)

    def split(self, node: int) -> None:
        """Publish a node of the cut as its children."""
        children = self.children(node)
        self.cut.below[children] = False
        self.cut.cost[children] = [self.published_cost(child) for child in children.tolist()]
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
        return self._rare(others, len(nodes), m - 1, stop=True) is not None

    def tids(self, node: int) -> np.ndarray:
        """The distinct baskets that have an item under a node."""
        return self.lists.basket[self.lists.start[node] : self.lists.start[node + 1]]


def _ranked(baskets: Baskets, hierarchy: Hierarchy) -> tuple[ItemTree, TidLists, np.ndarray]:
    """The tree with nodes ranked by support, then size, then place; the baskets and support of every node."""
    n = len(hierarchy.parent)
    count = np.bincount(
        baskets.nodes,
        weights=np.repeat(baskets.weight, np.diff(baskets.start)),
        minlength=len(hierarchy.leaves),
    )
    tree = item_tree(hierarchy, count)
    lists = tid_lists(baskets, tree)
    support = supports(lists)
    order = np.lexsort((np.arange(n), -(tree.hi - tree.lo), -support))
    node = order[(support[order] > 0) & (order > 0)]
    tree.rank[node] = np.arange(len(node))
    return tree._replace(node=node), lists, support


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

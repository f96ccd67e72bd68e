"""A local recoding in the making: every basket has a cut of the item hierarchy of its own."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kohort.algorithms.items.class_cuts import ItemsClass
from kohort.algorithms.items.cut_search import item_tree
from kohort.algorithms.items.kernels.item_cuts import tid_lists
from kohort.algorithms.items.kernels.itemsets import Baskets
from kohort.algorithms.items.kernels.local_confidence import LocalRules, split_node_with_room, tells_at
from kohort.algorithms.items.kernels.local_cuts import LocalCuts, split_node
from kohort.algorithms.items.sensitive import rooms_of
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem

_NOISE = 0.1  # of the logarithm of a node's cost


class LocalSearch:
    """The baskets of one class, each item published as the root to begin with.

    Whatever `descend` has done so far is safe, so that it can stop at any time. Memory: O(items in all
    baskets * height), and a bit per node and basket for the nodes beside one node of the hierarchy.
    """

    def __init__(self, problem: ItemsProblem, part: ItemsClass) -> None:
        hierarchy = problem.hierarchy
        self.problem, self.part = problem, part
        self.k, self.m = problem.model.k, problem.model.m
        self.parent = hierarchy.parent.astype(np.int64)
        self.width = hierarchy.hi.astype(np.int64) - hierarchy.lo + 1
        self.depth = _depths(self.parent)
        leaves = problem.leaves[part.occurrences]
        tree = item_tree(hierarchy, np.bincount(leaves, minlength=len(hierarchy.leaves)))
        baskets = Baskets(part.offsets, leaves.astype(np.int32), np.ones(len(part.records), dtype=np.int64))
        lists = tid_lists(baskets, tree)
        leaf = hierarchy.leaf_node[leaves].astype(np.int32)
        self.cuts = LocalCuts(
            start=part.offsets,
            leaf=leaf,
            node=np.zeros(len(leaf), dtype=np.int32),
            parent=self.parent,
            last=tree.last,
            tid_start=lists.start,
            tid=lists.basket,
            row=np.full(len(self.parent), -1, dtype=np.int64),
        )

    @classmethod
    def of_all(cls, problem: ItemsProblem) -> LocalSearch:
        """The search for all baskets as one class."""
        return cls(problem, ItemsClass.of(problem, np.arange(len(problem.baskets))))

    @cached_property
    def rules(self) -> LocalRules | None:
        """What known items must not imply; None where nothing is sensitive."""
        if self.problem.confidence is None:
            return None
        return _local_rules(self.problem, self.part)

    @property
    def cost(self) -> int:
        """The sum over occurrences of the leaves each is published as; an exact item costs nothing."""
        width = self.width[self.cuts.node]
        return int(width[width > 1].sum())

    def descend(
        self, run: Run, *, noise: np.random.Generator | None = None, within: np.ndarray | None = None
    ) -> int:
        """Publish nodes as their children wherever that is safe, level by level from the root.

        Nodes of a level are tried in the order of what they cost; with `noise`, of about what they cost.
        Returns in how many baskets a node was split; stops when time is out.

        within  whether each node may be split; None: every node may
        """
        n_levels, moved = int(self.depth.max(initial=0)), 0
        for level in range(n_levels):
            nodes = self._nodes_at(level, noise, within)
            child_of = self._ancestors_at(level + 1)
            for i, node in enumerate(nodes):
                run.report("nodes of every level", (level + i / len(nodes)) / n_levels)
                if run.out_of_time:
                    return moved
                moved += self._split(node, child_of)
        return moved

    def _split(self, node: int, child_of: np.ndarray) -> int:
        """Publish a node as its children where that is safe; return in how many baskets."""
        if self.rules is None:
            return split_node(self.cuts, node, child_of, self.m, self.k)
        return split_node_with_room(self.cuts, node, child_of, self.m, self.k, self.rules)

    def collapse(self, node: int) -> np.ndarray:
        """Publish everything under a node as this node; return whether each node is in its subtree.

        Whatever supported a node of the subtree supports this one. Known items may imply something sensitive
        then: where they do, nothing is changed, and no node is said to be in the subtree.
        """
        under, last = self.cuts.leaf, self.cuts.last[node]
        before, numbers = self.cuts.node.copy(), np.arange(len(self.parent))
        self.cuts.node[(under >= node) & (under <= last) & (self.cuts.node > node)] = node
        if self.rules is not None and tells_at(self.cuts, node, self.rules):
            self.cuts.node[:] = before
            return np.zeros(len(numbers), dtype=bool)
        return (numbers >= node) & (numbers <= last)

    def inner_costs(self) -> np.ndarray:
        """Per node what the occurrences of all items under it cost; 0 for leaves."""
        width = self.width[self.cuts.node]
        cost = np.bincount(self.cuts.node, weights=np.where(width > 1, width, 0), minlength=len(self.parent))
        for node in range(len(self.parent) - 1, 0, -1):
            cost[self.parent[node]] += cost[node]
        return np.where(self.width > 1, cost, 0.0)

    def _nodes_at(
        self, level: int, noise: np.random.Generator | None, within: np.ndarray | None
    ) -> list[int]:
        """The nodes of a level that are published and are no leaves, the most costly first."""
        node = self.cuts.node
        inner = node[(self.depth[node] == level) & (node != self.cuts.leaf)]
        cost = np.bincount(inner, minlength=len(self.parent)) * self.width
        nodes = np.flatnonzero(cost if within is None else cost * within)
        weight = cost[nodes].astype(np.float64)
        if noise is not None:
            weight *= np.exp(_NOISE * noise.standard_normal(len(nodes)))
        return nodes[np.argsort(-weight, kind="stable")].tolist()

    def _ancestors_at(self, level: int) -> np.ndarray:
        """Per node the node above it on a level, or itself where it is not below that level."""
        found = np.arange(len(self.parent))
        while (deeper := self.depth[found] > level).any():
            found[deeper] = self.parent[found[deeper]]
        return found


def _depths(parent: np.ndarray) -> np.ndarray:
    """How far each node is below the root."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    return depth


def _local_rules(problem: ItemsProblem, part: ItemsClass) -> LocalRules:
    """The rules of a class. Memory: O(records * rules)."""
    assert problem.confidence is not None
    longest = int(np.diff(part.offsets).max(initial=1))
    rooms = rooms_of(problem.confidence, [held[part.records] for held in problem.holds], len(part.records))
    nobody = np.zeros((0, len(part.records)), dtype=np.int64)
    return LocalRules(
        room=np.concatenate([nobody, *(room[None] for _, room in rooms)]),
        size=np.array([min(m, longest) for m, _ in rooms], dtype=np.int64),
    )

"""local-items: every basket is generalized no more than its own items require."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import ItemsClass, allows_shares, recode_each_class
from kohort.algorithms.items.cut_search import item_tree
from kohort.algorithms.items.kernels.item_cuts import tid_lists
from kohort.algorithms.items.kernels.itemsets import Baskets
from kohort.algorithms.items.kernels.local_confidence import LocalRules, split_node_with_room, tells_at
from kohort.algorithms.items.kernels.local_cuts import LocalCuts, split_node
from kohort.algorithms.items.sensitive import rooms_of
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem
from kohort.recoding.items import DROPPED, ItemNodes

_NOISE = 0.1  # of the logarithm of a node's cost


@dataclass(frozen=True)
class LocalItems(ItemsAlgorithm):
    """Local recoding: the same item may be published as itself in one basket and generalized in another.

    The aim of LRA (Terrovitis, Mamoulis and Kalnis, 2011) by other means. LRA sorts the baskets, cuts them
    into parts and recodes each part globally. Here every item begins as the root. Then, level by level, each
    node is published as its children in all baskets where that is safe: where every set of up to m nodes
    that a basket would show is supported by at least k baskets, wherever these are, and no other basket
    loses support that it needs. Where items may be dropped, the same is done without some dear ones, and the
    cheaper recoding is kept. At a time limit the recoding so far is used.

    O(levels * sets of up to m nodes in all baskets); memory for the baskets and bits for those under a node.

    >>> import pyarrow as pa, kohort as ko
    >>> bought = [["a1"], ["a1"], ["a1", "b1"], ["a2", "b1"], ["b1"]]
    >>> release = ko.anonymize(
    ...     pa.table({"items": bought}), items={"items": ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"]})},
    ...     privacy=[ko.KmAnonymity(2, 2)], algorithm=ko.LocalItems(), shuffle=False,
    ... )
    >>> release.table["items"].to_pylist()
    [['a1'], ['a1'], ['A', 'b1'], ['A', 'b1'], ['b1']]
    """

    name: ClassVar[str] = "local-items"
    summary: ClassVar[str] = (
        "baskets: local recoding, each basket generalized as little as it needs; loses far less than a cut"
    )
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis, Kalnis: Local and global recoding methods for anonymizing set-valued data, "
        "VLDB Journal 2011"
    )
    promise: ClassVar[str] = "no bound on the loss"

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        def recode(part: ItemsClass, run: Run) -> tuple[np.ndarray, list[str]]:
            recoding = LocalRecoding(problem, part)
            moved = recoding.search.descend(run)
            note = f"Nodes were published as their children {moved:,} times, counted by basket."
            if problem.suppress:
                recoding = lowered_by_drops(recoding, run)
            return recoding.nodes(), [note, *([_CUT_SHORT] if run.out_of_time else [])]

        return recode_each_class(problem, run, recode)


_CUT_SHORT = "Time ran out before every node was tried: items are more general than they need to be."


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
    def rules(self) -> LocalRules:
        """What known items must not imply. Memory: O(records * rules)."""
        longest = int(np.diff(self.part.offsets).max(initial=1))
        rooms = rooms_of(self.problem, self.part.records)
        nobody = np.zeros((0, len(self.part.records)), dtype=np.int64)
        return LocalRules(
            room=np.concatenate([nobody, *(room[None] for _, room in rooms)]),
            size=np.array([min(m, longest) for m, _ in rooms], dtype=np.int64),
        )

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
        if len(self.rules.size):
            return split_node_with_room(self.cuts, node, child_of, self.m, self.k, self.rules)
        return split_node(self.cuts, node, child_of, self.m, self.k)

    def collapse(self, node: int) -> np.ndarray:
        """Publish everything under a node as this node; return whether each node is in its subtree.

        Whatever supported a node of the subtree supports this one. Known items may imply something sensitive
        then: where they do, nothing is changed, and no node is said to be in the subtree.
        """
        under, last = self.cuts.leaf, self.cuts.last[node]
        before, numbers = self.cuts.node.copy(), np.arange(len(self.parent))
        self.cuts.node[(under >= node) & (under <= last) & (self.cuts.node > node)] = node
        if len(self.rules.size) and tells_at(self.cuts, node, self.rules):
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


class LocalRecoding:
    """A local recoding of the baskets of a class, with some items dropped; it begins with `*` for the others.

    kept  whether each occurrence of an item of the class is published
    """

    def __init__(self, problem: ItemsProblem, part: ItemsClass, kept: np.ndarray | bool = True) -> None:
        self.problem, self.part = problem, part
        self.kept = np.ones(len(part.occurrences), dtype=bool) & kept
        self.search = LocalSearch(problem, part.reduced(self.kept))

    @property
    def record(self) -> np.ndarray:
        """The record of each occurrence, by its place in the class."""
        return np.repeat(np.arange(len(self.part.records)), np.diff(self.part.offsets))

    def costs(self) -> np.ndarray:
        """What each occurrence costs: the leaves that it is published as; all of them where it is dropped."""
        nodes, width = self.nodes(), self.search.width
        return np.where(nodes == DROPPED, width[0], np.where(width[nodes] > 1, width[nodes], 0))

    def nodes(self) -> np.ndarray:
        """The node that each occurrence is published as, or DROPPED.

        An item that was to be dropped, but lies under a label of its basket, is published as that label: no
        label of a basket lies above another one, so that this is the last label that does not come after it.
        """
        nodes = np.full(len(self.kept), DROPPED, dtype=np.int64)
        nodes[self.kept] = self.search.cuts.node
        dropped = np.flatnonzero(~self.kept)
        if len(dropped) == len(self.kept):
            return nodes
        hierarchy, n = self.problem.hierarchy, len(self.search.parent)
        leaf = hierarchy.leaf_node[self.problem.leaves[self.part.occurrences[dropped]]].astype(np.int64)
        record = self.record
        shown = np.unique(record[self.kept] * n + nodes[self.kept])
        before = shown[np.maximum(np.searchsorted(shown, record[dropped] * n + leaf, side="right") - 1, 0)]
        label = before % n
        covered = (before // n == record[dropped]) & (label <= leaf) & (leaf <= self.search.cuts.last[label])
        nodes[dropped[covered]] = label[covered]
        return nodes


def lowered_by_drops(recoding: LocalRecoding, run: Run) -> LocalRecoding:
    """The recoding, or one of less cost in which items are dropped.

    Some sets of items are dropped, one after another, and the rest is recoded without them.
    """
    for proposed in _PROPOSALS:
        if run.out_of_time:
            break
        kept = recoding.kept & ~proposed(recoding)
        if (kept == recoding.kept).all() or not _may_show(recoding, kept):
            continue
        other = LocalRecoding(recoding.problem, recoding.part, kept)
        other.search.descend(run)
        if other.costs().sum() < recoding.costs().sum():
            recoding = other
    return recoding


def _may_show(recoding: LocalRecoding, kept: np.ndarray) -> bool:
    """Whether the baskets with some kept items may show that they have any: as `*`, to begin with."""
    problem, part = recoding.problem, recoding.part
    shown = part.records[np.diff(part.reduced(kept).offsets) > 0]
    return len(shown) >= problem.model.k and allows_shares(problem, shown, besides=1)


def _at_the_root(recoding: LocalRecoding) -> np.ndarray:
    """Items that are published as the root: to drop them costs no more."""
    return recoding.nodes() == 0


def _dearest_of_dear_baskets(recoding: LocalRecoding) -> np.ndarray:
    """The dearest item of every basket whose items cost more than one dropped item."""
    costs, record = recoding.costs(), recoding.record
    of_basket = np.bincount(record, weights=costs, minlength=len(recoding.part.records))
    by_cost = np.lexsort((-costs, record))
    first = np.unique(record[by_cost], return_index=True)[1]
    chosen = np.zeros(len(costs), dtype=bool)
    chosen[by_cost[first]] = True
    return chosen & (of_basket[record] > recoding.search.width[0])


def _rare_items(recoding: LocalRecoding) -> np.ndarray:
    """Items that fewer than k baskets have, where they are published as the half of all items or more."""
    search = recoding.search
    leaf = recoding.problem.leaves[recoding.part.occurrences]
    support = np.bincount(leaf, minlength=len(recoding.problem.hierarchy.leaves))
    rare = support[leaf] < recoding.problem.model.k
    return rare & (2 * recoding.costs() >= search.width[0])


_PROPOSALS = (_at_the_root, _rare_items, _dearest_of_dear_baskets, _dearest_of_dear_baskets)

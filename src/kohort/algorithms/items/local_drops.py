"""Local recodings in which some items are dropped from their baskets, where that lowers the loss."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.class_cuts import ItemsClass
from kohort.algorithms.items.local_search import LocalSearch
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import DROPPED


class LocalRecoding:
    """A local recoding of the baskets of a class, with some items dropped; it begins with `*` for the others.

    kept  whether each occurrence of an item of the class is published; None: all are
    """

    def __init__(self, problem: ItemsProblem, part: ItemsClass, kept: np.ndarray | None = None) -> None:
        self.problem, self.part = problem, part
        self.kept = np.ones(len(part.occurrences), dtype=bool) if kept is None else kept
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
    if len(shown) < problem.model.k:
        return False
    holders = [held[shown] for held in problem.holds]
    return problem.confidence is None or problem.confidence.allows_shares(holders, besides=1)


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

"""improve-items: local recoding that is taken apart and made again for as long as that lowers the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import ItemsClass, recode_each_class
from kohort.algorithms.items.cuts import AprioriItems
from kohort.algorithms.items.kernels.rare_packing import rare_packing
from kohort.algorithms.items.local import LocalItems, LocalRecoding, LocalSearch, lowered_by_drops
from kohort.algorithms.run import Run
from kohort.parameters import Within
from kohort.problem.items import ItemsProblem
from kohort.recoding.items import DROPPED, ItemNodes

_LARGEST_SHARE = 0.05  # of the leaves, under a node that is collapsed


@dataclass(frozen=True)
class ImproveItems(ItemsAlgorithm):
    """Ruin and recreate (Schrimpf et al., 2000) for local recodings of baskets, with a lower bound.

    Begins with two recodings: that of local-items, and the cut of apriori-items, from which each basket then
    descends by itself. From the better one, again and again one to three subtrees of the hierarchy are
    collapsed to their top nodes in all baskets and taken down again in another order. Collapsing is safe but
    where items are sensitive; then a subtree whose top node would imply one stays as it is. What costs more
    than before is undone, so that the loss is never above that of either start.

    rounds  how many times subtrees are collapsed; a time limit may end the search before

    The bound: a basket with a set of up to m items that fewer than k baskets have generalizes one of them.
    """

    name: ClassVar[str] = "improve-items"
    summary: ClassVar[str] = "baskets: improves a local recoding until time runs out, with a lower bound"
    paper: ClassVar[str] = f"{LocalItems.paper}; ruin and recreate: Schrimpf et al. (2000)"
    promise: ClassVar[str] = (
        "never above local-items or apriori-items; a proven lower bound on the least loss"
    )

    rounds: Annotated[int, Within(0, 1_000_000_000)] = 20

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        rng = np.random.default_rng(problem.seed)
        alone = problem.class_of_record is None
        bound = rare_item_bound(problem, run.share_of_time(0.2)) if alone else None

        def recode(part: ItemsClass, run: Run) -> tuple[np.ndarray, list[str]]:
            recoding = _started(problem, part, run)
            search = recoding.search
            before = search.cost
            tried = self._improve(search, rng, run)
            saved = 1 - search.cost / max(before, 1)
            return recoding.nodes(), [
                f"{tried:,} rounds of taking the recoding apart lowered the loss by {saved:.2%}."
            ]

        return replace(recode_each_class(problem, run, recode), bound=bound)

    def _improve(self, search: LocalSearch, rng: np.random.Generator, run: Run) -> int:
        """Collapse subtrees and descend again; undo what did not help. Returns the number of rounds."""
        best = search.cost
        silent = run.in_silence()
        for number in range(self.rounds):
            run.report("subtrees taken apart", number / self.rounds)
            if run.out_of_time or not best:
                return number
            before = search.cuts.node.copy()
            within = _ruined(search, rng)
            search.descend(silent, noise=rng, within=within)
            if search.cost > best:
                search.cuts.node[:] = before
            best = search.cost
        return self.rounds


def _started(problem: ItemsProblem, part: ItemsClass, run: Run) -> LocalRecoding:
    """The better of two starts: that of local-items, and the cut of apriori-items, taken further down."""
    down = LocalRecoding(problem, part)
    down.search.descend(run.share_of_time(0.5))
    if problem.suppress:
        down = lowered_by_drops(down, run.share_of_time(0.5))
    nodes = AprioriItems().solve(part.alone(problem), run.in_silence()).node_of_occurrence
    if (nodes == DROPPED).all():
        return down
    cut = LocalRecoding(problem, part, nodes != DROPPED)
    cut.search.cuts.node[:] = nodes[cut.kept]
    cut.search.descend(run.share_of_time(0.5))
    return cut if cut.costs().sum() < down.costs().sum() else down


def _ruined(search: LocalSearch, rng: np.random.Generator) -> np.ndarray:
    """Collapse one to three subtrees, drawn by what they cost; return whether each node is in one of them.

    Large subtrees are left alone where there are smaller ones: each round would take as long as the start.
    """
    cost = search.inner_costs()
    small = search.width <= max(search.width[0] * _LARGEST_SHARE, search.width[search.width > 1].min())
    chance = cost * small if (cost * small).any() else cost
    chosen = rng.choice(len(cost), size=int(rng.integers(1, 4)), p=chance / chance.sum())
    within = np.zeros(len(cost), dtype=bool)
    for node in chosen.tolist():
        within |= search.collapse(node)
    return within


_AT_ONCE = 200  # baskets between two looks at the clock


def rare_item_bound(problem: ItemsProblem, run: Run) -> float:
    """A lower bound on the NCP, for baskets that are one class.

    An item that fewer than k baskets have is published as a node that k baskets have an item under, or one
    above that. Of any other set of up to m items of a basket that fewer than k baskets have, one item is
    generalized, at least to the node above it. Sets of one basket that share no item add up. Where time runs
    out, the remaining baskets add what single items cost, so that the bound is lower but holds.
    """
    search = LocalSearch.of_all(problem)
    support = np.diff(search.cuts.tid_start)
    least = _least_widths(search.parent, search.width, support >= problem.model.k)
    above = np.where(search.parent >= 0, search.width[search.parent], search.width)
    n, total = len(problem.baskets), 0
    for begin in range(0, n, _AT_ONCE):
        m = 1 if run.out_of_time else problem.model.m
        end = min(begin + _AT_ONCE, n)
        total += rare_packing(search.cuts, least, above, m, problem.model.k, begin, end)
    return float(total) / len(problem.hierarchy.leaves) / max(len(problem.leaves), 1)


def _least_widths(parent: np.ndarray, width: np.ndarray, frequent: np.ndarray) -> np.ndarray:
    """Per node the width of the lowest frequent node at or above it, 0 for a leaf that is frequent itself."""
    lowest = np.zeros(len(parent), dtype=np.int64)
    for node in range(len(parent)):
        lowest[node] = node if frequent[node] or parent[node] < 0 else lowest[parent[node]]
    return np.where(width[lowest] > 1, width[lowest], 0)

"""optimal-items: the cut of the least loss, for some dozens of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Annotated, ClassVar

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import ItemsClass, cut_each_class
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.cuts import (
    AprioriItems,
    protect_and_refine,
    repair_by_size,
)
from kohort.algorithms.items.kernels.item_cuts import ItemCut
from kohort.algorithms.run import Run
from kohort.parameters import Within
from kohort.problem.items import ItemsProblem
from kohort.recoding.items import ItemNodes


@dataclass(frozen=True)
class OptimalItems(ItemsAlgorithm):
    """Optimal anonymization, OA (Terrovitis, Mamoulis and Kalnis, 2008, section 4.2), by best-first search.

    The paper goes through all cuts from the bottom up. Here a cut with a rare itemset is followed only by
    those that generalize one of its nodes, and the cheapest cut is examined first, so the first one without a
    rare itemset is optimal. An itemset that implies something sensitive is treated as a rare one: as long as
    its nodes stay, it does. Starts from apriori-items, and falls back to it after `most_cuts` cuts or at the
    time limit, with a lower bound on the least loss.

    Exponential in the number of items in the worst case; memory for `most_cuts` cuts.
    """

    name: ClassVar[str] = "optimal-items"
    summary: ClassVar[str] = (
        "baskets: finds the cut of the hierarchy with the least NCP; for a few dozen items"
    )
    paper: ClassVar[str] = AprioriItems.paper
    promise: ClassVar[str] = (
        "the least loss of all cuts if the search finishes; otherwise a lower bound on it"
    )

    most_cuts: Annotated[int, Within(1, 1_000_000_000)] = 20_000

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        bounds: list[float] = []

        def cut(search: CutSearch, part: ItemsClass, run: Run) -> list[str]:
            least = self._best_cut(problem, part, search, run)
            bounds.append(least)
            if least == search.cost:
                return []
            return ["The search stopped at its limit: the best cut so far is used."]

        found = cut_each_class(problem, run, cut)
        if problem.class_of_record is not None:
            return found
        return replace(found, bound=bounds[0] / len(problem.hierarchy.leaves) / max(len(problem.leaves), 1))

    def _best_cut(self, problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run) -> int:
        """Leave the best cut in the search, and return a lower bound on the least cost."""
        start, m = _Open(0, 0, _copied(search.cut), frozenset()), problem.model.m
        repair_by_size(search, m, run)
        _, sensitive = protect_and_refine(problem, part, search, run, refine=True)
        best = _copied(search.cut)
        most = search.cost
        heap, made = [start], 1
        least = 0
        while heap:
            if run.out_of_time or made > self.most_cuts:
                break
            state = heappop(heap)
            least = state.cost
            if least >= most:
                break
            search.cut = state.cut
            rare = search.first_rare(m) or sensitive.first_short()
            if not rare:
                return least
            for child in _children(search, state, rare):
                if child.cost < most:
                    heappush(heap, replace(child, number=made))
                    made += 1
            run.report("cuts", min(made / self.most_cuts, 0.99))
        else:
            least = most
        search.cut = best
        return min(least, most)


@dataclass(frozen=True, order=True)
class _Open:
    """A cut that is still to be examined.

    fixed  nodes that stay published or dropped as they are: neither they nor nodes above are generalized
    """

    cost: int
    number: int
    cut: ItemCut = field(compare=False)
    fixed: frozenset[int] = field(compare=False)


def _children(search: CutSearch, state: _Open, rare: list[int]) -> Iterator[_Open]:
    """The cuts that generalize or drop one node of a rare itemset; those after it keep the earlier nodes.

    Whatever recoding keeps the promise does one of these. A dropped node stays dropped, since the recodings
    in which it is generalized come from generalizing it at once: so costs only rise.
    """
    for place, node in enumerate(rare):
        above = int(search.tree.parent[node])
        fixed = state.fixed.union(rare[:place])
        if node in fixed:
            continue
        if not any(above < other <= search.tree.last[above] for other in fixed):
            search.cut = _copied(state.cut)
            search.generalize(above)
            yield _Open(search.cost, 0, search.cut, fixed)
        if state.cut.may_drop:
            search.cut = _copied(state.cut)
            search.drop(node)
            yield _Open(search.cost, 0, search.cut, fixed.union([node]))


def _copied(cut: ItemCut) -> ItemCut:
    return cut._replace(below=cut.below.copy(), cost=cut.cost.copy(), dropped=cut.dropped.copy())

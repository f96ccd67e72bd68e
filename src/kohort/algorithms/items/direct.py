"""direct-items: repair rare itemsets of all sizes in one walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.apriori import AprioriItems, climb_until_safe, protect_and_refine, repair_notes
from kohort.algorithms.items.class_cuts import ItemsClass, cut_each_class
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes


@dataclass(frozen=True)
class DirectItems(ItemsAlgorithm):
    """Direct anonymization, DA (Terrovitis, Mamoulis and Kalnis, 2008, Algorithm 3).

    One walk through the itemsets of up to m nodes, in the order of the paper's count-tree; a rare one is
    repaired as soon as it is met. Nothing is generalized before the walk, so there are many more itemsets
    than in apriori-items, and the loss is usually higher.

    O(itemsets of up to m nodes, with their ancestors, in all distinct baskets); memory for the baskets only.
    """

    name: ClassVar[str] = "direct-items"
    summary: ClassVar[str] = "baskets: generalizes rare itemsets of all sizes in one pass; for comparisons"
    paper: ClassVar[str] = AprioriItems.paper
    promise: ClassVar[str] = "no bound on the loss"

    refine: bool = True

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        m = problem.model.m

        def cut(search: CutSearch, part: ItemsClass, run: Run) -> list[str]:
            repairs = search.repair(min(m, search.longest), run.part("itemsets", 0.0, 1.0))
            climbed = climb_until_safe(search, m) if run.out_of_time else 0
            splits, sensitive = protect_and_refine(problem, part, search, run, refine=self.refine)
            return repair_notes(search, [repairs], climbed, splits, sensitive)

        return cut_each_class(problem, run, cut)

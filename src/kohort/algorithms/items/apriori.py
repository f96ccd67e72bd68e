"""apriori-items: repair rare itemsets of one item, then of two, and so on up to m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.items_algorithm import cut_each_class
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes

__all__ = ["AprioriItems", "repair_by_size", "told"]


@dataclass(frozen=True)
class AprioriItems:
    """Apriori anonymization, AA (Terrovitis, Mamoulis and Kalnis, 2008, Algorithm 4).

    Itemsets are visited in the order of the paper's count-tree. A rare one is repaired by the cheapest
    generalization of its items; what was generalized is passed over from then on, so that few itemsets are
    left when they get long. Last, nodes are published as their children again where that keeps the promise
    (`refine`).

    O(itemsets of up to m nodes of the cut, in all distinct baskets); memory for the baskets only.

    >>> import pyarrow as pa, kohort as ko
    >>> bought = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
    >>> release = ko.anonymize(
    ...     pa.table({"items": bought}), items={"items": ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"]})},
    ...     privacy=[ko.KmAnonymity(2, 2)], algorithm=ko.AprioriItems(),
    ... )
    >>> release.table["items"].to_pylist()
    [['A', 'b1', 'b2'], ['A', 'b1'], ['A', 'b1', 'b2'], ['A', 'b2']]
    """

    name: ClassVar[str] = "apriori-items"
    summary: ClassVar[str] = (
        "baskets: repairs rare itemsets of one item, of two, up to m; for data of any size"
    )
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis, Kalnis: Privacy-preserving anonymization of set-valued data, VLDB 2008"
    )
    promise: ClassVar[str] = "no bound on the loss"
    models: ClassVar[tuple[str, ...]] = ("km-anonymity",)
    costs: ClassVar[tuple[str, ...]] = ("ncp",)

    refine: bool = True

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        m = problem.model.m

        def cut(search: CutSearch, run: Run) -> list[str]:
            repairs = repair_by_size(search, m, run)
            return told(search, repairs, search.refine(m, run) if self.refine else 0)

        return cut_each_class(problem, run, cut)


def repair_by_size(search: CutSearch, m: int, run: Run) -> list[int]:
    """Repair rare itemsets of 1 node, of 2, up to m; how many of each."""
    repairs = []
    for size in range(1, m + 1):
        run.report(f"itemsets of {size}", (size - 1) / m)
        repairs.append(search.repair(size))
    run.report("itemsets", 1.0)
    return repairs


def told(search: CutSearch, repairs: list[int], splits: int) -> list[str]:
    """What was done, in a sentence."""
    by_size = ", ".join(f"{n:,}" for n in repairs)
    return [
        f"Rare itemsets repaired: {by_size}; nodes published as their children again: {splits:,}; baskets "
        f"and lists took {search.bytes() / 1e6:,.1f} MB."
    ]

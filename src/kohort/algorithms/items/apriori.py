"""apriori-items: repair rare itemsets of one item, then of two, and so on up to m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import ItemsClass, cut_each_class
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.refine_cut import refine as refine_cut
from kohort.algorithms.items.sensitive import SensitiveItems
from kohort.algorithms.run import Run
from kohort.errors import counted
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes


@dataclass(frozen=True)
class AprioriItems(ItemsAlgorithm):
    """Apriori anonymization, AA (Terrovitis, Mamoulis and Kalnis, 2008, Algorithm 4).

    Itemsets are visited in the order of the paper's count-tree. A rare one is repaired by the cheapest
    generalization of its items or, where that is allowed and costs less, by dropping some; such nodes are
    skipped from then on, so that few itemsets are left when they get long. Last, nodes are published as their
    children again where that keeps the promise (`refine`). At a time limit the nodes of itemsets that are
    still rare are generalized level by level until none is rare.

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
        "baskets: generalizes rare itemsets of one item, then of two, up to m; for data of any size"
    )
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis, Kalnis: Privacy-preserving anonymization of set-valued data, VLDB 2008"
    )
    promise: ClassVar[str] = "no bound on the loss"

    refine: bool = True

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        def cut(search: CutSearch, part: ItemsClass, run: Run) -> list[str]:
            repairs, climbed = repair_by_size(search, problem.model.m, run)
            splits, sensitive = protect_and_refine(problem, part, search, run, refine=self.refine)
            return repair_notes(search, repairs, climbed, splits, sensitive)

        return cut_each_class(problem, run, cut)


def repair_by_size(search: CutSearch, m: int, run: Run) -> tuple[list[int], int]:
    """Repair rare itemsets of 1 node, then of 2, and so on up to m.

    Returns how many of each size were repaired, and how many nodes climbed because time ran out.
    """
    sizes, repairs = range(1, min(m, search.longest) + 1), []
    for size in sizes:
        part = run.part(f"itemsets of {size}", (size - 1) / len(sizes), size / len(sizes))
        repairs.append(search.repair(size, part))
        if run.out_of_time:
            break
    climbed = climb_until_safe(search, m, begin=len(repairs)) if run.out_of_time else 0
    run.report("itemsets", 1.0)
    return repairs, climbed


def climb_until_safe(search: CutSearch, m: int, *, begin: int = 1) -> int:
    """Generalize level by level, once time is out, until no itemset is rare. Returns how many nodes climbed.

    begin  itemsets of fewer nodes than this are known to be frequent
    """
    return sum(search.climb(size) for size in range(begin, min(m, search.longest) + 1))


def protect_and_refine(
    problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run, *, refine: bool
) -> tuple[int, SensitiveItems | None]:
    """Keep sensitive items from being revealed, then undo generalizations that are not needed.

    Returns how many nodes were published as their children again, and the search for sensitive items.
    """
    sensitive = sensitive_items(problem, part, search)
    if sensitive is not None:
        sensitive.repair(run)
        # an item that was dropped comes back under a label, and may make itemsets rare again
        while search.cut.may_drop and search.first_rare(problem.model.m):
            repair_by_size(search, problem.model.m, run)
            sensitive.repair(run)
    if not refine:
        return 0, sensitive
    may_publish = None if sensitive is None else sensitive.may_publish
    return refine_cut(search, problem.model.m, run, may_publish=may_publish), sensitive


def sensitive_items(problem: ItemsProblem, part: ItemsClass, search: CutSearch) -> SensitiveItems | None:
    """The search for itemsets of a class that imply something sensitive; None where nothing is."""
    if problem.confidence is None:
        return None
    leaves, holds = problem.leaves[part.occurrences], [held[part.records] for held in problem.holds]
    return SensitiveItems(part.offsets, leaves, holds, problem.confidence, search)


def repair_notes(
    search: CutSearch, repairs: list[int], climbed: int, splits: int, sensitive: SensitiveItems | None
) -> list[str]:
    """Notes for the user on what a search did."""
    by_size = ", ".join(f"{n:,}" for n in repairs)
    notes = [
        f"Rare itemsets repaired: {by_size}; nodes published as their children again: {splits:,}; baskets "
        f"and lists took {search.bytes() / 1e6:,.1f} MB."
    ]
    if sensitive is not None:
        notes.append(f"Itemsets repaired that revealed a sensitive item: {sensitive.repairs:,}.")
        climbed += sensitive.climbed
    if climbed:
        notes.append(
            f"Time ran out before every itemset was repaired at the least cost: "
            f"{counted(climbed, 'node was', 'nodes were')} generalized level by level instead."
        )
    return notes

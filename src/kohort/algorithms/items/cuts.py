"""Global recodings of baskets: cuts of the hierarchy, repaired until no itemset is rare, then refined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import ItemsClass, cut_each_class
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.local import LocalItems
from kohort.algorithms.items.sensitive import SensitiveItems
from kohort.algorithms.run import Run
from kohort.errors import counted
from kohort.parameters import Within
from kohort.problem.items import ItemsProblem
from kohort.recoding.items import ItemNodes


class _Cuts(ItemsAlgorithm):
    """A cut of the hierarchy for each class: rare itemsets are repaired, then the cut is refined.

    refine  whether nodes are published as their children again, last, where that keeps the promise
    """

    promise: ClassVar[str] = "no bound on the loss"
    refine: bool

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        def cut(search: CutSearch, part: ItemsClass, run: Run) -> list[str]:
            repairs, climbed = self.repair(problem, part, search, run)
            splits, sensitive = protect_and_refine(problem, part, search, run, refine=self.refine)
            return _notes(search, repairs, climbed, splits, sensitive)

        return cut_each_class(problem, run, cut)

    @abstractmethod
    def repair(
        self, problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run
    ) -> tuple[list[int], int]:
        """Repair all rare itemsets of a class.

        Returns how many were repaired, by size, and how many nodes climbed because time ran out.
        """


@dataclass(frozen=True)
class AprioriItems(_Cuts):
    """Apriori anonymization, AA (Terrovitis, Mamoulis and Kalnis, 2008, Algorithm 4).

    Itemsets are visited in the order of the paper's count-tree. A rare one is repaired by the cheapest
    generalization of its items or, where that is allowed and costs less, by dropping some; such nodes are
    skipped from then on, so that few itemsets are left when they get long. Last, nodes are published as their
    children again where that keeps the promise; the paper's algorithm, which does not, is `refine=False`. At
    a time limit the nodes of itemsets that are still rare are generalized level by level until none is rare.

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

    refine: bool = True

    def repair(
        self, problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run
    ) -> tuple[list[int], int]:
        return repair_by_size(search, problem.model.m, run)


@dataclass(frozen=True)
class DirectItems(_Cuts):
    """Direct anonymization, DA (Terrovitis, Mamoulis and Kalnis, 2008, Algorithm 3).

    One walk through the itemsets of up to m nodes, in the order of the paper's count-tree; a rare one is
    repaired as soon as it is met. Nothing is generalized before the walk, so there are many more itemsets
    than in apriori-items, and the loss is usually higher. The paper's algorithm does not refine the cut last:
    `refine=False`.

    O(itemsets of up to m nodes, with their ancestors, in all distinct baskets); memory for the baskets only.
    """

    name: ClassVar[str] = "direct-items"
    summary: ClassVar[str] = "baskets: generalizes rare itemsets of all sizes in one pass; for comparisons"
    paper: ClassVar[str] = AprioriItems.paper

    refine: bool = True

    def repair(
        self, problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run
    ) -> tuple[list[int], int]:
        m = problem.model.m
        repairs = search.repair(min(m, search.longest), run.part("itemsets", 0.0, 1.0))
        return [repairs], _climb_until_safe(search, m) if run.out_of_time else 0


@dataclass(frozen=True)
class VerticalItems(_Cuts):
    """Vertical partitioning, VPA (Terrovitis, Mamoulis and Kalnis, 2011): a cut, found part by part.

    The leaves of the hierarchy are cut into runs that occur about equally often. The items of each run are
    repaired as apriori-items does it, as if baskets had no others: there are far fewer itemsets. The cuts of
    all runs together are one cut of the hierarchy, in which itemsets across runs are then repaired. As in
    apriori-items, an item is published the same way in every basket, and nodes are refined last.

    parts  how many runs the items are cut into
    """

    name: ClassVar[str] = "vertical-items"
    summary: ClassVar[str] = "baskets: repairs parts of the items by themselves, then itemsets across parts"
    paper: ClassVar[str] = LocalItems.paper

    parts: Annotated[int, Within(1, 1_000_000)] = 4
    refine: bool = True

    def repair(
        self, problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run
    ) -> tuple[list[int], int]:
        leaves = problem.leaves[part.occurrences]
        for inside in _runs_of_leaves(leaves, len(problem.hierarchy.leaves), self.parts):
            _cut_part(problem, part.reduced(inside[leaves]), search, run.in_silence())
        return repair_by_size(search, problem.model.m, run)


def _runs_of_leaves(leaves: np.ndarray, n_leaves: int, n_runs: int) -> Iterator[np.ndarray]:
    """Whether each leaf is in a run of neighbouring leaves that occur about equally often, run by run."""
    occurrences = np.bincount(leaves, minlength=n_leaves)
    before = np.cumsum(occurrences) - occurrences
    run_of_leaf = before * n_runs // max(len(leaves), 1)
    for number in np.unique(run_of_leaf):
        yield run_of_leaf == number


def _cut_part(problem: ItemsProblem, part: ItemsClass, whole: CutSearch, run: Run) -> None:
    """Repair the itemsets of some items of a class, and generalize in the whole cut what that needs."""
    if part.filled < whole.k:
        return  # no cut below the root would do: left to the repairs across parts
    search = part.search(problem, may_drop=whole.cut.may_drop)
    repair_by_size(search, problem.model.m, run)
    for node in np.flatnonzero(search.in_cut & ~search.is_leaf).tolist():
        if not whole.cut.below[node]:
            whole.generalize(node)
    for node in np.flatnonzero(search.in_cut & search.cut.dropped & (search.support > 0)).tolist():
        if not whole.cut.below[node]:
            whole.drop(node)


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
    climbed = _climb_until_safe(search, m, begin=len(repairs)) if run.out_of_time else 0
    run.report("itemsets", 1.0)
    return repairs, climbed


def _climb_until_safe(search: CutSearch, m: int, *, begin: int = 1) -> int:
    """Generalize level by level, once time is out, until no itemset is rare. Returns how many nodes climbed.

    begin  itemsets of fewer nodes than this are known to be frequent
    """
    return sum(search.climb(size) for size in range(begin, min(m, search.longest) + 1))


def protect_and_refine(
    problem: ItemsProblem, part: ItemsClass, search: CutSearch, run: Run, *, refine: bool
) -> tuple[int, SensitiveItems]:
    """Keep sensitive items from being revealed, then undo generalizations that are not needed.

    Returns how many nodes were published as their children again, and the search for sensitive items.
    """
    sensitive, m = SensitiveItems(problem, part, search), problem.model.m
    sensitive.repair(run)
    # an item that was dropped comes back under a label, and may make itemsets rare again
    while sensitive.sizes and search.cut.may_drop and search.first_rare(m):
        repair_by_size(search, m, run)
        sensitive.repair(run)
    return _refined(search, m, sensitive, run) if refine else 0, sensitive


def _notes(
    search: CutSearch, repairs: list[int], climbed: int, splits: int, sensitive: SensitiveItems
) -> list[str]:
    """Notes for the user on what a search did."""
    by_size = ", ".join(f"{n:,}" for n in repairs)
    notes = [
        f"Rare itemsets repaired: {by_size}; nodes published as their children again: {splits:,}; baskets "
        f"and lists took {search.bytes() / 1e6:,.1f} MB."
    ]
    if sensitive.sizes:
        notes.append(f"Itemsets repaired that revealed a sensitive item: {sensitive.repairs:,}.")
    climbed += sensitive.climbed
    if climbed:
        notes.append(
            f"Time ran out before every itemset was repaired at the least cost: "
            f"{counted(climbed, 'node was', 'nodes were')} generalized level by level instead."
        )
    return notes


def _refined(search: CutSearch, m: int, sensitive: SensitiveItems, run: Run) -> int:
    """Publish nodes of the cut as their children, and dropped nodes as themselves, where that is safe.

    The most costly first. Where items may be dropped, a node is also split if some children must be dropped
    for that, as long as it costs less. Returns how many nodes were changed. What cannot be done now cannot be
    done later, since there are ever more itemsets, so every node is tried once in either way.
    """
    candidates = np.flatnonzero(search.in_cut & (search.cut.dropped | ~search.is_leaf)).tolist()
    gains = [(-_gain(search, node), node) for node in candidates]
    heapify(gains)
    done = 0
    while gains and not run.out_of_time:
        _, node = heappop(gains)
        shown = _shown_instead(search, node, m)
        if not shown or not sensitive.may_publish(node, shown):
            continue
        _publish(search, node, shown)
        done += 1
        for other in shown:
            if not search.is_leaf[other]:
                heappush(gains, (-_gain(search, other), other))
    return done


def _gain(search: CutSearch, node: int) -> int:
    """How much less the items under a node cost after a change of it, if nothing is dropped."""
    cost = search.tree.cost
    if search.cut.dropped[node]:
        return int(search.tree.dropped_cost[node] - cost[node])
    return int(cost[node] - cost[search.children(node)].sum())


def _shown_instead(search: CutSearch, node: int, m: int) -> list[int]:
    """The nodes to publish in place of a node; empty where it must stay as it is."""
    options = [node] if search.cut.dropped[node] else search.children(node).tolist()
    keep = search.published
    keep[node], keep[options] = False, True
    shown = []
    for option in sorted(options, key=lambda option: search.support[option]):
        keep[option] = False
        if not search.rare_with(option, keep, m):
            keep[option] = True
            shown.append(option)
        elif not search.cut.may_drop:
            return []
    if len(shown) == len(options):
        return shown
    cost = search.tree.cost[shown].sum()
    cost += search.tree.dropped_cost[[option for option in options if not keep[option]]].sum()
    return shown if cost < search.tree.cost[node] and node not in options else []


def _publish(search: CutSearch, node: int, shown: list[int]) -> None:
    """Publish a dropped node as itself, or a node as some of its children; the others are dropped."""
    if search.cut.dropped[node]:
        search.generalize(node)
        return
    search.split(node)
    for child in search.children(node).tolist():
        if child not in shown:
            search.drop(child)

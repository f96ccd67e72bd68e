"""vertical-items: the items are cut into parts, each part is repaired by itself, then all together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.apriori import protect_and_refine, repair_by_size, repair_notes
from kohort.algorithms.items.class_cuts import ItemsClass, cut_class, recode_each_class
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.local import LocalItems
from kohort.algorithms.run import Run
from kohort.parameters import Within
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes


@dataclass(frozen=True)
class VerticalItems(ItemsAlgorithm):
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
    promise: ClassVar[str] = "no bound on the loss"

    parts: Annotated[int, Within(1, 1_000_000)] = 4
    refine: bool = True

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        def recode(part: ItemsClass, run: Run) -> tuple[np.ndarray, list[str]]:
            leaves = problem.leaves[part.occurrences]

            def cut(search: CutSearch, part: ItemsClass, run: Run) -> list[str]:
                for inside in _runs_of_leaves(leaves, len(problem.hierarchy.leaves), self.parts):
                    _cut_part(search, part.offsets, leaves, inside[leaves], problem, run.in_silence())
                repairs, climbed = repair_by_size(search, problem.model.m, run)
                splits, sensitive = protect_and_refine(problem, part, search, run, refine=self.refine)
                return repair_notes(search, repairs, climbed, splits, sensitive)

            return cut_class(problem, part, run, cut)

        return recode_each_class(problem, run, recode)


def _runs_of_leaves(leaves: np.ndarray, n_leaves: int, n_runs: int) -> Iterator[np.ndarray]:
    """Whether each leaf is in a run of neighbouring leaves that occur about equally often, run by run."""
    occurrences = np.bincount(leaves, minlength=n_leaves)
    before = np.cumsum(occurrences) - occurrences
    run_of_leaf = before * n_runs // max(len(leaves), 1)
    for number in np.unique(run_of_leaf):
        yield run_of_leaf == number


def _cut_part(
    whole: CutSearch,
    offsets: np.ndarray,
    leaves: np.ndarray,
    inside: np.ndarray,
    problem: ItemsProblem,
    run: Run,
) -> None:
    """Repair the itemsets of one part of the items, and generalize in the whole cut what that needs.

    inside  whether each occurrence is of an item of the part
    """
    before = np.concatenate([[0], np.cumsum(inside)])
    part_offsets = before[offsets]
    if int((np.diff(part_offsets) > 0).sum()) < whole.k:
        return  # no cut below the root would do: left to the repairs across parts
    search = CutSearch(part_offsets, leaves[inside], problem.hierarchy, whole.k, may_drop=whole.cut.may_drop)
    repair_by_size(search, problem.model.m, run)
    for node in np.flatnonzero(search.in_cut & ~search.is_leaf).tolist():
        if not whole.cut.below[node]:
            whole.generalize(node)
    for node in np.flatnonzero(search.in_cut & search.cut.dropped & (search.support > 0)).tolist():
        if not whole.cut.below[node]:
            whole.drop(node)

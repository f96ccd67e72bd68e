"""One cut of the hierarchy per equivalence class, as all algorithms for items make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.run import Run
from kohort.errors import counted
from kohort.problem.items import ItemsProblem
from kohort.recoding.items import DROPPED, ItemNodes


class ItemsClass:
    """The baskets of one class, and the places of its items in the whole table."""

    def __init__(self, records: np.ndarray, offsets: np.ndarray, occurrences: np.ndarray) -> None:
        self.records, self.offsets, self.occurrences = records, offsets, occurrences

    @classmethod
    def of(cls, problem: ItemsProblem, records: np.ndarray) -> ItemsClass:
        """All items of some records."""
        starts, sizes = problem.baskets.offsets[records], problem.baskets.sizes[records]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(records, offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes))

    @property
    def filled(self) -> int:
        """How many records of the class have items."""
        return int((np.diff(self.offsets) > 0).sum())

    def reduced(self, kept: np.ndarray) -> ItemsClass:
        """The same baskets with some of their items."""
        before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        return ItemsClass(self.records, before[self.offsets], self.occurrences[kept])

    def tells_too_much(self, problem: ItemsProblem) -> bool:
        """Whether too large a share of the class, or of its baskets with items, holds something sensitive."""
        filled = self.records[np.diff(self.offsets) > 0]
        return problem.class_of_record is not None and not (
            allows_shares(problem, self.records) and allows_shares(problem, filled, besides=1)
        )

    def alone(self, problem: ItemsProblem) -> ItemsProblem:
        """The problem that the baskets of this class pose by themselves."""
        items = problem.baskets.items
        baskets = replace(
            problem.baskets,
            items=replace(items, codes=items.codes[self.occurrences]),
            offsets=self.offsets,
            missing=problem.baskets.missing[self.records],
        )
        holds = [held[self.records] for held in problem.holds]
        return replace(problem, baskets=baskets, class_of_record=None, holds=holds)

    def search(self, problem: ItemsProblem, *, may_drop: bool) -> CutSearch:
        """The search for a cut, which starts at the items themselves."""
        leaves = problem.leaves[self.occurrences]
        return CutSearch(self.offsets, leaves, problem.hierarchy, problem.model.k, may_drop=may_drop)


def allows_shares(problem: ItemsProblem, records: np.ndarray, *, besides: int = 0) -> bool:
    """Whether some records may hold their sensitive items if nothing else of them is known.

    besides  1 where it is known that they have other items
    """
    holds = [held[records] for held in problem.holds]
    return problem.confidence is None or problem.confidence.allows_shares(holds, besides=besides)


Cut = Callable[[CutSearch, ItemsClass, Run], list[str]]
"""Completes the search for a cut of a class, and returns notes."""


def cut_each_class(problem: ItemsProblem, run: Run, cut: Cut) -> ItemNodes:
    """Cut the hierarchy for every class by itself.

    Where dropped items would leave too many holders of a sensitive item among the baskets that still have
    others, nothing is dropped.
    """

    def recode(part: ItemsClass, run: Run) -> tuple[np.ndarray, list[str]]:
        leaves = problem.leaves[part.occurrences]
        search = part.search(problem, may_drop=problem.suppress)
        notes = cut(search, part, run)
        nodes = search.node_of_leaf()[leaves]
        shown = part.records[np.diff(part.reduced(nodes != DROPPED).offsets) > 0]
        if (nodes == DROPPED).any() and not allows_shares(problem, shown, besides=1):
            search = part.search(problem, may_drop=False)
            notes = [*cut(search, part, run), _NOT_DROPPED]
            nodes = search.node_of_leaf()[leaves]
        return nodes, notes

    return recode_each_class(problem, run, recode)


_NOT_DROPPED = (
    "No item is dropped: too large a share of the baskets that still had items would hold a sensitive one."
)


def recode_each_class(
    problem: ItemsProblem, run: Run, recode: Callable[[ItemsClass, Run], tuple[np.ndarray, list[str]]]
) -> ItemNodes:
    """Recode the items of every class by itself.

    Those of a class are withheld where fewer than k records have any, or too many hold a sensitive item.

    recode  returns the nodes of a class's occurrences, and notes, which are kept if there is only one class
    """
    node = np.full(len(problem.leaves), -1, dtype=np.int64)
    withheld = np.zeros(len(problem.baskets), dtype=bool)
    classes = [ItemsClass.of(problem, records) for records in records_of_classes(problem)]
    notes: list[str] = []
    for number, part in enumerate(classes):
        filled = part.filled
        if 0 < filled < problem.model.k or part.tells_too_much(problem):
            withheld[part.records] = True
        elif filled:
            node[part.occurrences], notes = recode(part, run if len(classes) == 1 else run.in_silence())
        if len(classes) > 1:
            run.report("items of every class", (number + 1) / len(classes))
    if withheld.any():
        notes = [
            f"The items of {counted(int(withheld.sum()), 'record')} are withheld: fewer than k records of "
            "the same class have any"
            + (", or too many of them hold a sensitive one." if problem.confidence is not None else ".")
        ]
    elif len(classes) > 1:
        notes = []
    return ItemNodes(node, withheld, notes=tuple(notes))


def records_of_classes(problem: ItemsProblem) -> list[np.ndarray]:
    """The records of each class; without classes, all of them."""
    classes = problem.class_of_record
    if classes is None:
        return [np.arange(len(problem.baskets))]
    order = np.argsort(classes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)

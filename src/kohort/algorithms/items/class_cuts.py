"""One cut of the hierarchy per equivalence class, as all algorithms for items make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.run import Run
from kohort.errors import counted
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes

__all__ = ["ItemsClass", "cut_each_class", "recode_each_class"]


class ItemsClass:
    """The baskets of one class, and the places of its items in the whole table."""

    def __init__(self, problem: ItemsProblem, records: np.ndarray) -> None:
        starts, sizes = problem.baskets.offsets[records], problem.baskets.sizes[records]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.occurrences = np.arange(self.offsets[-1]) + np.repeat(starts - self.offsets[:-1], sizes)
        self.records = records
        self.filled = int((sizes > 0).sum())

    def alone(self, problem: ItemsProblem) -> ItemsProblem:
        """The problem that the baskets of this class pose by themselves."""
        items = problem.baskets.items
        baskets = replace(
            problem.baskets,
            items=replace(items, codes=items.codes[self.occurrences]),
            offsets=self.offsets,
            missing=problem.baskets.missing[self.records],
        )
        return replace(problem, baskets=baskets, class_of_record=None)

    def search(self, problem: ItemsProblem) -> CutSearch:
        return CutSearch(self.offsets, problem.leaves[self.occurrences], problem.hierarchy, problem.model.k)


def cut_each_class(problem: ItemsProblem, run: Run, cut: Callable[[CutSearch, Run], list[str]]) -> ItemNodes:
    """Cut the hierarchy for every class by itself.

    cut  completes a search, and returns notes
    """

    def recode(part: ItemsClass, run: Run) -> tuple[np.ndarray, list[str]]:
        search = part.search(problem)
        notes = cut(search, run)
        return search.node_of_leaf()[problem.leaves[part.occurrences]], notes

    return recode_each_class(problem, run, recode)


def recode_each_class(
    problem: ItemsProblem, run: Run, recode: Callable[[ItemsClass, Run], tuple[np.ndarray, list[str]]]
) -> ItemNodes:
    """Recode the items of every class by itself; those of a class where fewer than k records have any are
    withheld.

    recode  returns the nodes of a class's occurrences, and notes, which are kept if there is only one class
    """
    node = np.full(len(problem.leaves), -1, dtype=np.int64)
    withheld = np.zeros(len(problem.baskets), dtype=bool)
    classes = list(_classes(problem))
    notes: list[str] = []
    for number, part in enumerate(classes):
        if 0 < part.filled < problem.model.k:
            withheld[part.records] = True
        elif part.filled:
            node[part.occurrences], notes = recode(part, run if len(classes) == 1 else run.in_silence())
        if len(classes) > 1:
            run.report("items of every class", (number + 1) / len(classes))
    if withheld.any():
        notes = [
            f"The items of {counted(int(withheld.sum()), 'record')} are withheld: fewer than k records of "
            "the same class have any."
        ]
    elif len(classes) > 1:
        notes = []
    return ItemNodes(node, withheld, notes=tuple(notes))


def _classes(problem: ItemsProblem) -> Iterator[ItemsClass]:
    if problem.class_of_record is None:
        yield ItemsClass(problem, np.arange(len(problem.baskets)))
        return
    order = np.argsort(problem.class_of_record, kind="stable")
    ends = np.flatnonzero(np.diff(problem.class_of_record[order])) + 1
    for records in np.split(order, ends):
        yield ItemsClass(problem, records)

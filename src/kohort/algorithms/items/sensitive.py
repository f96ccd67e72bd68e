"""Sensitive items: a cut is generalized further until no itemset implies one with too high a confidence."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.class_cuts import ItemsClass
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.kernels.item_cuts import any_gone, repair
from kohort.algorithms.items.kernels.itemsets import Baskets, collapsed, picked
from kohort.algorithms.items.kernels.local_confidence import short_of_room
from kohort.algorithms.run import Run
from kohort.errors import InputError
from kohort.problem.items import ItemsProblem

_AT_ONCE = 10_000  # itemsets that are collected before they are repaired


def rooms_of(problem: ItemsProblem, records: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """For every rule how many items may be known, and the room that it leaves in each of some records."""
    if problem.confidence is None:
        return []
    limit = problem.confidence.limit_among(len(records))
    if limit.denominator * (len(records) + 1) >= 2**62:
        raise InputError("The limit on the confidence has too many digits. Round it.")
    return [
        (rule.m, limit.numerator * rule.known - limit.denominator * rule.held)
        for rule in problem.confidence.rules([held[records] for held in problem.holds])
        if rule.m > 0
    ]


class SensitiveItems:
    """A search for a cut within a limit on confidence, by the room that the limit leaves in each basket.

    Generalizing may take room away from other itemsets, so these are examined again until all have enough.
    This terminates, since the cut only rises and the root has room; k^m-anonymity survives it. Where
    sensitive items may be known, each set of them leaves room of its own, in the baskets that hold it.
    Memory: O(distinct baskets * rules): one for each sensitive item and set of them that may be known.
    """

    def __init__(self, problem: ItemsProblem, part: ItemsClass, search: CutSearch) -> None:
        self.search = search
        self.repairs = self.climbed = 0
        rooms, leaves = rooms_of(problem, part.records), problem.leaves[part.occurrences].astype(np.int32)
        self.sizes = [min(m, search.longest) for m, _ in rooms]
        per_rule = [collapsed(Baskets(part.offsets, leaves, room)).weight for _, room in rooms]
        n = len(search.baskets.weight)
        self.rooms = np.column_stack([np.zeros((n, 0), dtype=np.int64), *per_rule])
        self.lists = search.lists._replace(rooms=self.rooms)

    @property
    def m(self) -> int:
        """The size of the largest itemsets that must have room."""
        return max(self.sizes, default=0)

    def repair(self, run: Run) -> None:
        """Repair itemsets of one node, then of up to two, and so on to m, until none is short of room.

        Each is repaired at the least cost; when time is out, all nodes of such itemsets are generalized level
        by level instead.
        """
        n_rules = len(self.sizes)
        if not n_rules:
            return
        for size in range(1, self.m + 1):
            rule = settled = rounds = 0
            while settled < n_rules:
                run.report("sensitive items", (size - 1 / (rounds + 1)) / self.m)
                short = self._short(rule, size, most=_AT_ONCE)
                if len(short):
                    self._repair_each(short, run)
                    settled, rounds = 0, rounds + 1
                else:
                    settled, rule = settled + 1, (rule + 1) % n_rules
        run.report("sensitive items", 1.0)

    def first_short(self) -> list[int]:
        """The nodes of an itemset of the cut that is short of room; empty if there is none."""
        for rule, size in enumerate(self.sizes):
            for itemset in self._short(rule, size, most=1):
                return itemset[itemset >= 0].tolist()
        return []

    def may_publish(self, node: int, shown: list[int]) -> bool:
        """Whether every itemset would still have room if nodes were published in place of one node."""
        search, keep = self.search, self.search.published
        keep[node], keep[shown] = False, True
        for child in shown if self.sizes else []:
            tids = search.tids(child)
            if (self.rooms[tids].sum(axis=0) < 0).any():
                return False
            keep[child] = False
            for rule, size in enumerate(self.sizes):
                within = picked(self._baskets(rule), tids)
                if size > 1 and len(self._short_among(within, keep, size - 1, most=1)):
                    return False
            keep[child] = True
        return True

    def _repair_each(self, short: np.ndarray, run: Run) -> None:
        """Repair itemsets one by one, except those with a node that an earlier repair generalized."""
        search = self.search
        for itemset in short:
            if run.out_of_time:
                nodes = np.unique(short[short >= 0])
                nodes = nodes[search.published[nodes]]
                search.climb_from(nodes)
                self.climbed += len(nodes)
                break
            nodes = itemset[itemset >= 0]
            if not any_gone(search.cut, nodes):
                repair(search.tree, search.cut, self.lists, nodes, search.k)
                self.repairs += 1

    def _short(self, rule: int, size: int, *, most: int) -> np.ndarray:
        """Itemsets of up to `size` nodes of the cut that are short of room by a rule; -1 in unused places."""
        size = min(size, self.sizes[rule])
        return self._short_among(self._baskets(rule), self.search.published, size, most=most)

    def _short_among(self, baskets: Baskets, keep: np.ndarray, size: int, *, most: int) -> np.ndarray:
        shown, nodes = self.search.shown_as(keep, baskets)
        found, number = np.empty((most, size), dtype=np.int64), np.zeros(1, dtype=np.int64)
        short_of_room(shown, len(nodes), size, found, number, np.full(size, -1, dtype=np.int64), 0)
        return np.append(nodes, -1)[found[: number[0]]]

    def _baskets(self, rule: int) -> Baskets:
        """The distinct baskets, weighted by the room that a rule leaves in them."""
        return self.search.baskets._replace(weight=np.ascontiguousarray(self.rooms[:, rule]))

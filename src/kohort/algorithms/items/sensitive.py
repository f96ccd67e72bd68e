"""Sensitive items: a cut is generalized further until no itemset implies one with too high a confidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.kernels.item_confidence import short_of_room
from kohort.algorithms.items.kernels.item_cuts import any_gone, repair
from kohort.algorithms.items.kernels.itemsets import Baskets, collapsed, picked
from kohort.algorithms.run import Run
from kohort.errors import InputError
from kohort.problem.models import ItemConfidence

__all__ = ["SensitiveItems"]

_AT_ONCE = 10_000  # itemsets that are collected before they are repaired


class SensitiveItems:
    """A search for a cut within a limit on confidence, by the room that the limit leaves in each basket.

    Generalizing may take room away from other itemsets, so these are examined again until all have enough.
    This terminates, since the cut only rises and the root has room; k^m-anonymity survives it.
    Memory: O(distinct baskets * sensitive items).
    """

    def __init__(
        self,
        offsets: np.ndarray,
        leaves: np.ndarray,
        holds: Sequence[np.ndarray],
        confidence: ItemConfidence,
        search: CutSearch,
    ) -> None:
        self.search, self.m = search, min(confidence.m, search.longest)
        self.repairs = self.climbed = 0
        limit = confidence.asked
        if limit.denominator * len(offsets) >= 2**62:
            raise InputError("The 'limit' on the confidence has too many digits. Round it.")
        leaves = leaves.astype(np.int32)
        per_item = [
            collapsed(Baskets(offsets, leaves, limit.numerator - limit.denominator * held)).weight
            for held in holds
        ]
        n = len(search.baskets.weight)
        self.rooms = np.column_stack([np.zeros((n, 0), dtype=np.int64), *per_item])
        self.lists = search.lists._replace(rooms=self.rooms)

    def repair(self, run: Run) -> None:
        """Repair itemsets of one node, then of up to two, and so on to m, until none is short of room.

        Each is repaired at the least cost; when time is out, all nodes of such itemsets are generalized level
        by level instead.
        """
        n_items = self.rooms.shape[1]
        for size in range(1, self.m + 1):
            item = settled = rounds = 0
            while settled < n_items:
                run.report("sensitive items", (size - 1 / (rounds + 1)) / self.m)
                short = self._short_among(self._baskets(item), self.search.published, size, most=_AT_ONCE)
                if len(short):
                    self._repair_each(short, run)
                    settled, rounds = 0, rounds + 1
                else:
                    settled, item = settled + 1, (item + 1) % n_items
        run.report("sensitive items", 1.0)

    def may_publish(self, node: int, shown: list[int]) -> bool:
        """Whether every itemset would still have room if nodes were published in place of one node."""
        search, keep = self.search, self.search.published
        keep[node], keep[shown] = False, True
        for child in shown:
            tids = search.tids(child)
            if (self.rooms[tids].sum(axis=0) < 0).any():
                return False
            keep[child] = False
            for item in range(self.rooms.shape[1]) if self.m > 1 else ():
                if len(self._short_among(picked(self._baskets(item), tids), keep, self.m - 1, most=1)):
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

    def _short_among(self, baskets: Baskets, keep: np.ndarray, size: int, *, most: int) -> np.ndarray:
        shown, nodes = self.search.shown_as(keep, baskets)
        found, number = np.empty((most, size), dtype=np.int64), np.zeros(1, dtype=np.int64)
        short_of_room(shown, len(nodes), size, found, number, np.full(size, -1, dtype=np.int64), 0)
        return np.append(nodes, -1)[found[: number[0]]]

    def _baskets(self, item: int) -> Baskets:
        """The distinct baskets, weighted by the room for one sensitive item."""
        return self.search.baskets._replace(weight=np.ascontiguousarray(self.rooms[:, item]))

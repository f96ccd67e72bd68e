"""Which original each record of a shuffled release may come from: an assignment of all of them at once.

A release whose records stand in another order is right if its records can be assigned to different originals
that they cover, and no finer question can be answered without knowing the order. That is a flow from
published to original records; it is found by augmenting paths (L. R. Ford and D. R. Fulkerson, 1956).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kohort.data.counting import distinct_rows
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.verification.against_original import common_numbers
from kohort.verification.item_coverage import BasketFit, TooLarge
from kohort.verification.reading import read_labels

Test = Callable[[np.ndarray, np.ndarray], np.ndarray]
_MOST_PAIRS = 10**9  # pairs of a published and an original row with the same untouched values
_PAIRS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Assignment:
    """An original for each published record; `sure` if no record could have another one."""

    rows: np.ndarray
    sure: bool


def assign_records(
    published: Table,
    original: Table,
    attributes: Sequence[Attribute],
    conserved: Sequence[str],
    baskets: BasketFit | None = None,
) -> Assignment | None:
    """Assign different originals to all published records, so that every label covers its value.

    Columns in `conserved` must be the same, and items must stand for the original ones. None if there is no
    such assignment; TooLarge if there are more than 10^9 pairs of rows to compare.
    """
    shown, before = _rows(published, original, attributes, conserved, baskets)
    pairs = _fitting_pairs(_tests(published, attributes, baskets), shown, before)
    flow = _Flow(shown.counts, before.counts, *pairs)
    if not flow.saturate():
        return None
    degree = np.bincount(pairs[0], minlength=len(shown.counts))
    sure = bool((degree == 1).all() and (before.counts[pairs[1]] == 1).all())
    return Assignment(_expanded(shown, before, flow), sure)


def count_without_original(
    published: Table, original: Table, attributes: Sequence[Attribute], conserved: Sequence[str]
) -> int:
    """The fewest published records that are left without an original, however the others are assigned."""
    shown, before = _rows(published, original, attributes, conserved, None)
    pairs = _fitting_pairs(_tests(published, attributes, None), shown, before)
    return _Flow(shown.counts, before.counts, *pairs).left_over()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Distinct rows: a block (equal untouched values), and codes of quasi-identifiers and of the basket."""

    codes: np.ndarray
    counts: np.ndarray
    of_record: np.ndarray

    @property
    def block(self) -> np.ndarray:
        return self.codes[:, 0]


def _rows(
    published: Table,
    original: Table,
    attributes: Sequence[Attribute],
    conserved: Sequence[str],
    baskets: BasketFit | None,
) -> tuple[_Rows, _Rows]:
    """The distinct rows of the release and of the original, both sorted by block."""
    same = [common_numbers(published, original, name) for name in conserved if name in published.names]
    n = published.n_records
    both = [np.concatenate(pair) for pair in same] or [np.zeros(n + original.n_records, dtype=np.int64)]
    block = distinct_rows(np.column_stack(both))[2]
    labels = [published.column(a.name).codes for a in attributes]
    codes = [a.column.codes for a in attributes]
    if baskets is not None:
        labels, codes = [*labels, baskets.published], [*codes, baskets.original]
    return (
        _Rows(*distinct_rows(np.column_stack([block[:n], *labels]))),
        _Rows(*distinct_rows(np.column_stack([block[n:], *codes]))),
    )


def _tests(published: Table, attributes: Sequence[Attribute], baskets: BasketFit | None) -> list[Test]:
    """Per column of codes: which pairs of a published and an original code fit."""
    tests: list[Test] = [read_labels(published.column(a.name).texts, a).covers for a in attributes]
    if baskets is not None:
        tests.append(lambda shown, original: baskets.fits[shown, original])
    return tests


def _fitting_pairs(tests: Sequence[Test], shown: _Rows, before: _Rows) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a published row and an original row that it covers, sorted by the former."""
    first = np.searchsorted(before.block, shown.block, side="left")
    number = np.searchsorted(before.block, shown.block, side="right") - first
    if int(number.sum()) > _MOST_PAIRS:
        raise TooLarge
    found = []
    ends = np.cumsum(number)
    start = 0
    while start < len(number):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")), start + 1)
        each = number[start:stop]
        left = np.repeat(np.arange(start, stop), each)
        right = np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each) + first[left]
        for place, test in enumerate(tests, 1):
            fits = test(shown.codes[left, place], before.codes[right, place])
            left, right = left[fits], right[fits]
        found.append((left, right))
        start = stop
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


class _Flow:
    """Records that flow from published rows to original rows, no more than either has."""

    def __init__(self, supply: np.ndarray, demand: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        self.supply, self.demand = supply.tolist(), demand.tolist()
        degree = np.bincount(right, minlength=len(demand))
        order = np.lexsort((degree[right], left))  # originals that few rows cover are taken first
        starts = np.searchsorted(left, np.arange(len(supply) + 1)).tolist()
        right = right[order].tolist()
        self.reach = [right[a:b] for a, b in pairwise(starts)]
        self.sent: list[dict[int, int]] = [{} for _ in self.demand]  # per original: records by row

    def saturate(self) -> bool:
        """Send all records of every published row; False if that is impossible."""
        by_choice = sorted(range(len(self.supply)), key=lambda row: len(self.reach[row]))
        for row in by_choice:
            self._send_directly(row)
        return all(self._send_round(row) for row in by_choice)

    def left_over(self) -> int:
        """Send as many records as possible, and count those that stay; no later path could send them."""
        for row in range(len(self.supply)):
            self._send_directly(row)
        for row in range(len(self.supply)):
            self._send_round(row)
        return sum(self.supply)

    def _send_directly(self, row: int) -> None:
        for target in self.reach[row]:
            if not self.supply[row]:
                return
            amount = min(self.supply[row], self.demand[target])
            if amount:
                self._move(row, target, amount)
                self.supply[row] -= amount
                self.demand[target] -= amount

    def _send_round(self, row: int) -> bool:
        """Send the rest of a row along augmenting paths, on which other rows change their originals."""
        while self.supply[row]:
            path = self._path(row)
            if path is None:
                return False
            amount = min(self.supply[row], self.demand[path[-1][1]])
            amount = min([amount, *(self.sent[old][giver] for (_, old), (giver, _) in pairwise(path))])
            for (taker, target), (giver, _) in pairwise(path):
                self._move(giver, target, -amount)
                self._move(taker, target, amount)
            self._move(*path[-1], amount)
            self.supply[row] -= amount
            self.demand[path[-1][1]] -= amount
        return True

    def _move(self, row: int, target: int, amount: int) -> None:
        left = self.sent[target].get(row, 0) + amount
        if left:
            self.sent[target][row] = left
        else:
            del self.sent[target][row]

    def _path(self, row: int) -> list[tuple[int, int]] | None:
        """Steps (row, original): each row takes the place of the next one, the last has a free original."""
        came: dict[int, int] = {}  # original row -> the published row that would take it
        asked: dict[int, int] = {row: -1}  # published row -> the original row that it would give up
        waiting = deque([row])
        while waiting:
            taker = waiting.popleft()
            for target in self.reach[taker]:
                if target in came:
                    continue
                came[target] = taker
                if self.demand[target]:
                    return self._steps(target, came, asked)
                for giver in self.sent[target]:
                    if giver not in asked:
                        asked[giver] = target
                        waiting.append(giver)
        return None

    @staticmethod
    def _steps(target: int, came: dict[int, int], asked: dict[int, int]) -> list[tuple[int, int]]:
        steps = []
        while target >= 0:
            steps.append((came[target], target))
            target = asked[came[target]]
        return steps[::-1]


def _expanded(shown: _Rows, before: _Rows, flow: _Flow) -> np.ndarray:
    """Per published record an original record, by the flow between rows."""
    amounts = [(row, target, n) for target, sent in enumerate(flow.sent) for row, n in sent.items()]
    table = np.array(amounts, dtype=np.int64).reshape(-1, 3)
    by_target = np.repeat(table[:, :2], table[:, 2], axis=0)  # sorted by target
    originals = np.argsort(before.of_record, kind="stable")
    place = _places(by_target[:, 1], before.counts)
    by_row = np.argsort(by_target[:, 0], kind="stable")
    rows = np.empty(len(shown.of_record), dtype=np.int64)
    rows[np.argsort(shown.of_record, kind="stable")] = originals[place][by_row]
    return rows


def _places(target: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each of these ascending row numbers the place of one of its records, all sorted by row."""
    used = np.bincount(target, minlength=len(counts))
    within = np.arange(len(target)) - np.repeat(np.cumsum(used) - used, used)
    return (np.cumsum(counts) - counts)[target] + within

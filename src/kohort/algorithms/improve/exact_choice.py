"""The exact choice among the closed records that a better release can still open, by integer programming."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignedPieces, AssignmentSearch
from kohort.algorithms.improve.model_rules import only_counts_records
from kohort.algorithms.programs import Program, solve_program
from kohort.algorithms.proofs.dual_bound import DualPrices, total_bound
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem

MOST_CHOICES = 30_000  # pairs of a row and a closed record over it
_ROUNDING = 1e-9


def openable_records(search: AssignmentSearch, prices: DualPrices) -> np.ndarray:
    """The closed records that a release of less cost than the present one can open.

    A release that opens a closed record costs at least k times its slack more than the bound (reduced-cost
    fixing). So those whose k-fold slack exceeds cost minus bound are left out.
    """
    problem = search.problem
    bound = total_bound(problem, prices, float(search.offers.cost[search.offers.withheld]) * search.scale)
    room = search.total - bound + _ROUNDING * max(search.total, search.scale)
    openable = problem.k * prices.slack <= room
    openable[search.open_slots] = True
    return np.flatnonzero(openable)


def settle(
    search: AssignmentSearch,
    prices: DualPrices,
    run: Run,
    *,
    most: int = MOST_CHOICES,
    most_nodes: int | None = None,
) -> float | None:
    """Find the least cost among all releases, where few closed records are left to choose from.

    Leaves the search with the better assignment, if one is found. Returns a lower bound on the total cost of
    any release, or None where there are more than `most` choices, where other models than k-anonymity must be
    satisfied, where records may be withheld later, or where HiGHS found no bound in time.

    most_nodes  how many nodes of its search tree HiGHS examines at most; None: as many as there is time for
    """
    problem = search.problem
    if (
        not only_counts_records(problem)
        or not problem.cost.monotone
        or search.offers.most_withheld != problem.max_withheld
    ):
        return None
    records = openable_records(search, prices)
    if int(np.diff(search.offers.start)[records].sum()) > most:
        return None
    choices = _Choices.of(problem, search, records)
    before = search.total
    found = solve_program(
        choices.program(),
        run,
        start=choices.start(search),
        doing="settling the choice",
        most_nodes=most_nodes,
    )
    if found.x is not None and found.value * search.scale < before - _ROUNDING * max(before, search.scale):
        search.hold(choices.pieces(found.x))
    bound = found.bound * search.scale
    return min(bound, before) if np.isfinite(bound) else None


@dataclass(frozen=True, eq=False)
class _Choices:
    """Which records each row may be published as, by number; the last one is `*`, for withheld records.

    slot    per record: its slot in the search
    row, record   per choice
    """

    problem: Problem
    slot: np.ndarray
    row: np.ndarray
    record: np.ndarray
    paid: np.ndarray
    withholding: int

    @classmethod
    def of(cls, problem: Problem, search: AssignmentSearch, records: np.ndarray) -> _Choices:
        offers, n_rows = search.offers, len(problem.rows.counts)
        withheld = np.arange(n_rows if offers.most_withheld else 0)
        supports = [np.sort(offers.rows[offers.start[q] : offers.start[q + 1]]) for q in records]
        lengths = [*map(len, supports), len(withheld)]
        slot = np.append(records, offers.withheld)
        return cls(
            problem,
            slot,
            np.concatenate([*supports, withheld]).astype(np.int64),
            np.repeat(np.arange(len(slot)), lengths),
            offers.cost[slot],
            offers.most_withheld,
        )

    @property
    def copies(self) -> np.ndarray:
        return self.problem.rows.counts[self.row].astype(float)

    def program(self) -> Program:
        """How many copies of each row go to each record, and which records are open.

        Only the latter need be integers: once they are chosen, the rest is a flow with whole numbers.
        """
        counts, k, copies = self.problem.rows.counts.astype(float), self.problem.k, self.copies
        n_rows, n_choices, n_records = len(counts), len(self.row), len(self.slot)
        choice, record, ones = np.arange(n_choices), np.arange(n_records), np.ones(n_choices)
        needed = np.where(record == n_records - 1, 0.0, -float(k))
        parts = [
            (self.row, choice, ones),
            (n_rows + self.record, choice, ones),
            (n_rows + record, n_choices + record, needed),
            (n_rows + n_records + choice, choice, ones),
            (n_rows + n_records + choice, n_choices + self.record, -copies),
        ]
        most = np.full(n_records, np.inf)
        most[-1] = self.withholding
        return Program(
            cost=np.concatenate([self.paid[self.record], np.zeros(n_records)]),
            upper=np.concatenate([copies, np.ones(n_records)]),
            entries=tuple(np.concatenate(column) for column in zip(*parts)),  # type: ignore[arg-type]
            least=np.concatenate([counts, np.zeros(n_records), np.full(n_choices, -np.inf)]),
            most=np.concatenate([counts, most, np.zeros(n_choices)]),
            integer=np.arange(n_choices + n_records) >= n_choices,
        )

    def start(self, search: AssignmentSearch) -> np.ndarray:
        """The present assignment as a solution of the program."""
        pieces, n_rows = search.pieces(), len(self.problem.rows.counts)
        place = np.searchsorted(
            self.record * n_rows + self.row, self._number(pieces.slot) * n_rows + pieces.unit
        )
        x = np.zeros(len(self.row) + len(self.slot))
        x[place] = pieces.copies
        x[len(self.row) + self._number(pieces.slot)] = 1.0
        return x

    def _number(self, slot: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.slot, slot)

    def pieces(self, x: np.ndarray) -> AssignedPieces:
        """The assignment of a solution."""
        copies = np.rint(x[: len(self.row)]).astype(np.int64)
        used = copies > 0
        return AssignedPieces(self.row[used], self.slot[self.record[used]], copies[used])

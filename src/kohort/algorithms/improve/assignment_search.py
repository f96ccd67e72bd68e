"""A local search over assignments of records to closed records: constructed from prices, or from groups."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.assignment import Offers, assign_all, new_assignment, reassign
from kohort.algorithms.improve.kernels.open_slots import sync_lists
from kohort.algorithms.improve.kernels.slot_opening import gather_at, open_in_order, place_waiting, try_close
from kohort.algorithms.improve.kernels.slot_ruin import NearRecords, ruin_and_recreate
from kohort.algorithms.improve.model_rules import promises_of, units_of
from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.dual_bound import DualPrices
from kohort.algorithms.run import Run
from kohort.errors import InternalError
from kohort.kernels.grouping import ranges_by_group
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

# shares of the cost of `*`: how much above its price a record would pay rather than wait, and slacks
_WILLING = (0.0, 0.003, 0.01, 0.03, 0.1)
_NEAR, _RATHER_NEAR, _FAR = 0.003, 0.01, 0.05
_LEAST_NEAR = 2_000  # closed records that count as near at least, if there are as many
_ANYTHING = 1e3
_ROUNDING = 1e-6  # share of the cost that the rounding of many small changes may add up to
_AT_A_TIME = 2_000  # closed records that are tried between two looks at the clock
_MOST_RECORDS = 20_000  # greatest support of a closed record that is tried repeatedly
_MOST_PAIRS = 50_000_000  # pairs of a row and a near record that covers it


class AssignedPieces(NamedTuple):
    """Pieces of an assignment: how many copies of which unit are in which slot."""

    unit: np.ndarray
    slot: np.ndarray
    copies: np.ndarray

    def subset(self, wanted: np.ndarray) -> AssignedPieces:
        return AssignedPieces(*(part[wanted] for part in self))

    def changes_to(self, other: AssignedPieces) -> AssignedPieces:
        """What turns this assignment into another one: copies to add to slots, or to remove where below 0."""
        n_slots = int(max(self.slot.max(initial=0), other.slot.max(initial=0))) + 1
        key = np.concatenate([self.unit * n_slots + self.slot, other.unit * n_slots + other.slot])
        pieces, place = np.unique(key, return_inverse=True)
        change = np.bincount(place, np.concatenate([-self.copies, other.copies])).astype(np.int64)
        moved = np.flatnonzero(change)
        return AssignedPieces(pieces[moved] // n_slots, pieces[moved] % n_slots, change[moved])


class AssignmentSearch:
    """An assignment of records to closed records, and the moves that lower its cost.

    Costs are counted in shares of the cost of `*`. No record is withheld before `withhold` allows it.
    """

    def __init__(
        self,
        problem: Problem,
        closed: ClosedRecords,
        cost: np.ndarray,
        star: float,
        prices: DualPrices,
        *,
        near_slack: float = _NEAR,
    ) -> None:
        """Let every record wait.

        near_slack  share of the cost of `*`: closed records of at most this slack recreate ruined slots
        """
        self.problem, self.closed, self.near_slack = problem, closed, near_slack
        self.unit_of_record, row_of_unit = units_of(problem)
        self.scale = max(star, float(cost.max())) or 1.0
        self.slack = prices.slack / self.scale
        self.offers = Offers(
            start=closed.start,
            rows=closed.rows,
            cost=np.concatenate([cost, [0.0, star]]) / self.scale,
            unit_start=np.searchsorted(row_of_unit, np.arange(len(problem.rows.counts) + 1)),
            row_of_unit=row_of_unit,
            copies=np.bincount(self.unit_of_record),
            value=prices.of_units(self.unit_of_record, row_of_unit) / self.scale,
            most_withheld=0,
            nowhere=len(cost),
            withheld=len(cost) + 1,
        )
        self.nowhere = len(cost)
        self.scratch = np.empty(problem.n_records + 2, dtype=np.int64)
        self._clear()

    def reprice(self, prices: DualPrices) -> None:
        """Let other prices tell which closed records are near. No record may wait."""
        self.slack = prices.slack / self.scale
        value = prices.of_units(self.unit_of_record, self.offers.row_of_unit) / self.scale
        self.offers = self.offers._replace(value=value)

    def _clear(self) -> None:
        self.promises = promises_of(self.problem, self.unit_of_record, len(self.offers.cost))
        self.state = new_assignment(self.offers, self.problem.n_records)

    def pieces(self) -> AssignedPieces:
        """The assignment as pieces."""
        used = self.state.pieces[self.state.pieces.copies > 0]
        return AssignedPieces(used.unit, used.slot, used.copies)

    def hold(self, pieces: AssignedPieces) -> None:
        """Replace the assignment by these pieces."""
        self._clear()
        assign_all(self.offers, self.promises, self.state, *pieces)

    def become(self, pieces: AssignedPieces) -> None:
        """Replace the assignment by these pieces, moving only what is assigned otherwise. No record waits."""
        reassign(self.offers, self.promises, self.state, *self.pieces().changes_to(pieces))

    def twin(self) -> AssignmentSearch:
        """A separate search, which begins with the same assignment."""
        other = copy(self)
        other.scratch = np.empty_like(self.scratch)
        other.hold(self.pieces())
        return other

    def follow(self, other: AssignmentSearch) -> None:
        """Take over the prices, the rules and the assignment of another search of the same problem."""
        self.offers, self.slack = other.offers, other.slack
        self.become(other.pieces())

    def withhold(self) -> None:
        """Allow as many records to be withheld as the problem allows."""
        self.offers = self.offers._replace(most_withheld=self.problem.max_withheld)
        self.hold(self.pieces())

    @property
    def total(self) -> float:
        """Total cost of all records."""
        return float(self.state.figures[0].real_cost) * self.scale

    @property
    def n_waiting(self) -> int:
        return int(self.state.slots[self.nowhere].n_records)

    @property
    def open_slots(self) -> np.ndarray:
        return np.flatnonzero(self.state.slots.n_records[: self.nowhere])

    def construct(self, run: Run) -> bool:
        """Open closed records of little slack, at ever higher prices; return whether no record waits."""
        for willing in _WILLING:
            self._open(self._within(_RATHER_NEAR), willing, run)
        self._open(self._within(_FAR), 1.0, run)
        self._place()
        if self.n_waiting and not run.out_of_time:
            self.state.figures[0].mu = _ANYTHING
            self.state.figures[0].logged = 0
            gather_at(self.offers, self.promises, self.state, 0, self.scratch)
        return self.n_waiting == 0

    def _within(self, slack: float) -> np.ndarray:
        """The closed records whose slack is at most `slack`, least slack first."""
        near = np.flatnonzero(self.slack <= slack)
        return near[np.argsort(self.slack[near], kind="stable")]

    def _open(self, order: np.ndarray, willing: float, run: Run) -> None:
        self.state.figures[0].mu = willing
        for begin in range(0, len(order), _AT_A_TIME):
            if run.out_of_time:
                return
            some = order[begin : begin + _AT_A_TIME]
            open_in_order(self.offers, self.promises, self.state, some, self.scratch)

    def _place(self) -> None:
        self.state.figures[0].logged = 0
        place_waiting(self.offers, self.promises, self.state)
        sync_lists(self.offers, self.state, 0)

    def start_from(self, groups: Groups) -> None:
        """Assign every record to the closure of its group, which is a closed record."""
        slot = self._slot_of_record(groups)
        key, copies = np.unique(self.unit_of_record * (self.nowhere + 2) + slot, return_counts=True)
        self.hold(AssignedPieces(key // (self.nowhere + 2), key % (self.nowhere + 2), copies))

    def cost_of(self, groups: Groups) -> float:
        """Total cost of groups that are published as the closed records over them."""
        return float(self.offers.cost[self._slot_of_record(groups)].sum()) * self.scale

    def _slot_of_record(self, groups: Groups) -> np.ndarray:
        slot_of_group = np.append(self._numbers(closures(self.problem, groups)), self.nowhere + 1)
        return slot_of_group[groups.group_of_record]  # a withheld one has group -1

    def _numbers(self, nodes: np.ndarray) -> np.ndarray:
        """The numbers of the closed records with these nodes. O(closed records * log of rows in `nodes`)."""
        wanted, which = np.unique(nodes @ self._factor, return_inverse=True)
        place = np.minimum(np.searchsorted(wanted, self._keys), len(wanted) - 1)
        hit = np.flatnonzero(wanted[place] == self._keys)
        number = np.zeros(len(wanted), dtype=np.int64)
        number[place[hit]] = hit
        found = number[which]
        if (self.closed.nodes[found] != nodes).any():
            raise InternalError("improve: the closure of a group is not among the closed records.")
        return found

    @cached_property
    def _keys(self) -> np.ndarray:
        """A hash of the nodes of each closed record."""
        keys = np.zeros(len(self.closed), dtype=np.int64)
        for column, factor in zip(self.closed.nodes.T, self._factor):
            keys += column * factor
        return keys

    @cached_property
    def _factor(self) -> np.ndarray:
        factor: np.ndarray = np.random.default_rng(0).integers(1, 2**62, (self.closed.nodes.shape[1],))
        return factor

    def improve(self, run: Run, *, far: bool = True) -> None:
        """Close and open slots while that lowers the cost, near records first and last, until the time is up.

        far  whether closed records of much slack, which are many, are tried too
        """
        for slot in self.open_slots:
            try_close(self.offers, self.promises, self.state, slot)
            self.state.figures[0].logged = 0
        self._open(self.open_slots, 1.0, run)
        for slack in (_RATHER_NEAR, _FAR, _RATHER_NEAR) if far else (_RATHER_NEAR,):
            self._open(self._within(slack), 1.0, run)

    def near(self) -> NearRecords:
        """The closed records to recreate slots with, and those of them that cover each row."""
        weight, k = self.closed.weight, self.problem.k
        near = np.flatnonzero(weight <= _MOST_RECORDS)
        near = near[np.argsort(self.slack[near], kind="stable")]
        near = near[: max(_LEAST_NEAR, int(np.count_nonzero(self.slack[near] <= self.near_slack)))]
        length = np.diff(self.closed.start)[near]
        near = near[np.cumsum(length) <= _MOST_PAIRS]
        near = near if len(near) else np.zeros(1, dtype=np.int64)
        length = np.diff(self.closed.start)[near]
        first = np.repeat(self.closed.start[near] - (np.cumsum(length) - length), length)
        rows = self.closed.rows[first + np.arange(length.sum())]
        order = np.argsort(rows, kind="stable")
        wide = np.flatnonzero((weight >= 3 * k) & (weight <= 12 * k))
        return NearRecords(
            record=near,
            slack=self.slack[near],
            start=np.searchsorted(rows[order], np.arange(len(self.problem.rows.counts) + 1)),
            over=np.repeat(np.arange(len(near)), length)[order],
            centre=near,
            wide=wide,
        )

    def ruin_and_recreate(self, near: NearRecords, seed: int, rounds: int, heat: float = 0.0) -> None:
        """Rounds of ruin and recreate that add `heat`, a share of the cost of `*`, on average, or nothing."""
        ruin_and_recreate(self.offers, self.promises, self.state, near, seed, rounds, self.scratch, heat)

    def check(self) -> None:
        """Raise InternalError unless the cost kept up to date by the moves is that of the assignment."""
        sizes = self.state.slots.n_records.astype(float)
        counted = float(np.dot(sizes, self.offers.cost)) * self.scale
        if abs(counted - self.total) > _ROUNDING * max(counted, self.scale):
            raise InternalError("improve: the cost that it counted is not that of its groups.")

    def groups(self) -> np.ndarray:
        """The group of each record, numbered from 0; -1: withheld."""
        pieces = self.pieces()
        by_unit = np.argsort(pieces.unit, kind="stable")
        slot = np.repeat(pieces.slot[by_unit], pieces.copies[by_unit])
        numbers = np.unique(slot[slot < self.nowhere])
        group = np.where(slot < self.nowhere, np.searchsorted(numbers, slot), -1)
        of_record = np.empty(self.problem.n_records, dtype=np.int32)
        of_record[np.argsort(self.unit_of_record, kind="stable")] = group
        return of_record


def closures(problem: Problem, groups: Groups) -> np.ndarray:
    """Per group and attribute, the lowest node of the hierarchy that covers the records of the group.

    A value that its hierarchy lacks has the root alone above it. O(records * attributes).
    """
    nodes = np.empty((groups.n_groups, len(problem.attributes)), dtype=np.int64)
    for j, (tree, attribute) in enumerate(zip(problem.coded.hierarchies, problem.attributes)):
        lo, hi = ranges_by_group(attribute.leaves, groups.group_of_record, groups.n_groups)
        nodes[:, j] = np.where((lo == hi) & tree.hidden[lo], 0, tree.node(lo, hi))
    return nodes

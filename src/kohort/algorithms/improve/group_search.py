"""Lower the cost of any groups by ruin and recreate: tight labels, intervals, hierarchies, large tables."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kohort.algorithms.improve.heat import Heat
from kohort.algorithms.improve.kernels.group_counts import new_groups, total_cost
from kohort.algorithms.improve.kernels.group_ejection import MOST_CHANGED
from kohort.algorithms.improve.kernels.group_rounds import MOST_POOLED, regroup
from kohort.algorithms.improve.kernels.promises import Promises
from kohort.algorithms.improve.model_rules import only_counts_records, promises_for, promises_of
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.run import Run, Standing
from kohort.errors import InternalError
from kohort.problem.encoding.layout import TREE, CellCosts, Tables
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

_AT_A_TIME = 25_000_000  # cells read between two looks at the clock
_PATIENCE = 12  # times the number of groups: rounds in which the cost must fall by the share `worth` to go on
_STRETCHES = 4  # stretches that these rounds are made in
_LEAST_GROUPS = 40  # fewer groups are not split into parts
_MOST_GROUPS, _MOST_COUNTS = 3_500, 10_000_000  # in a part; a group has as many counts as there are leaves
_HOT = 0.003  # what a round may add at first, as a share of the cost of k fully generalized records
_LONG = 3_000  # times the number of groups: rounds until heat is 0, if the time is not up before
_WORTH_HEATING = 0.001  # rounds are heated if a smaller share than this is worth going on
_ROUNDING = 1e-6


def regrouped(problem: Problem, groups: Groups, run: Run, worth: float) -> Groups:
    """Groups of less cost, or the same ones, that satisfy every model.

    Ends when the time is up, or when many rounds lower the cost by less than the share `worth`. Where a tiny
    share is worth the time, rounds may add to the cost at first, and less and less as time passes.
    Deterministic for a seed but for the time limit. O(groups + pooled records squared) per round.
    """
    rows = problem.coded.searched_rows[problem.rows.of_record]
    kept = np.flatnonzero(~groups.withheld)
    search = GroupSearch.of(problem, rows[kept], kept)
    group = cut_large(problem, rows[kept], groups.group_of_record[kept])
    total, group = _lowered(problem, search, group, run, worth)
    _check(problem.coded.tables, search.rows, group, total)
    of_record = np.full(problem.n_records, -1, dtype=np.int32)
    of_record[kept] = group
    return replace(groups, group_of_record=of_record, guarantee=None)


def _lowered(
    problem: Problem, search: GroupSearch, group: np.ndarray, run: Run, worth: float
) -> tuple[float, np.ndarray]:
    """The least cost found in stretches of rounds, and the groups that have it."""
    n_groups, is_hot = int(group.max()) + 1, worth < _WORTH_HEATING
    rounds = max(500, _PATIENCE * n_groups) // (1 if is_hot else _STRETCHES)
    most = _HOT * problem.k * search.cost_of_nothing if is_hot else 0.0
    heat = Heat(run, most, n_stretches=max(1, _LONG * n_groups // rounds))
    best = total, group = search.stretch(group, (problem.seed, 0), 0, run, heat)
    totals = [total]
    while best[0] > 0 and not run.out_of_time:
        stalls = len(totals) > _STRETCHES and totals[-1] > totals[-1 - _STRETCHES] * (1 - worth)
        if stalls and heat.is_out:
            break
        number = len(totals)
        share = heat.gone if is_hot else number / (number + _STRETCHES)
        run.report(_standing(problem, best[0], len(group)), share)
        total, group = search.stretch(group, (problem.seed, number), rounds, run, heat)
        heat.n_made += 1
        totals.append(total)
        best = min(best, (total, group), key=lambda found: found[0])
    return best


def _standing(problem: Problem, total: float, n_kept: int) -> str:
    """What is being done, and the cost so far where no record is withheld: theirs is not in the total."""
    words = f"ruining and recreating groups: {total / problem.n_records:.4f}"
    reached = in_measured_units(problem, total) if n_kept == problem.n_records else None
    return words if reached is None else Standing(words, reached)


@dataclass(frozen=True, eq=False)
class GroupSearch:
    """The records to regroup, the costs of their cells, and the rules that their groups must satisfy."""

    cells: CellCosts
    rows: np.ndarray
    promises: Promises
    drawn: int = 1  # records that are drawn for a round, which begins with the one whose group costs most

    @classmethod
    def of(cls, problem: Problem, rows: np.ndarray, kept: np.ndarray) -> GroupSearch:
        promises = promises_of(problem, np.arange(problem.n_records), MOST_CHANGED)
        return cls(problem.coded.cell_costs, rows, promises_for(promises, kept))

    @cached_property
    def dearness(self) -> np.ndarray:
        """For each attribute, the least cost of a cell that covers two values."""
        attribute = self.cells.attribute
        pairs = np.split(self.cells.pair[:-1], attribute.pair_start[1:])
        least = [pair[pair > 0].min(initial=np.inf) for pair in pairs]
        return np.where(attribute.kind == TREE, least, attribute.line_base + attribute.line_slope)

    @property
    def cost_of_nothing(self) -> float:
        """Cost of a record when all records are in one group."""
        together = np.zeros(len(self.rows), dtype=np.int64)
        return float(new_groups(self.cells, self.rows, together, 1, 1, 1).counts.cost[0])

    def stretch(
        self, group: np.ndarray, seed: tuple[int, int], rounds: int, run: Run, heat: Heat
    ) -> tuple[float, np.ndarray]:
        """The total cost and the groups after `rounds` rounds in parts of the groups, on two cores."""
        parts = self._parts(group, np.random.default_rng(seed))
        share = -(-rounds // len(parts))
        with ThreadPoolExecutor(2) as pool, run.until_failure() as regrouping:
            doing = [
                pool.submit(self.regrouped_part, group, part, (*seed, number), share, regrouping, heat.now)
                for number, part in enumerate(parts)
            ]
            done = [one.result() for one in doing]
        group, n_groups = np.empty_like(group), 0
        for part, (_, labels) in zip(parts, done):
            group[part] = labels + n_groups
            n_groups += int(labels.max()) + 1
        return sum(cost for cost, _ in done), group

    def _parts(self, group: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """The records in parts, each made of whole groups that lie near each other by one record of each."""
        groups, first = np.unique(group, return_index=True)
        if len(groups) < _LEAST_GROUPS:
            return [np.arange(len(group))]
        most = np.clip(_MOST_COUNTS // self.cells.attribute.n_leaves.sum(), _LEAST_GROUPS, _MOST_GROUPS)
        n_parts = 2 * -(-len(groups) // (2 * int(most)))  # two at a time
        order = np.lexsort(self.rows[first][:, rng.permutation(self.rows.shape[1])].T)
        part = np.empty(len(groups), dtype=np.int64)
        part[order] = np.arange(len(groups)) * n_parts // len(groups)
        return [np.flatnonzero(part[group] == number) for number in range(n_parts)]

    def _numbered(self, group: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Groups numbered from 0, in the order of one record of each, so that similar groups are neighbours.

        Records are sorted by the attributes in which a second value costs most.
        """
        _, first, label = np.unique(group, return_index=True, return_inverse=True)
        order = np.lexsort(self.rows[part[first]][:, np.argsort(self.dearness)].T)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        return number[label]

    def regrouped_part(
        self,
        group: np.ndarray,
        part: np.ndarray,
        seed: tuple[int, int, int],
        rounds: int,
        run: Run,
        heat: Callable[[], float],
    ) -> tuple[float, np.ndarray]:
        """The total cost of one part of the records after its rounds, and their groups, numbered from 0.

        heat  how much a round may add to the cost now
        """
        rows, labels = self.rows[part], self._numbered(group[part], part)
        n_groups, k = int(labels.max()) + 1, self.promises.k
        room = max(n_groups, len(rows) // k) + 2 * MOST_POOLED
        groups = new_groups(self.cells, rows, labels, n_groups, room, k)
        promises = promises_for(self.promises, part)
        at_a_time = int(np.clip(_AT_A_TIME / (n_groups + (3 * k) ** 2) / rows.shape[1], 1, 1000))
        rng = np.random.default_rng(seed)
        for begin in range(0, rounds, at_a_time):
            if run.out_of_time:
                break
            some = min(at_a_time, rounds - begin)
            regroup(self.cells, promises, groups, rows, int(rng.integers(2**31)), some, heat(), self.drawn)
        return total_cost(groups.counts), np.unique(groups.group, return_inverse=True)[1]


def cut_large(problem: Problem, rows: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The groups, those of 2k or more cut into runs of sorted records where they only need k records."""
    if not only_counts_records(problem):
        return group
    order = np.lexsort((*rows.T, group))
    start = np.searchsorted(group[order], group[order])
    size = np.bincount(group)[group[order]]
    chunk = np.minimum((np.arange(len(order)) - start) // problem.k, size // problem.k - 1)
    cut = np.empty_like(group)
    cut[order] = np.unique(group[order].astype(np.int64) * len(order) + chunk, return_inverse=True)[1]
    return cut


def cost_of_groups(problem: Problem, groups: Groups) -> float:
    """Total cost of all records, those that are withheld included."""
    kept = np.flatnonzero(~groups.withheld)
    rows = problem.coded.searched_rows[problem.rows.of_record[kept]]
    withheld = (problem.n_records - len(kept)) * problem.coded.star_cost
    return _total_cost(problem.coded.tables, rows, groups.group_of_record[kept]) + withheld


def _total_cost(tables: Tables, rows: np.ndarray, group: np.ndarray) -> float:
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(group.max(initial=-1) + 2))
    cost = costs_by_group(tables, rows.astype(np.int32), order, start)
    return float(np.dot(cost, np.diff(start)))


def _check(tables: Tables, rows: np.ndarray, group: np.ndarray, counted: float) -> None:
    """Raise InternalError unless the cost kept up to date is the cost of the groups computed from scratch."""
    total = _total_cost(tables, rows, group)
    if abs(total - counted) > _ROUNDING * max(total, 1.0):
        raise InternalError("improve: the cost that it counted is not that of its groups.")

"""Lower the cost of any groups by ruin and recreate: tight labels, intervals, hierarchies, large tables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.local.promised import promises_of
from kohort.algorithms.run import Run
from kohort.algorithms.tables import kernel_tables, searched_leaves
from kohort.errors import InternalError, UnsupportedError
from kohort.kernels.generalization import SET, TREE, Tables
from kohort.kernels.group_costs import costs_by_group
from kohort.kernels.pool import Cells, pair_costs
from kohort.kernels.promises import Promises
from kohort.kernels.regroup import MOST_POOLED, new_grouping, regroup, total_cost
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["refuse_wide_hierarchies", "regrouped"]

_MOST_PAIRS = 20_000_000  # of leaves of hierarchies
_AT_A_TIME = 5_000_000  # looks at cells between two looks at the clock
_PATIENCE = 3  # times the groups: rounds in which the cost must fall by so much to go on
_STRETCHES = 4  # in which these rounds are made
_LEAST_GROUPS = 40  # fewer are not halved
_ROUNDING = 1e-6


def refuse_wide_hierarchies(problem: Problem) -> None:
    """Raise UnsupportedError where costs of pairs of leaves would not fit into memory."""
    tables = kernel_tables(problem)
    n_leaves = np.diff(np.append(tables.leaf_start, len(tables.leaf_cost)))
    if (n_leaves[tables.kind == TREE].astype(float) ** 2).sum() > _MOST_PAIRS:
        raise UnsupportedError("The hierarchies have too many leaves to improve groups. Choose mondrian.")


def regrouped(problem: Problem, groups: Groups, run: Run, worth: float) -> Groups:
    """Groups of less cost, or the same ones, that satisfy every model.

    Ends when the time is up, or when many rounds lower the cost by less than the share `worth`. Deterministic
    for a seed but for the time limit. O(groups + pooled records squared) per round.
    """
    tables, rows = kernel_tables(problem), searched_leaves(problem)
    kept = np.flatnonzero(~groups.withheld)
    group = _cut_large(problem, rows, groups.group_of_record[kept], kept)
    search = _Search.of(problem, tables, rows[kept].astype(np.int64), kept)
    n_groups = int(group.max()) + 1
    patience = max(500, _PATIENCE * n_groups)
    total, group = search.stretch(group, problem.seed, 0, run)
    totals, number = [total], 0
    while totals[-1] > 0 and not run.out_of_time:
        if number >= _STRETCHES and totals[-1] > totals[-1 - _STRETCHES] * (1 - worth):
            break
        reached = totals[-1] / problem.n_records
        run.report(f"ruining and recreating groups: {reached:.4f}", min(number / (4 * _STRETCHES), 1.0))
        seed = problem.seed * 1_000_003 + number * patience
        total, group = search.stretch(group, seed, patience // _STRETCHES, run)
        totals.append(total)
        number += 1
    _check(tables, search.rows, group, totals[-1])
    of_record = np.full(problem.n_records, -1, dtype=np.int32)
    of_record[kept] = group
    return replace(groups, group_of_record=of_record, guarantee=None)


@dataclass(frozen=True, eq=False)
class _Search:
    """The records that are regrouped, and what groups of them cost and promise."""

    cells: Cells
    rows: np.ndarray
    promises: Promises
    word_start: np.ndarray

    @classmethod
    def of(cls, problem: Problem, tables: Tables, rows: np.ndarray, kept: np.ndarray) -> _Search:
        cells = _cells(tables)
        words = np.where(tables.kind == SET, (np.diff(cells.leaf_start) + 63) // 64, 0)
        promises = promises_of(problem, np.arange(problem.n_records), MOST_POOLED)
        return cls(cells, rows, promises._replace(value=promises.value[kept]), np.cumsum([0, *words]))

    def stretch(self, group: np.ndarray, seed: int, rounds: int, run: Run) -> tuple[float, np.ndarray]:
        """So many rounds in two halves of the groups, on two cores; the cost, and the new groups."""
        halves = self._halves(group, np.random.default_rng(seed))
        share = rounds // len(halves)
        with ThreadPoolExecutor(1) as pool:
            others = [pool.submit(self._regrouped, group, half, seed + 1, share, run) for half in halves[1:]]
            done = [self._regrouped(group, halves[0], seed, share, run), *(o.result() for o in others)]
        group, n_groups = np.empty_like(group), 0
        for half, (_, labels) in zip(halves, done):
            group[half] = labels + n_groups
            n_groups += int(labels.max()) + 1
        return sum(cost for cost, _ in done), group

    def _halves(self, group: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """The records in two parts of whole groups that lie apart: in the order of a record of each."""
        groups, first = np.unique(group, return_index=True)
        if len(groups) < _LEAST_GROUPS:
            return [np.arange(len(group))]
        order = np.lexsort(self.rows[first][:, rng.permutation(self.rows.shape[1])].T)
        is_first = np.zeros(len(groups), dtype=bool)
        is_first[order[: len(groups) // 2]] = True
        return [np.flatnonzero(is_first[group]), np.flatnonzero(~is_first[group])]

    def _regrouped(
        self, group: np.ndarray, half: np.ndarray, seed: int, rounds: int, run: Run
    ) -> tuple[float, np.ndarray]:
        """The cost and the new groups, from 0 on, of some of the records."""
        rows, labels = self.rows[half], np.unique(group[half], return_inverse=True)[1]
        n_groups, k = int(labels.max()) + 1, self.promises.k
        room = max(n_groups, len(rows) // k) + MOST_POOLED
        state = new_grouping(self.cells, rows, self.word_start, labels, n_groups, room)
        promises = self.promises._replace(
            value=self.promises.value[half],
            tally=self.promises.tally.copy(),
            tally_of=self.promises.tally_of.copy(),
            free=self.promises.free.copy(),
        )
        at_a_time = int(np.clip(_AT_A_TIME / (n_groups + (3 * k) ** 2) / rows.shape[1], 1, 1000))
        for begin in range(0, rounds, at_a_time):
            if run.out_of_time:
                break
            some = min(at_a_time, rounds - begin)
            regroup(self.cells, promises, state, rows, seed + 2 * begin, some)
        return total_cost(state), np.unique(state.group, return_inverse=True)[1]


def _cells(tables: Tables) -> Cells:
    leaf_start = np.append(tables.leaf_start, len(tables.leaf_cost))
    n_leaves = np.diff(leaf_start)
    pairs = [pair_costs(tables, a, n if tables.kind[a] == TREE else 0) for a, n in enumerate(n_leaves)]
    return Cells(
        kind=tables.kind,
        n_leaves=n_leaves,
        leaf_start=leaf_start,
        loners_from=tables.loners_from,
        line=np.column_stack([tables.base, tables.slope, tables.full]),
        pair_start=np.cumsum([0, *(len(p) for p in pairs)])[:-1],
        pair=np.concatenate([*pairs, np.zeros(1)]),
    )


def _cut_large(problem: Problem, rows: np.ndarray, group: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Groups of 2k or more cut into runs of their sorted records: free where only k is asked for."""
    if any(model.attribute is not None for model in problem.models):
        return group
    order = np.lexsort((*rows[kept].T, group))
    start = np.searchsorted(group[order], group[order])
    size = np.bincount(group)[group[order]]
    chunk = np.minimum((np.arange(len(order)) - start) // problem.k, size // problem.k - 1)
    cut = np.empty_like(group)
    cut[order] = np.unique(group[order].astype(np.int64) * len(order) + chunk, return_inverse=True)[1]
    return cut


def _check(tables: Tables, rows: np.ndarray, group: np.ndarray, counted: float) -> None:
    """Compare the cost that was counted with that of the groups, evaluated anew."""
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(group.max() + 2))
    cost = costs_by_group(tables, rows.astype(np.int32), order, start)
    total = float(np.dot(cost, np.diff(start)))
    if abs(total - counted) > _ROUNDING * max(total, 1.0):
        raise InternalError("improve: the cost that it counted is not that of its groups.")

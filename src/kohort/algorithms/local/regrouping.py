"""Lower the cost of any groups by ruin and recreate: tight labels, intervals, hierarchies, large tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.algorithms.local.promised import promises_of
from kohort.algorithms.run import Run
from kohort.algorithms.tables import kernel_tables, searched_leaves
from kohort.errors import InternalError, UnsupportedError
from kohort.kernels.generalization import SET, TREE, Tables
from kohort.kernels.group_costs import costs_by_group
from kohort.kernels.pool import Cells, pair_costs
from kohort.kernels.regroup import MOST_POOLED, Grouping, new_grouping, regroup, total_cost
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["refuse_wide_hierarchies", "regrouped"]

_MOST_PAIRS = 20_000_000  # of leaves of hierarchies
_AT_A_TIME = 20_000_000  # looks at cells between two looks at the clock
_PATIENCE = 3  # times the groups: rounds in which the cost must fall by so much to go on
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
    cells = _cells(tables)
    group = _cut_large(problem, rows, groups.group_of_record[kept], kept)
    rows = rows[kept].astype(np.int64)
    n_groups = int(group.max()) + 1
    promises = promises_of(problem, np.arange(problem.n_records), MOST_POOLED)
    if len(kept) < problem.n_records:
        promises = promises._replace(value=promises.value[kept])
    room = max(n_groups, len(kept) // problem.k) + MOST_POOLED
    words = np.where(tables.kind == SET, (np.diff(cells.leaf_start) + 63) // 64, 0)
    state = new_grouping(cells, rows, np.cumsum([0, *words]), group, n_groups, room)
    rounds = int(np.clip(_AT_A_TIME / (n_groups + (3 * problem.k) ** 2) / rows.shape[1], 1, 1000))
    patience = max(500, _PATIENCE * n_groups) // rounds + 1
    totals, number = [total_cost(state)], 0
    while totals[-1] > 0 and not run.out_of_time:
        if number >= patience and totals[-1] > totals[-1 - patience] * (1 - worth):
            break
        reached = totals[-1] / problem.n_records
        run.report(f"ruining and recreating groups: {reached:.4f}", min(number / (4 * patience), 1.0))
        regroup(cells, promises, state, rows, problem.seed * 1_000_003 + number, rounds)
        totals.append(total_cost(state))
        number += 1
    found = _groups(groups, state, kept)
    _check(tables, rows, found.group_of_record[kept], totals[-1])
    return found


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


def _groups(groups: Groups, state: Grouping, kept: np.ndarray) -> Groups:
    dense = np.unique(state.group, return_inverse=True)[1]
    of_record = np.full(len(groups.group_of_record), -1, dtype=np.int32)
    of_record[kept] = dense
    return replace(groups, group_of_record=of_record, guarantee=None)


def _check(tables: Tables, rows: np.ndarray, group: np.ndarray, counted: float) -> None:
    """Compare the cost that was counted with that of the groups, evaluated anew."""
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(group.max() + 2))
    cost = costs_by_group(tables, rows.astype(np.int32), order, start)
    total = float(np.dot(cost, np.diff(start)))
    if abs(total - counted) > _ROUNDING * max(total, 1.0):
        raise InternalError("improve: the cost that it counted is not that of its groups.")

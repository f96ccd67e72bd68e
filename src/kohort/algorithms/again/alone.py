"""What a release on its own would cost: the price of keeping it safe together with the earlier ones."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.again.fresh import Fresh
from kohort.algorithms.again.history_keeping import HistoryKeeping
from kohort.algorithms.again.m_invariance import MInvariance
from kohort.algorithms.kernels.group_costs import costs_by_group
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import InfeasibleError
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["cost_alone"]


def cost_alone(problem: Problem, solver: Solver, run: Run) -> float | None:
    """The cost that the same algorithm reaches for the table by itself; None where it cannot be compared.

    solver  the way of publishing again, whose inner algorithm is run on all records
    """
    if (
        not isinstance(solver, (HistoryKeeping, MInvariance, Fresh))
        or not problem.cost.adds_up
        or problem.masses is not None
    ):
        return None
    try:
        groups = solver.inner.solve(problem, run)
    except InfeasibleError:
        return None
    return _cost(problem, groups) if isinstance(groups, Groups) else None


def _cost(problem: Problem, groups: Groups) -> float | None:
    order = np.argsort(groups.group_of_record, kind="stable")
    order = order[np.count_nonzero(groups.withheld) :]
    sizes = np.bincount(groups.group_of_record[order], minlength=groups.n_groups)
    start = np.concatenate([[0], np.cumsum(sizes)])
    coded = problem.coded
    total = float(np.dot(costs_by_group(coded.tables, coded.searched_leaves(), order, start), sizes))
    total += coded.star_cost * int(groups.withheld.sum())
    return problem.cost.measure_of_sum(total, problem.n_records, problem.weights)

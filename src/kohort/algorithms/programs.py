"""Linear and integer programs, solved by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from kohort.algorithms.run import Run
from kohort.errors import InternalError

_LARGEST_COST = 1e5  # costs are scaled so that HiGHS's absolute tolerances are about 1e-12 of the greatest


@dataclass(frozen=True, eq=False)
class Program:
    """A program: minimise cost * x with 0 <= x <= upper and least <= A x <= most. A is given by its entries.

    integer   whether each variable must be an integer; None: a linear program
    """

    cost: np.ndarray
    upper: np.ndarray
    entries: tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, columns, values
    least: np.ndarray
    most: np.ndarray
    integer: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """A solution `x`, or None if none was found in time, and a lower bound on the value of any solution."""

    x: np.ndarray | None
    value: float
    bound: float
    optimal: bool
    reduced_cost: np.ndarray
    price: np.ndarray  # the dual value of each row of A


def solve_program(
    program: Program,
    run: Run,
    *,
    start: np.ndarray | None = None,
    doing: str | None = None,
    most_nodes: int | None = None,
) -> Solution:
    """Solve a program with one thread, so that the result is the same on every machine.

    start       a known solution to start from
    doing       the name under which progress is reported: the share of the gap that is closed
    most_nodes  how many nodes of the search tree are examined at most
    """
    import highspy  # slow to import, and needed by few algorithms

    scale = _LARGEST_COST / max(float(np.abs(program.cost).max(initial=0.0)), 1e-300)
    solver = _prepared(highspy, program, scale, run)
    if most_nodes is not None:
        solver.setOptionValue("mip_max_nodes", most_nodes)
    if start is not None:
        known = highspy.HighsSolution()
        known.col_value = start.tolist()
        solver.setSolution(known)
    if doing is not None:
        solver.cbMipInterrupt += lambda event: run.report(doing, _share_closed(event.data_out.mip_gap))
    if solver.run() == highspy.HighsStatus.kError:
        raise InternalError("HiGHS could not solve a program. Please report this.")
    if solver.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        run.cut()
    return _solution(highspy, solver, program, scale)


def _share_closed(gap: float) -> float:
    return max(1.0 - gap, 0.0) if np.isfinite(gap) else 0.0


def _prepared(highspy: ModuleType, program: Program, scale: float, run: Run) -> Any:
    rows, columns, values = program.entries
    order = np.lexsort((columns, rows))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(program.least)
    model.col_cost_ = program.cost * scale
    model.col_lower_, model.col_upper_ = np.zeros(len(program.cost)), program.upper.astype(float)
    model.row_lower_, model.row_upper_ = program.least.astype(float), program.most.astype(float)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.searchsorted(rows[order], np.arange(len(program.least) + 1)).astype(np.int32)
    model.a_matrix_.index_ = columns[order].astype(np.int32)
    model.a_matrix_.value_ = values[order].astype(float)
    if program.integer is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[int(whole)] for whole in program.integer]
    solver = highspy.Highs()
    solver.silent()
    options = {"threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-7}
    if run.seconds_left is not None:
        options["time_limit"] = max(run.seconds_left, 1e-3)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    return solver


def _solution(highspy: ModuleType, solver: Any, program: Program, scale: float) -> Solution:
    info, found = solver.getInfo(), solver.getSolution()
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    value = info.objective_function_value / scale
    if program.integer is not None:
        bound = info.mip_dual_bound / scale
    else:
        bound = value if optimal else -np.inf
    return Solution(
        x=np.array(found.col_value) if feasible else None,
        value=value,
        bound=bound,
        optimal=optimal,
        reduced_cost=np.array(found.col_dual) / scale,
        price=np.array(found.row_dual) / scale,
    )

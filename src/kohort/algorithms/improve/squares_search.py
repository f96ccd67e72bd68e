"""Groups of numbers with a low sum of squares, and a lower bound on it."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.microaggregation.kernels.mdav import mdav_groups
from kohort.algorithms.microaggregation.kernels.squares import (
    lower_squares,
    nearest_centres,
    optimal_runs,
    squares_bound,
    sum_of_squares,
)
from kohort.algorithms.number_points import points_of, refuse_many_points
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

_NEIGHBOURS = 12  # groups that a group exchanges records with
_ROUNDS = 5  # between two looks at the clock
_MOST_FOR_BOUND = 12_000
_LEAST_FALL = 1e-5  # of the sum: less is not worth another round


def refuse_squares(problem: Problem) -> None:
    """Raise UnsupportedError for what the search for squares cannot do."""
    refuse_many_points("improve with the cost squares", problem.n_records)
    if not all(model.only_counts for model in problem.models) or problem.units.several:
        raise UnsupportedError(
            "improve with the cost squares keeps k alone, counted in records. Choose another cost for other "
            "privacy models."
        )


def grouped_by_squares(problem: Problem, run: Run) -> Groups:
    """Groups from MDAV, changed until the sum of squares falls no more, or time runs out."""
    points, k = points_of(problem), problem.k
    if points.shape[1] == 1:
        return _best_runs(points[:, 0], k)
    run.report("grouping the nearest records", 0.0)
    group_of = mdav_groups(points, k)
    total = float((points**2).sum())
    least = sum_of_squares(points, group_of, int(group_of.max()) + 1)
    while not run.out_of_time:
        n_groups = int(group_of.max()) + 1
        neighbours = nearest_centres(points, group_of, n_groups, _NEIGHBOURS)
        fallen = lower_squares(points, group_of, n_groups, k, neighbours, _ROUNDS)
        group_of = np.unique(group_of, return_inverse=True)[1]
        least -= fallen
        run.report(f"squares {least / max(total, 1e-300):.4g}", 0.5)
        if fallen <= _LEAST_FALL * least:
            break
    bound = None
    if len(points) <= _MOST_FOR_BOUND and not run.out_of_time and total > 0:
        bound = squares_bound(points, k) / total
    return Groups(group_of.astype(np.int32), bound=bound)


def _best_runs(values: np.ndarray, k: int) -> Groups:
    """The groups of one column with the least squares of all: its cost is its own bound."""
    order = np.argsort(values, kind="stable")
    group_of = np.empty(len(values), dtype=np.int64)
    group_of[order] = optimal_runs(values[order], k)
    total = float((values**2).sum())
    if not total:
        return Groups(group_of.astype(np.int32))
    least = sum_of_squares(values[:, None], group_of, int(group_of.max()) + 1) / total
    return Groups(group_of.astype(np.int32), bound=least * (1 - 1e-9), notes=(_PROVEN,))


_PROVEN = "Proven: no groups of this column have a lower sum of squares."

"""A lower bound for a solution whose algorithm proved none, in no more time than the solution took."""

from __future__ import annotations

from collections.abc import Callable

from kohort.algorithms import Progress, Run
from kohort.algorithms.local.graph import lower_bound
from kohort.problem.problem import Problem

__all__ = ["NO_TIME_FOR_BOUND", "bound_in_time"]

_GRACE = 0.5  # seconds that a bound may take after any solution
NO_TIME_FOR_BOUND = (
    "No lower bound is given: to prove one would have taken longer than to find the release, or than the "
    "time limit allows. Whether there is time for it depends on the machine. The algorithm improve proves a "
    "bound while it searches."
)


def bound_in_time(
    problem: Problem,
    solved_in: float,
    compiling: Callable[[], float],
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> tuple[float | None, tuple[str, ...]]:
    """The bound, or None, and notes.

    solved_in  seconds that the solution took: the bound may take as long, or half a second
    compiling  seconds spent on compiling so far, which do not count
    time_limit  seconds for solution and bound together: the bound may take what is left, or half a second

    Small tables always get their bound, whatever the clock says, so that it is the same on every machine.
    """
    left = solved_in if time_limit is None else min(solved_in, time_limit - solved_in)
    run = Run(time_limit=max(left, _GRACE), progress=progress, besides=compiling)
    bound = lower_bound(problem, run)
    return bound, (NO_TIME_FOR_BOUND,) if run.was_cut else ()

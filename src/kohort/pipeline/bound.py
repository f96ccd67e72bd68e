"""A lower bound for a solution whose algorithm proved none, in no more time than the solution took."""

from __future__ import annotations

from collections.abc import Callable

from kohort.algorithms import Run
from kohort.algorithms.proofs.charge_bound import lower_bound
from kohort.problem.problem import Problem

__all__ = ["NO_TIME_FOR_BOUND", "bound_in_time"]

_GRACE = 0.5  # seconds that a bound may take after any solution
NO_TIME_FOR_BOUND = (
    "No lower bound is given: to prove one would have taken longer than to find the release. Whether there "
    "is time for it depends on the machine. The algorithm improve proves a bound while it searches."
)


def bound_in_time(
    problem: Problem, solved_in: float, compiling: Callable[[], float]
) -> tuple[float | None, tuple[str, ...]]:
    """The bound, or None, and notes.

    solved_in  seconds that the solution took: the bound may take as long, or half a second
    compiling  seconds spent on compiling so far, which do not count

    Small tables always get their bound, whatever the clock says, so that it is the same on every machine.
    """
    run = Run(time_limit=max(solved_in, _GRACE), besides=compiling)
    bound = lower_bound(problem, run)
    return bound, (NO_TIME_FOR_BOUND,) if run.was_cut else ()

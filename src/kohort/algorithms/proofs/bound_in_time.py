"""The lower bound of a solution: its algorithm's own, or one found in no more time than the solution took."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kohort.algorithms.proofs.graph import lower_bound
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["NO_TIME_FOR_BOUND", "Bound", "bound_in_time", "bound_of"]

_GRACE = 0.5  # seconds that a bound may take after any solution
NO_TIME_FOR_BOUND = (
    "No lower bound is given: to prove one would have taken longer than to find the release. Whether there "
    "is time for it depends on the machine. The algorithm improve proves a bound while it searches."
)


class Bound(NamedTuple):
    """A lower bound on the least possible cost, or None, and what the user should know about it."""

    value: float | None
    notes: tuple[str, ...] = ()


def bound_of(problem: Problem, recoding: Recoding, solved_in: float, excluded: Callable[[], float]) -> Bound:
    """The bound that comes with a recoding, else one from the distances of nearest records.

    solved_in  seconds that the solution took
    excluded   seconds not charged to the bound so far, such as compiling

    No bound is known for recodings that publish sets of nodes, or for items from outside their algorithm.
    """
    if recoding.bound is not None or not recoding.in_domain or not problem.attributes:
        return Bound(recoding.bound)
    return bound_in_time(problem, solved_in, excluded)


def bound_in_time(problem: Problem, solved_in: float, excluded: Callable[[], float]) -> Bound:
    """A bound that takes as long as the solution, or half a second, at most.

    Small tables always get their bound, whatever the clock says, so that it is the same on every machine.
    """
    run = Run(time_limit=max(solved_in, _GRACE), besides=excluded)
    value = lower_bound(problem, run)
    return Bound(value, (NO_TIME_FOR_BOUND,) if run.was_cut else ())

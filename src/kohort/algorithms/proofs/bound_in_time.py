"""Lower bounds for a solution: that of its algorithm, or one found in no more time than the solution took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kohort.algorithms.proofs.charge_bound import lower_bound
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.groups import HistoryGroups, SolvedPart
from kohort.recoding.recoding import Recoding

_GRACE = 0.5  # seconds that a bound may take after any solution
NO_TIME_FOR_BOUND = (
    "No lower bound is given: proving one would have taken longer than finding the release, or longer than "
    "the time limit allows. On a faster machine there may be time for it. The algorithm improve proves a "
    "bound while it searches."
)


class Bound(NamedTuple):
    """A lower bound on the least possible cost, or None, and what the user should know about it."""

    value: float | None
    notes: tuple[str, ...] = ()


def bound_of(problem: Problem, recoding: Recoding, run: Run) -> Bound:
    """The bound that comes with a recoding, else one from the distances of nearest records.

    No bound is known for recodings that publish sets of nodes, or for items from outside their algorithm.
    """
    if isinstance(recoding, HistoryGroups) and recoding.parts:
        return _of_parts(recoding.parts, run)
    known = recoding.bound is not None or problem.cost.of_numbers
    if known or not recoding.in_domain or not problem.attributes:
        return Bound(recoding.bound)
    return bound_in_time(problem, run)


def _of_parts(parts: Sequence[SolvedPart], run: Run) -> Bound:
    """The bounds of the problems over people, each weighted by its share of the records."""
    found = [bound_of(part.problem, part.recoding, run.share_of_time(part.share)) for part in parts]
    notes = tuple(dict.fromkeys(note for bound in found for note in bound.notes))
    values = [bound.value for bound in found if bound.value is not None]
    if len(values) < len(found):
        return Bound(None, notes)
    return Bound(sum(part.share * value for part, value in zip(parts, values)), notes)


def bound_in_time(problem: Problem, run: Run) -> Bound:
    """A bound from the distances of nearest records, if the time of the run is enough for it.

    Small tables always get their bound, whatever the clock says, so that it is the same on every machine.
    """
    value = lower_bound(problem, run)
    return Bound(value, (NO_TIME_FOR_BOUND,) if run.was_cut else ())


def time_for_bound(solved_in: float, time_limit: float | None) -> float:
    """Seconds for a bound: as long as the solution took, or what is left of the limit, or half a second."""
    left = solved_in if time_limit is None else min(solved_in, time_limit - solved_in)
    return max(left, _GRACE)

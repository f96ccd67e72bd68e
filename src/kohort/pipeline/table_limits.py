"""Meet a limit on the risk of all records together: search for the smallest k whose release keeps it.

Such a limit is on the average, or on the share of records that are above a risk. The average over records of
1 over the size of their class is the number of classes over that of records. It falls where classes are
united, and so does the share, so larger k mostly give less; classes that are each within the limit are so
together. The k is found by bisection between the k that is promised and the k that is always enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kohort.pipeline.before_after import classes_of
from kohort.pipeline.prepare import Prepared
from kohort.pipeline.publish import Published
from kohort.pipeline.solve import Solution
from kohort.problem.models import ClassCounts, KAnonymity, PersonCells, RiskLimit
from kohort.problem.problem import Problem

__all__ = ["Attempt", "solve_within_limits", "tries"]

Attempt = tuple[Problem, Solution, Published]


def tries(prepared: Prepared) -> int:
    """How often a problem is solved at most, for each to get its share of a time limit."""
    low, high = prepared.problem.k, _enough(prepared)
    return 1 if low >= high else 2 + (high - low).bit_length()


def solve_within_limits(prepared: Prepared, attempt: Callable[[Problem], Attempt]) -> Attempt:
    """The attempt with the smallest k found whose classes keep every limit on all records together."""
    problem = prepared.problem
    found = attempt(problem)
    low, high = problem.k, _enough(prepared)
    if low >= high or _keeps(prepared, found[2]):
        return _noted(found, problem.k)
    found = attempt(_with_k(problem, high))
    while high - low > 1:
        middle = (low + high) // 2
        tried = attempt(_with_k(problem, middle))
        if _keeps(prepared, tried[2]):
            high, found = middle, tried
        else:
            low = middle
    return _noted(found, high)


def _enough(prepared: Prepared) -> int:
    """A k with which every class is within each limit, and so all are together."""
    limits = prepared.request.limits_of_table
    return min(max(limit.least_class for limit in limits), prepared.problem.n_people)


def _with_k(problem: Problem, k: int) -> Problem:
    others = tuple(model for model in problem.models if not isinstance(model, KAnonymity))
    return problem.varied(models=(KAnonymity(k), *others))


def _keeps(prepared: Prepared, published: Published) -> bool:
    """Whether the classes that would be published keep every limit on all records together."""
    columns = [published.shown.column(attribute.name).codes for attribute in prepared.attributes]
    classes = classes_of(columns, len(published.rows))
    sizes = classes.sizes
    if prepared.persons is not None:
        persons = prepared.persons[published.rows]
        sizes = PersonCells.from_records(classes.of_record, persons, None, len(sizes)).people
    return all(_holds(limit, sizes) for limit in prepared.request.limits_of_table)


def _holds(limit: RiskLimit, sizes: np.ndarray) -> bool:
    return bool(limit.holds(ClassCounts.of_sizes(sizes)).all())


def _noted(found: Attempt, k: int) -> Attempt:
    """The attempt with its k in a note. A bound for that k is none for the limit, which allows others."""
    problem, solution, published = found
    note = (
        f"The limit on the risk of all records together was met with k = {k}, the smallest that a search "
        "by bisection found to keep it. No lower bound on the loss is known for such a limit."
    )
    recoding = replace(solution.recoding, guarantee=None)  # type: ignore[type-var]
    kept = replace(solution, recoding=recoding, bound=None, notes=(*solution.notes, note))
    return problem, kept, published

"""Conversion of the costs that algorithms minimise into the cost that is reported."""

from __future__ import annotations

from kohort.data.hierarchy import Hierarchy
from kohort.problem.problem import Problem


def in_measured_units(problem: Problem, total: float) -> float | None:
    """A sum of weighted costs over records in the units of the reported cost; None if it does not follow."""
    return problem.cost.measure_of_sum(total, problem.n_records, problem.weights)


def searches_what_is_measured(problem: Problem) -> bool:
    """Whether factors proven for the searched costs hold for the reported one.

    Not for `suppressions` with unequal weights; nor with tight labels where a value is missing from its
    hierarchy: the records of its class are published as `*`, which the search does not take into account.
    """
    hidden = any(isinstance(a.domain, Hierarchy) and a.domain.hidden.any() for a in problem.attributes)
    return in_measured_units(problem, 0.0) is not None and not (problem.tight and hidden)

"""The weak bound for tight labels: what it says by definition, and never above the least cost there is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import kohort as ko
from by_definition.subset_bound import least_by_definition, least_cost_by_definition
from kohort.algorithms import Run
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.subset_bound import subset_bound
from kohort.errors import UnsupportedError
from kohort.problem.costs import cost_named
from small_problems import problem_of, problems


def bounded(problem):
    """A problem with a cost that has a bound."""
    cost = problem.cost if problem.cost.metric else cost_named("loss")
    return replace(problem, cost=cost)


def tight(problem):
    return replace(
        problem,
        cost=cost_named("ncp" if problem.cost.name == "ncp" else "loss"),
        attributes=tuple(replace(attribute, tight=True) for attribute in problem.attributes),
    )


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(6))
def test_it_is_the_least_over_all_sets_of_columns_and_below_the_least_cost(problem, labels):
    problem = labels(problem)
    tables, rows = problem.coded.tables, problem.coded.searched_leaves()
    expected = in_measured_units(problem, sum(least_by_definition(tables, rows, problem.k)))
    found = subset_bound(problem, Run())
    assert found == (expected if expected is None else pytest.approx(expected, rel=1e-6))
    if found is not None and problem.k > 1:
        least = in_measured_units(problem, least_cost_by_definition(tables, rows, problem.k))
        assert found <= least + 1e-9


@given(problem=problems(12))
def test_the_optimum_does_not_cost_less(problem):
    problem = bounded(problem)
    try:
        Optimal().refuse(problem)
    except UnsupportedError:
        return
    optimum, bound = Optimal().solve(problem, Run()), subset_bound(problem, Run())
    assert bound is None or optimum.bound is None or bound <= optimum.bound + 1e-6


def test_by_hand():
    problem = problem_of(
        {"age": [1, 1, 2, 9], "sex": ["f", "m", "f", "f"]}, {"age": None, "sex": ko.flat()}, 2
    )
    # with sex f a step of age, which is one of two, also from 9: no age lies between. m needs a second sex
    assert subset_bound(problem, Run()) == pytest.approx(np.mean([1 / 4, 1 / 2, 1 / 4, 1 / 4]))


def test_many_columns_are_not_looked_at():
    columns = {f"c{number}": [0, 1, 0, 1] for number in range(24)}
    assert subset_bound(problem_of(columns, dict.fromkeys(columns), 2), Run()) is None

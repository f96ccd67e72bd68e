"""The bound from cheapest boxes: what it is by definition, and never above the least cost there is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from by_definition.cheapest_boxes import cheapest_box_by_definition
from by_definition.subset_bound import least_cost_by_definition
from kohort.algorithms import Run
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.box_bound import box_bound
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows, least_box_costs, new_box_search
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.problem.costs import cost_named
from kohort.recoding.groups import Groups
from small_problems import ShortRun, problem_of, problems


def bounded(problem):
    """A problem with a cost that has a bound."""
    return replace(problem, cost=problem.cost if problem.cost.metric else cost_named("loss"))


def tight(problem):
    return replace(
        problem,
        cost=cost_named("ncp" if problem.cost.name == "ncp" else "loss"),
        attributes=tuple(replace(attribute, tight=True) for attribute in problem.attributes),
    )


def together(problem):
    return Groups(np.zeros(problem.n_records, dtype=np.int32))


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(7))
def test_it_is_the_cost_of_the_cheapest_boxes_and_below_the_least_cost(problem, labels):
    problem = labels(problem)
    tables, rows, k = problem.coded.tables, problem.coded.searched_leaves(), problem.k
    least = [cheapest_box_by_definition(tables, rows, k, record) for record in range(len(rows))]
    found = box_bound(problem, together(problem), Run())
    if found is not None:
        assert found == pytest.approx(in_measured_units(problem, sum(least)), rel=1e-6, abs=1e-9)
        if k > 1:
            optimum = in_measured_units(problem, least_cost_by_definition(tables, rows, k))
            assert found <= optimum + 1e-9


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(9))
def test_whatever_is_cut_off_stays_below(problem, labels):
    problem = labels(problem)
    tables, rows, k = problem.coded.tables, problem.coded.searched_leaves(), problem.k
    distinct = problem.coded.searched_rows.astype(np.int64)
    boxes = BoxRows(problem.coded.cell_costs, distinct, problem.rows.counts.astype(np.int64), k)
    whole = np.full(len(distinct), sum(cell for cell in problem.coded.cell_costs.attribute.whole) + 1)
    for nodes, levels in ((1, 2), (3, 3), (9, 4)):
        search = new_box_search(boxes, levels)
        found = least_box_costs(boxes, search, np.arange(len(distinct)), whole.copy(), nodes)
        for record, row in enumerate(problem.rows.of_record):
            assert found[row] <= cheapest_box_by_definition(tables, rows, k, record) + 1e-9


def test_a_release_that_is_known_changes_nothing():
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 30, 60).tolist(), "zip": rng.choice(list("abcdef"), 60).tolist()}
    problem = tight(problem_of(columns, dict.fromkeys(columns), 4))
    known = Mondrian().solve(problem, Run())
    assert box_bound(problem, known, Run()) == pytest.approx(box_bound(problem, together(problem), Run()))
    withheld = Groups(np.full(60, -1, dtype=np.int32))
    assert box_bound(problem, withheld, Run()) == pytest.approx(box_bound(problem, known, Run()))


def test_without_time_there_is_a_weaker_bound():
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 30, 200).tolist(), "zip": rng.choice(list("abcdef"), 200).tolist()}
    problem = tight(problem_of(columns, dict.fromkeys(columns), 4))
    cut, whole = (box_bound(problem, together(problem), run) for run in (ShortRun(1), Run()))
    assert 0 < cut < whole
    assert box_bound(problem, together(problem), ShortRun(0)) == 0

"""The bound from cheapest boxes: what it is by definition, and never above the least cost there is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from by_definition.cheapest_boxes import cheapest_box_by_definition
from by_definition.subset_bound import least_cost_by_definition
from kohort.algorithms import Run
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.box_bound import _release_costs, box_bound, cheapest_boxes
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
def test_it_is_between_the_cost_of_the_cheapest_boxes_and_the_least_cost(problem, labels):
    problem = labels(problem)
    tables, rows, k = problem.coded.tables, problem.coded.searched_leaves(), problem.k
    least = [cheapest_box_by_definition(tables, rows, k, record) for record in range(len(rows))]
    found = box_bound(problem, together(problem), Run()).value
    if found is not None:
        assert found >= in_measured_units(problem, sum(least)) * (1 - 1e-6) - 1e-9  # prices may prove more
        if k > 1:
            optimum = in_measured_units(problem, least_cost_by_definition(tables, rows, k))
            assert found <= optimum + 1e-9


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(9))
def test_whatever_is_cut_off_stays_below(problem, labels):
    problem = labels(problem)
    tables, rows, k = problem.coded.tables, problem.coded.searched_leaves(), problem.k
    distinct = problem.coded.searched_rows.astype(np.int32)
    boxes = BoxRows(problem.coded.cell_costs, distinct, problem.rows.counts.astype(np.int64), k)
    whole = np.full(len(distinct), sum(cell for cell in problem.coded.cell_costs.attribute.whole) + 1)
    for nodes, levels in ((1, 2), (3, 3), (9, 4)):
        search = new_box_search(boxes, levels)
        found = least_box_costs(boxes, search, np.arange(len(distinct)), whole.copy(), nodes)
        for record, row in enumerate(problem.rows.of_record):
            assert found[row] <= cheapest_box_by_definition(tables, rows, k, record) + 1e-9


def two_columns(n):
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 30, n).tolist(), "zip": rng.choice(list("abcdef"), n).tolist()}
    return tight(problem_of(columns, dict.fromkeys(columns), 4))


@pytest.mark.parametrize("withheld", [0, 5, 60])
def test_records_may_be_withheld(withheld):
    problem = replace(two_columns(60), suppression=withheld / 60)
    group = Mondrian().solve(replace(problem, suppression=0.0), Run()).group_of_record.copy()
    group[np.isin(group, np.unique(group)[: withheld // 8])] = -1
    kept = group >= 0
    group[kept] = np.unique(group[kept], return_inverse=True)[1]
    if withheld == 60:
        group[:] = -1
    bound = box_bound(problem, Groups(group), Run()).value
    everybody = box_bound(replace(problem, suppression=0.0), together(problem), Run()).value
    assert 0 < bound <= everybody * 1.5


def test_without_time_there_is_a_weaker_bound():
    problem = two_columns(200)
    release = Mondrian().solve(problem, Run())
    cut, whole = (box_bound(problem, release, run).value for run in (ShortRun(2), Run()))
    assert 0 < cut < whole
    assert 0 <= box_bound(problem, release, ShortRun(0)).value <= cut


def test_prices_prove_more_than_cheapest_boxes():
    problem = two_columns(200)
    release = Mondrian().solve(problem, Run())
    rows = problem.coded.searched_rows.astype(np.int32)
    boxes = BoxRows(problem.coded.cell_costs, rows, problem.rows.counts.astype(np.int64), problem.k)
    least = cheapest_boxes(problem, boxes, _release_costs(problem, release), Run())
    alone = in_measured_units(problem, float(np.dot(problem.rows.counts, least)))
    assert alone * 1.01 < box_bound(problem, release, Run()).value


def test_limited_work_gives_the_same_bound_whatever_the_clock_says():
    problem = two_columns(200)
    release = Mondrian().solve(problem, Run())
    bounds = [box_bound(problem, release, Run(), work).value for work in (0, 3_000, 10_000, 10**9)]
    assert bounds == sorted(bounds) and bounds[0] < bounds[-1]
    assert bounds[1:] == [
        box_bound(problem, release, Run(time_limit=60), work).value for work in (3_000, 10_000, 10**9)
    ]

"""Costs of cells and of groups, by the compiled code that several families share."""

import numpy as np
import pytest
from hypothesis import given

from by_definition.group_costs import cell_by_definition, record_cost_by_definition
from kohort.algorithms.kernels.costs import cell_cost, cost_without, costs_by_group
from kohort.errors import UnsupportedError
from kohort.problem.costs import cost_named
from small_problems import problems

pytestmark = pytest.mark.usefixtures("interpreted")


@given(problem=problems(10))
def test_cells_and_groups_cost_what_they_do_by_definition(problem):
    try:
        tables, cells = problem.coded.tables, problem.coded.cell_costs
    except UnsupportedError:
        return
    rows = problem.coded.searched_leaves()
    for a, column in enumerate(rows.T):
        for one in column:
            for other in column:
                values = sorted({int(one), int(other)})
                found = cell_cost(cells, a, values[0], values[-1], len(values))
                assert found == cell_by_definition(tables, a, values)
    order, start = np.arange(len(rows)), np.array([0, 1, len(rows)])[: 2 + (len(rows) > 1)]
    for group, cost in enumerate(costs_by_group(tables, rows, order, start)):
        members = rows[start[group] : start[group + 1]]
        assert cost == pytest.approx(record_cost_by_definition(tables, members))
    if len(rows) > 1:
        rest = record_cost_by_definition(tables, rows[1:])
        assert cost_without(tables, rows, order, 0) == pytest.approx(rest)


@given(problem=problems(8))
def test_every_part_of_the_encoding_is_built_once_and_shared_by_problems_that_differ_in_models(problem):
    other = problem.varied(seed=problem.seed + 1)
    assert other.coded is problem.coded and other.rows is problem.rows
    other_cost = cost_named("ncp" if problem.cost.name == "loss" else "loss")
    assert problem.varied(cost=other_cost).coded is not problem.coded
    try:
        assert problem.coded.closure_tables is other.coded.closure_tables
    except UnsupportedError:
        return
    searched = problem.coded.searched_rows[problem.rows.of_record]
    np.testing.assert_array_equal(searched, problem.coded.searched_leaves())

"""Prices that no box can pay: found by definition, proven in any case, and a bound that is one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_box_bound import bounded, tight

from by_definition.cheapest_boxes import dearest_box_by_definition
from kohort.algorithms import Run
from kohort.algorithms.proofs import box_prices as proving
from kohort.algorithms.proofs.box_prices import box_prices
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows, new_box_search
from kohort.algorithms.proofs.kernels.dearest_boxes import dear_boxes
from small_problems import ShortRun, problems


def boxes_of(problem):
    counts = problem.rows.counts.astype(np.int64)
    return BoxRows(problem.coded.cell_costs, problem.coded.searched_rows.astype(np.int64), counts, problem.k)


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(6), seed=st.integers(0, 100))
def test_the_dearest_box_is_found_or_bounded(problem, labels, seed):
    problem = labels(problem)
    rows, of_record = boxes_of(problem), problem.rows.of_record
    tables, leaves = problem.coded.tables, problem.coded.searched_leaves()
    price = np.random.default_rng(seed).random(len(rows.copies))
    some, rank = np.arange(len(price)), np.argsort(np.argsort(price))
    most = np.full(len(price), price.max())
    for nodes, levels in ((10_000, 40), (3, 3)):
        search = new_box_search(rows, levels)
        excess, bound, start, listed, cost = dear_boxes(rows, search, some, price, rank, most, nodes, 0.0)
        for record, row in enumerate(of_record):
            later = np.flatnonzero(rank[of_record] >= rank[row])
            here = int(np.flatnonzero(later == record)[0])
            exact = dearest_box_by_definition(tables, leaves[later], rows.k, here, price[of_record][later])
            assert bound[row] >= exact - 1e-9
            assert excess[row] <= max(exact, 0.0) + 1e-9
            if nodes > 3:
                assert bound[row] == pytest.approx(max(exact, 0.0), abs=1e-9)
        found = np.flatnonzero(excess > 1e-9)
        assert (np.diff(start)[found] > 0).all() and (cost[found] >= 0).all() and len(listed) == start[-1]


@pytest.mark.parametrize("labels", [bounded, tight])
@pytest.mark.parametrize("run", [Run, lambda: ShortRun(2), lambda: ShortRun(7)])
@given(problem=problems(6), seed=st.integers(0, 100))
def test_no_box_can_pay_the_prices(problem, labels, run, seed):
    problem = labels(problem)
    rows, of_record = boxes_of(problem), problem.rows.of_record
    tables, leaves = problem.coded.tables, problem.coded.searched_leaves()
    first = np.random.default_rng(seed).random(len(rows.copies))
    whole = [np.arange(len(first), dtype=np.int32)]
    least = np.zeros(len(first))
    price = box_prices(rows, first, least, whole, np.ones(1), run())
    for record in range(len(leaves)):
        assert dearest_box_by_definition(tables, leaves, rows.k, record, price[of_record]) <= 1e-9


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(6), seed=st.integers(0, 100), nodes=st.sampled_from([1, 2, 400]))
def test_no_box_can_pay_prices_that_were_scaled_and_lowered(problem, labels, seed, nodes):
    problem = labels(problem)
    rows, of_record = boxes_of(problem), problem.rows.of_record
    tables, leaves = problem.coded.tables, problem.coded.searched_leaves()
    first = np.random.default_rng(seed).random(len(rows.copies))
    whole = [np.arange(len(first), dtype=np.int32)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_SAMPLED", 2)
        patch.setattr(proving, "_FEW", 2)
        patch.setattr(proving, "_SCALES", (0.2, 0.5))
        patch.setattr(proving, "_NODES_OF_PROOF", nodes)
        price = box_prices(rows, first, np.zeros(len(first)), whole, np.ones(1), Run(time_limit=60))
    for record in range(len(leaves)):
        assert dearest_box_by_definition(tables, leaves, rows.k, record, price[of_record]) <= 1e-9

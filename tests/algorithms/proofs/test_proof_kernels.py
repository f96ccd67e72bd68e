"""Prices and least costs: the compiled code on tables that can be checked by hand."""

import numpy as np
import pytest

from by_definition.dual_prices import repaired_by_definition, slack_by_definition
from kohort.algorithms.proofs.kernels.dual_prices import (
    CutPrices,
    PricedRecords,
    cap_prices,
    cheapest_over,
    least_slacks,
    repair_prices,
)
from kohort.algorithms.proofs.kernels.subset_bound import lower_least_costs
from small_problems import problem_of

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("allowance", [0.0, 0.02])
def test_prices_are_capped_until_every_closed_record_can_pay_them(allowance):
    closed = PricedRecords(
        start=np.array([0, 3, 5]),
        rows=np.array([0, 1, 2, 0, 1], dtype=np.int32),
        cost=np.array([1.0, 0.25]),
        copies=np.array([1, 2, 1]),
        k=2,
    )
    assert cheapest_over(closed).tolist() == [0.25, 0.25, 1.0]
    prices, level, slack = np.array([0.5, 0.3, 3.0]), np.zeros(2), np.zeros(2)
    cut = CutPrices(np.array([0, 0, allowance > 0]), np.zeros(1, np.int64), np.array([allowance]), 0.6)
    cap_prices(closed, cut, prices, level)
    least_slacks(closed, cut, prices, level, np.arange(2), np.inf, slack)
    for q in range(2):
        rows = closed.rows[closed.start[q] : closed.start[q + 1]]
        expected = slack_by_definition(prices[rows], closed.copies[rows], closed.cost[q], 2, q * allowance)
        assert slack[q] == pytest.approx(expected) and slack[q] >= -1e-12
    assert prices.max() > 1.0  # the others pay less than their share
    assert prices[:2] == pytest.approx(0.25 + allowance / 3)


@pytest.mark.parametrize("seed", range(30))
def test_a_row_falls_in_proportion_to_the_share_of_it_that_the_dearest_group_has(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    copies, cost, allowance = rng.integers(1, 6, n), np.array([0.4]), 0.1 * (seed % 2)
    k = int(rng.integers(1, copies.sum() + 1))
    closed = PricedRecords(np.array([0, n]), np.arange(n, dtype=np.int32), cost, copies, k)
    cut = CutPrices(np.array([0, 1]), np.zeros(1, np.int64), np.array([allowance]), 0.0)
    prices, lowered = rng.random(n), np.zeros(1)
    expected = repaired_by_definition(prices, copies, 0.4, k, allowance)
    repair_prices(closed, cut, prices, np.zeros(1), np.arange(1), lowered)
    assert prices == pytest.approx(expected)


def test_a_record_needs_the_nearest_second_value_where_its_group_agrees_in_no_column():
    problem = problem_of({"age": [1, 2, 4, 9]}, {"age": None}, 2)
    least = np.full(4, np.inf)
    rows, order = problem.coded.searched_rows.astype(np.int64), np.arange(4)
    equal, copies = np.zeros(1, dtype=bool), np.ones(4, dtype=np.int64)
    lower_least_costs(problem.coded.cell_costs, rows, copies, 2, order, np.array([0, 4]), equal, least)
    assert least == pytest.approx([1 / 3] * 4)  # a step of three

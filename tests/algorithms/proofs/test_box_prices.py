"""Prices that no box can pay: proven in any case, whatever the time, and as high as boxes allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_box_bound import bounded, tight

from by_definition.cheapest_boxes import dearest_box_by_definition, greatest_excess_of_boxes
from kohort.algorithms import Run
from kohort.algorithms.proofs import box_prices as proving
from kohort.algorithms.proofs.box_prices import box_prices
from kohort.algorithms.proofs.kernels.box_tree import lower_prices, new_box_tree, new_found_boxes
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows
from small_problems import ShortRun, box_prices_hold, problem_of, problems

LABELS = pytest.mark.parametrize("labels", [bounded, tight])


def boxes_of(problem):
    counts = problem.rows.counts.astype(np.int64)
    return BoxRows(problem.coded.cell_costs, problem.coded.searched_rows.astype(np.int32), counts, problem.k)


def excess_of(problem, price):
    """By how much the mean price of k records exceeds the cost of their box at most, by definition."""
    tables, leaves, of_record = problem.coded.tables, problem.coded.searched_leaves(), problem.rows.of_record
    return max(
        dearest_box_by_definition(tables, leaves, problem.k, record, price[of_record])
        for record in range(len(leaves))
    )


@LABELS
@given(problem=problems(6), seed=st.integers(0, 100), levels=st.sampled_from([3, 5, 60]))
def test_lowered_prices_are_paid_by_every_box(problem, labels, seed, levels):
    problem = labels(problem)
    rows = boxes_of(problem)
    price = np.random.default_rng(seed).random(len(rows.copies)) - 0.1
    before, found = price.copy(), new_found_boxes(50, 200)
    depth, work = lower_prices(rows, new_box_tree(rows, levels), 1, price, 10_000, found)
    assert depth == 0 and work > 0
    assert (price <= before).all()
    assert excess_of(problem, price) <= 1e-9
    if excess_of(problem, before) <= 0 and levels == 60:  # with room for all, nothing is lowered in vain
        assert (price == before).all() and found.n[0] == 0


@LABELS
@given(problem=problems(6), seed=st.integers(0, 100))
def test_boxes_that_were_found_could_not_pay(problem, labels, seed):
    problem = labels(problem)
    rows = boxes_of(problem)
    price = np.random.default_rng(seed).random(len(rows.copies))
    before, found = price.copy(), new_found_boxes(50, 200)
    lower_prices(rows, new_box_tree(rows, 60), 1, price, 10_000, found)
    for number in range(int(found.n[0])):
        inside = found.rows[found.start[number] : found.start[number + 1]]
        dearest = np.sort(np.repeat(before[inside], rows.copies[inside]))[::-1][: rows.k]
        assert len(dearest) == rows.k and dearest.sum() > rows.k * found.cost[number]


@LABELS
@pytest.mark.parametrize("run", [Run, lambda: ShortRun(2), lambda: ShortRun(7)])
@pytest.mark.parametrize("few", [2000, 1])
@given(problem=problems(6), seed=st.integers(0, 100))
def test_no_box_can_pay_the_prices(problem, labels, run, few, seed):
    problem = labels(problem)
    rows = boxes_of(problem)
    first = np.random.default_rng(seed).random(len(rows.copies))
    whole = [np.arange(len(first), dtype=np.int32)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_FEW", few)
        price = box_prices(rows, first, whole, np.ones(1), run())
    assert price is None or excess_of(problem, price) <= 1e-9


def test_nothing_is_proven_without_time():
    rows = BoxRows(None, np.zeros((3, 1), np.int64), np.ones(3, np.int64), 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_parts", lambda *_: [None])
        patch.setattr(proving, "new_box_tree", lambda *_: None)
        patch.setattr(proving, "_put", lambda *_: 1)
        assert box_prices(rows, np.ones(3), [np.arange(3)], np.ones(1), ShortRun(0)) is None


def test_the_scale_rises_as_far_as_the_time_allows():
    timing, run = proving._Timing(), Run(time_limit=100)
    patience = proving._Patience(run, None)
    assert timing.affordable_step(0.2, 100.5, patience) == 0.1  # half a second: the greatest step
    assert run.was_cut
    step = timing.affordable_step(0.3, 103.0, patience)  # 3 seconds: a trial that takes an eighth of the time
    assert np.isclose(3 * np.exp(timing.growth * step), 100 / 8, rtol=0.01)
    step = timing.affordable_step(0.35, 120.0, patience)  # 20 seconds: a proof that takes all that is left
    assert np.isclose(1.2 * 20 * np.exp(timing.growth * step), 100, rtol=0.01)
    assert proving._Timing().affordable_step(0.35, 190.0, patience) is None  # 90 seconds
    assert proving._Timing().affordable_step(0.2, None, proving._Patience(Run(), None)) == 0.1
    assert proving._Timing().affordable_step(1.0, 3.0, patience) == 0.0


def test_where_work_is_limited_the_clock_decides_nothing():
    timing, run = proving._Timing(), Run(time_limit=100)
    assert timing.affordable_step(0.2, 1000.0, proving._Patience(run, 1000, 10)) == 0.1
    assert (
        timing.affordable_step(0.35, 990.0, proving._Patience(run, 1000, 600)) is None
    )  # 400 left after 590
    assert proving._Timing().affordable_step(1.0, 990.0, proving._Patience(run, 1000, 1001)) is None
    assert not run.was_cut


def columns_at_random(seed):
    """Two columns of sets and one of intervals, with values that depend on one another."""
    rng = np.random.default_rng(seed)
    kind, n = rng.integers(0, 3, 26), 26
    ages = (2 * kind + rng.integers(0, 3, n)).tolist()
    letters = ["abcd"[i] for i in np.minimum(kind + (rng.random(n) < 0.3), 3)]
    return {"age": ages, "job": letters, "sex": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]).tolist()}


@given(seed=st.integers(0, 10_000), k=st.integers(2, 7), scale=st.sampled_from([0.2, 0.4, 0.8]))
def test_no_box_at_all_can_pay_lowered_prices(seed, k, scale):
    """All boxes of a table that is large enough for flows to end branches and to drop rows."""
    columns = columns_at_random(seed)
    problem = tight(problem_of(columns, dict.fromkeys(columns), k))
    rows, rng = boxes_of(problem), np.random.default_rng(seed)
    before = scale * rng.random(len(rows.copies)) * rng.choice([0.3, 1.0], len(rows.copies))
    price = before.copy()
    lower_prices(rows, new_box_tree(rows, 60), 1, price, 100_000, new_found_boxes(50, 2000))
    for one in (price, before):
        excess = greatest_excess_of_boxes(list(columns.values()), k, one[problem.rows.of_record])
        assert excess <= 1e-9 if one is price else (price < before).any() == (excess > 1e-9)
        if abs(excess) > 1e-7:  # verification says the same of these prices, by code of its own
            assert box_prices_hold(problem, one) == (excess <= 0.0)


def test_rows_of_parts_that_were_not_looked_at_keep_the_prices_that_are_proven():
    """Where the time is up, no box can pay what is left of the prices either."""
    problem = tight(
        problem_of({"age": list(range(12)), "sex": list("ab") * 6}, {"age": None, "sex": None}, 3)
    )
    rows, known = boxes_of(problem), np.full(12, 0.01)
    asked = np.full(12, 0.5)
    for looks in range(1, 40, 3):
        patience = proving._Patience(ShortRun(looks), None)
        found = proving._proven(rows, asked, known, proving._Pool(), patience)
        assert (found.price >= 0.01 - 1e-6).all() and excess_of(problem, found.price) <= 1e-9
    assert (found.price > 0.02).any()


def test_rows_that_strain_a_proof_become_cheaper_and_the_total_stays():
    problem = tight(
        problem_of({"age": list(range(12)), "sex": list("ab") * 6}, {"age": None, "sex": None}, 3)
    )
    rows, full = boxes_of(problem), np.linspace(0.1, 0.2, 12)
    strain = np.where(np.arange(12) < 6, 10.0, 0.0)
    eased = proving._eased(rows, full, proving._Proven(full, strain), 0.5)
    assert (eased[:6] < full[:6]).all() and (eased[6:] > full[6:]).all()
    assert np.isclose(eased.sum(), full.sum())
    assert (proving._eased(rows, full, proving._Proven(full, np.zeros(12)), 0.5) == full).all()

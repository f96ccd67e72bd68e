"""Cuts: no release can open more members of one than it says, and with them no bound exceeds the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.dual_prices import (
    allowances_by_definition,
    linear_program_by_definition,
    slack_by_definition,
)
from by_definition.k_anon_cf import least_cost
from by_definition.opening_cuts import most_open
from kohort.algorithms import Run
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.algorithms.mining.closed_records import ClosedRecords, mine_closed_records, record_costs
from kohort.algorithms.proofs.cuts import CutFinder, with_cuts, without_idle
from kohort.algorithms.proofs.dual_bound import dual_bound, dual_prices
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.price_loop import PriceLoop
from kohort.errors import InternalError, UnsupportedError
from kohort.problem.proof import OpeningCuts
from kohort.verification import check_proof
from small_problems import ShortRun, problem_of, problems

RNG = np.random.default_rng(3)
COLUMNS = {name: RNG.choice(list("abcde"), 60).tolist() for name in ("x", "y", "z")}
TREE = ko.Hierarchy.from_paths([(leaf, "ab" if leaf in "ab" else "cde", "*") for leaf in "abcde"])
HIERARCHIES = dict.fromkeys(COLUMNS, TREE)


def with_trees(problem):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        return False
    return problem.cost.monotone


def members_of(cuts, number):
    return cuts.members[cuts.start[number] : cuts.start[number + 1]].tolist()


@given(problems(max_records=14).filter(with_trees), st.randoms(use_true_random=False))
def test_no_release_opens_more_members_than_a_cut_says(problem, random):
    """For any fractional choice, however unlikely."""
    closed, counts = mine_closed_records(problem), problem.rows.counts
    z = np.array([random.random() * random.randrange(2) for _ in range(len(closed))])
    slack = np.array([random.random() for _ in range(len(closed))])
    cuts = CutFinder(closed, counts.astype(np.int64), problem.k).find(z, slack, set())
    for number in range(len(cuts)):
        members = members_of(cuts, number)
        assert z[members].sum() > cuts.most[number]  # it is violated, so it is worth something
        assert len(set(members)) == len(members)
        some = members if len(members) <= 6 else random.sample(members, 6)
        assert (
            most_open([set(closed.support(q).tolist()) for q in some], counts, problem.k) <= cuts.most[number]
        )


@given(problems(max_records=9).filter(with_trees), st.integers(0, 2))
def test_the_bound_is_below_the_optimum(problem, withheld):
    problem = replace(problem, suppression=withheld / problem.n_records if problem.n_records > 2 else 0.0)
    closed = mine_closed_records(problem)
    prices = dual_prices(problem, closed, record_costs(problem, closed), Run())
    bound = dual_bound(problem, prices, problem.coded.star_cost)
    assume(bound is not None)
    assert bound <= Optimal().solve(problem, Run()).bound + 1e-9
    check_proof(problem, prices.proof(problem, closed), bound)


@given(problems(max_records=8).filter(with_trees))
def test_the_bound_is_below_the_cost_of_every_partition(problem):
    closed = mine_closed_records(problem)
    prices = dual_prices(problem, closed, record_costs(problem, closed), Run())
    bound = dual_bound(problem, prices, problem.coded.star_cost)
    least = in_measured_units(problem, least_cost(problem, problem.k))
    assert bound is None or bound <= least + 1e-9


@pytest.fixture(scope="module")
def priced():
    """A problem, its closed records, and prices with cuts."""
    problem = problem_of(COLUMNS, HIERARCHIES, 4)
    closed = mine_closed_records(problem)
    prices = dual_prices(problem, closed, record_costs(problem, closed), Run())
    assert len(prices.cuts) > 3
    return problem, closed, prices


def test_cuts_raise_the_bound(priced):
    problem, closed, prices = priced
    loop = PriceLoop.of(problem, closed, record_costs(problem, closed))
    loop.raise_prices(600, Run(), cuts=False)
    without, _, none = loop.feasible()
    assert not len(none)
    bound = np.dot(problem.rows.counts, prices.of_row) - prices.cuts.total
    assert bound > 1.001 * np.dot(problem.rows.counts, without)


@pytest.mark.parametrize("k", [4, 7, 12])
def test_prices_come_near_the_linear_program_where_rows_have_many_records(k):
    problem = problem_of({name: COLUMNS[name] for name in "xy"}, dict.fromkeys("xy", TREE), k)
    closed, counts = mine_closed_records(problem), problem.rows.counts
    cost = record_costs(problem, closed)
    loop = PriceLoop.of(problem, closed, cost)
    loop.raise_prices(600, Run(), cuts=False)
    supports = [closed.support(q).tolist() for q in range(len(closed))]
    best = linear_program_by_definition(supports, counts, cost, k)
    assert 0.995 * best < np.dot(counts, loop.feasible()[0]) <= best + 1e-9


def test_after_any_number_of_rounds_prices_are_feasible(priced):
    problem, closed, _ = priced
    cost, counts = record_costs(problem, closed), problem.rows.counts
    loop = PriceLoop.of(problem, closed, cost)
    for rounds in (1, 7, 30, 40):
        loop.raise_prices(rounds, Run())
        prices, slack, cuts = loop.feasible()
        allowed = allowances_by_definition(cuts, len(closed))
        for q in range(len(closed)):
            rows = closed.support(q)
            exact = slack_by_definition(prices[rows], counts[rows], cost[q], problem.k, allowed[q])
            assert slack[q] <= exact + 1e-9
            assert exact >= -1e-12


def test_prices_do_not_depend_on_the_clock_but_where_it_cuts_them_off(priced):
    problem, closed, prices = priced
    again = dual_prices(problem, closed, record_costs(problem, closed), Run(time_limit=600))
    assert (again.of_row == prices.of_row).all()
    cut = dual_prices(problem, closed, record_costs(problem, closed), ShortRun(20))
    assert cut.rounds < again.rounds
    check_proof(problem, cut.proof(problem, closed), dual_bound(problem, cut, problem.coded.star_cost))


def corrupted(cuts, what):
    start, members = cuts.start, cuts.members
    if what == "a cut says less":
        return replace(cuts, most=np.where(np.arange(len(cuts)) == 1, cuts.most - 1, cuts.most))
    if what == "a price is below 0":
        return replace(cuts, price=np.where(np.arange(len(cuts)) == 1, -0.01, cuts.price))
    if what == "a price is no number":
        return replace(cuts, price=np.where(np.arange(len(cuts)) == 1, np.nan, cuts.price))
    if what == "a member has room":  # the first closed record has all rows under it
        return replace(cuts, members=np.where(np.arange(len(members)) == start[1], 0, members))
    if what == "a member is missing":
        return replace(cuts, members=np.delete(members, start[1]), start=start - (start > start[1]))
    if what == "a member is no closed record":
        return replace(cuts, members=np.where(np.arange(len(members)) == start[1], 10**6, members))
    return replace(cuts, price=cuts.price * 0.5)  # prices of rows need more than that


@pytest.mark.parametrize(
    "what",
    [
        "a cut says less",
        "a price is below 0",
        "a price is no number",
        "a member has room",
        "a member is missing",
        "a member is no closed record",
        "cuts allow less",
    ],
)
@pytest.mark.parametrize("one", [False, True])
def test_whatever_is_corrupted_in_cuts_is_noticed(priced, what, one):
    problem, closed, prices = priced
    chosen = np.flatnonzero(((prices.cuts.most == 1) == one) & (np.diff(prices.cuts.start) > 1))
    first = ordered(prices.cuts, chosen)
    proof = replace(prices, cuts=first).proof(problem, closed)
    bound = dual_bound(problem, prices, problem.coded.star_cost)
    check_proof(problem, proof, bound)
    with pytest.raises(InternalError, match="lower bound"):
        check_proof(problem, replace(proof, cuts=corrupted(proof.cuts, what)), bound)


def ordered(cuts, first):
    """The same cuts, with those of the given numbers first."""
    order = np.concatenate([first, np.setdiff1d(np.arange(len(cuts)), first)])
    return OpeningCuts(
        start=np.cumsum([0, *np.diff(cuts.start)[order]]),
        members=np.concatenate([members_of(cuts, number) for number in order]),
        most=cuts.most[order],
        price=cuts.price[order],
    )


def test_cuts_that_cost_nothing_are_left_out():
    cuts = OpeningCuts(
        start=np.array([0, 2, 3]),
        members=np.array([4, 5, 6]),
        most=np.array([1, 2]),
        price=np.array([0.0, 0.5]),
    )
    both = with_cuts(cuts, cuts)
    assert both.start.tolist() == [0, 2, 3, 5, 6]
    kept = without_idle(both)
    assert kept.start.tolist() == [0, 1, 2] and kept.members.tolist() == [6, 6] and kept.total == 2.0


def test_crowded_records_are_found():
    """Three pairs of three records share each record with another pair: at most one has room for k = 2."""
    closed = ClosedRecords(
        nodes=np.zeros((3, 1), dtype=np.int32),
        weight=np.array([2, 2, 2]),
        start=np.array([0, 2, 4, 6]),
        rows=np.array([0, 1, 1, 2, 0, 2], dtype=np.int32),
        complete=True,
    )
    z, slack = np.full(3, 0.5), np.zeros(3)
    cuts = CutFinder(closed, np.ones(3, dtype=np.int64), 2).find(z, slack, set())
    assert cuts.most.tolist() == [1, 1]
    assert all(sorted(members_of(cuts, number)) == [0, 1, 2] for number in (0, 1))
    assert not len(CutFinder(closed, np.ones(3, dtype=np.int64), 2).find(z * 0.6, slack, set()))

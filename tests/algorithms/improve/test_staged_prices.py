"""Prices in stages, and prices of large tables, which leave most closed records out and hold against all."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.dual_prices import slack_by_definition
from kohort.algorithms import Run
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.algorithms.improve.staged_prices import _rounds_in, first_prices, low_prices
from kohort.algorithms.mining.closed_records import MinedRows, mine, mine_closed_records, record_costs
from kohort.errors import UnsupportedError
from kohort.verification import check_proof
from small_problems import problems


def with_trees(problem):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        return False
    return problem.cost.monotone


@given(problems(max_records=9).filter(with_trees), st.integers(0, 2), st.sampled_from([0.1, 0.3, 0.7]))
def test_low_prices_prove_a_bound_although_they_know_few_closed_records(problem, withheld, share):
    problem = replace(problem, suppression=withheld / problem.n_records if problem.n_records > 2 else 0.0)
    priced = low_prices(problem, Run(), Run(), None, share)
    closed = mine_closed_records(problem)
    cost, counts, highest = (
        record_costs(problem, closed),
        problem.rows.counts,
        share * problem.coded.star_cost,
    )
    if priced is None:  # no closed record is cheap enough to be known
        assert cost.min() >= highest
        return
    known = {tuple(nodes) for nodes in priced.closed.nodes.tolist()}
    assert known == {tuple(n) for n, paid in zip(closed.nodes.tolist(), cost) if paid < highest}
    for q in range(len(closed)):
        rows = closed.support(q)
        assert slack_by_definition(priced.prices.of_row[rows], counts[rows], cost[q], problem.k) >= -1e-9
    if priced.bound is not None:
        assert priced.bound <= Optimal().solve(problem, Run()).bound + 1e-9
        check_proof(problem, priced.prices.proof(priced.problem, priced.closed), priced.bound)


@given(problems(max_records=9).filter(with_trees))
def test_refined_prices_never_prove_less_and_never_too_much(problem):
    first = first_prices(problem, Run(), None)
    refined = first.refined(Run(), None)
    if refined.bound is not None:
        assert first.bound <= refined.bound <= Optimal().solve(problem, Run()).bound + 1e-9


@given(problems(max_records=9).filter(with_trees))
def test_rounds_have_a_quarter_of_the_first_seconds_and_half_of_the_others(problem):
    closed = mine_closed_records(problem)
    in_15, in_30, in_45 = (_rounds_in(seconds, closed) for seconds in (15.0, 30.0, 45.0))
    assert abs(in_30 - 3 * in_15) <= 3 and abs(in_45 - 5 * in_15) <= 5  # rounded


def test_what_is_not_wanted_is_not_mined():
    people = ko.datasets.load_adult(split="train").slice(0, 300).select(["sex", "race", "education"])
    problem = ko.anonymize(
        people,
        quasi_identifiers={name: ko.auto() for name in people.column_names},
        privacy=[ko.KAnonymity(3)],
        algorithm="mondrian",
    ).problem
    everything = mine_closed_records(problem)
    some = mine(MinedRows.of(problem), 3, wanted=lambda nodes: nodes[:, 0] == 0, run=Run())
    expected = np.flatnonzero(everything.nodes[:, 0] == 0)
    assert 0 < len(expected) < len(everything)
    assert some.nodes.tolist() == everything.nodes[expected].tolist()
    assert some.weight.tolist() == everything.weight[expected].tolist()
    for number, q in enumerate(expected):
        assert some.support(number).tolist() == everything.support(q).tolist()

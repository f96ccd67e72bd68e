"""Turns of the search: heat may add to the cost for a while, but what is kept never costs more."""

import numpy as np
import pytest

import kohort as ko
from by_definition.assignment import audit
from kohort.algorithms import Run
from kohort.algorithms.improve.assignment_search import AssignmentSearch
from kohort.algorithms.improve.heat import Heat
from kohort.algorithms.improve.search_turns import SearchTurns
from kohort.algorithms.improve.staged_prices import first_prices
from kohort.algorithms.mondrian.mondrian import Mondrian

QUASI_IDENTIFIERS = ("sex", "race", "education", "marital-status")


@pytest.fixture(scope="module")
def problem():
    people = ko.datasets.load_adult(split="train").slice(0, 900)
    return ko.anonymize(
        people.select([*QUASI_IDENTIFIERS, "occupation"]),
        quasi_identifiers={name: ko.auto() for name in QUASI_IDENTIFIERS},
        sensitive=["occupation"],
        privacy=[ko.KAnonymity(3), ko.LDiversity("occupation", 2)],
        algorithm="mondrian",
    ).problem


def started(problem):
    priced = first_prices(problem, Run(), None)
    search = AssignmentSearch(problem, priced.closed, priced.cost, priced.star, priced.prices)
    search.start_from(Mondrian().solve(problem, Run()))
    return search, SearchTurns(search, priced.prices, priced.bound)


def test_annealing_keeps_the_best_and_every_promise(problem):
    search, turns = started(problem)
    costs = [search.total]

    def noted(what, share):
        costs.append(search.total)

    turns._anneal(Run(time_limit=1.5, progress=noted))
    audit(search)
    search.check()
    assert search.total <= min(costs) + 1e-9 < costs[0]
    groups = search.groups()
    assert problem.satisfied(groups, slice(None), int(groups.max()) + 1).all()


def test_small_tables_are_annealed_in_little_time(problem):
    """Nursery at k = 200 ended 2 % above the least cost after 5 of 10 seconds, since it was not."""
    search, turns = started(problem)
    rows = len(search.closed.rows)
    enough = 15.0 * rows / 40_000_000
    assert turns._can_anneal(1.01 * enough) and not turns._can_anneal(0.99 * enough)
    before = search.total
    turns.go_on(Run(time_limit=0.5), seconds=0.5)
    audit(search)
    assert search.total < before


def test_rounds_with_heat_may_add_to_the_cost_and_without_never_do(problem):
    search, _ = started(problem)
    search.ruin_and_recreate(search.near(), 1, 300)
    cold = search.total
    before, rose = cold, False
    for seed in range(30):
        search.ruin_and_recreate(search.near(), seed, 5, heat=0.3)
        rose, before = rose or search.total > before + 1e-9, search.total
        audit(search)
    assert rose
    for seed in range(5):
        before = search.total
        search.ruin_and_recreate(search.near(), seed, 20)
        assert search.total <= before + 1e-9


def test_other_prices_change_what_is_near_and_nothing_else(problem):
    problem = problem.varied(models=(ko.KAnonymity(3),))
    search, turns = started(problem)
    priced = first_prices(problem, Run(), None)
    refined = priced.refined(Run(), None)
    assert refined.bound > priced.bound and refined.loop.rounds > priced.prices.rounds
    total, groups = search.total, search.groups()
    search.reprice(refined.prices)
    assert search.total == total and (search.groups() == groups).all()
    assert not np.array_equal(search.slack * search.scale, turns.prices.slack)
    audit(search)


def test_prices_that_know_a_model_have_one_stage(problem):
    priced = first_prices(problem, Run(), None)
    assert priced.refined(Run(), None) is priced
    assert priced.bound > first_prices(problem.varied(models=(ko.KAnonymity(3),)), Run(), None).bound


def test_heat_falls_to_nothing_by_time_or_by_rounds():
    assert Heat(Run(), 1.0, 4).is_out  # without a time limit there is none
    heat = Heat(Run(time_limit=600), 1.0, 4)
    shares = []
    for _ in range(5):
        shares.append(heat.now())
        heat.n_made += 1
    assert shares == [1.0, 0.75, 0.5, 0.25, 0.0] and heat.is_out
    assert Heat(Run(time_limit=1e-9), 1.0, 4).is_out


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_rounds_follow_from_the_limit_and_the_table_alone(problem, seconds):
    problem = problem.varied(models=(ko.KAnonymity(3),))
    once, again = (first_prices(problem, Run(), seconds).refined(Run(), seconds) for _ in range(2))
    assert once.loop.rounds == again.loop.rounds
    assert (once.prices.of_row == again.prices.of_row).all()
    assert once.bound == again.bound

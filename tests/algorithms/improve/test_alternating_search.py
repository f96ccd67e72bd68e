"""Large tables searched with cheap closed records and in regions, in turns: promises hold, never dearer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.algorithms import Run
from kohort.algorithms.improve import large_tables, region_search
from kohort.algorithms.improve.assignment_search import closures
from kohort.algorithms.improve.large_tables import SearchedRecords, searched_in_turns
from kohort.algorithms.improve.staged_prices import low_prices
from kohort.algorithms.mining.closed_records import mine_closed_records, record_costs
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.errors import UnsupportedError
from small_problems import ShortRun, problems


def with_trees(problem):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        return False
    return problem.cost.monotone and problem.all_survive_unions


@pytest.fixture(scope="module", autouse=True)
def regions_of_few_groups():
    """For random tables, which have few groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_search, "_GROUPS", 2)
        yield


def known(problem):
    """All closed records: their supports and costs by their nodes."""
    closed = mine_closed_records(problem)
    cost = record_costs(problem, closed)
    return {
        tuple(nodes): (set(closed.support(q).tolist()), cost[q], closed.weight[q])
        for q, nodes in enumerate(closed.nodes.tolist())
    }


@given(problems(max_records=12).filter(with_trees), st.sampled_from([0.2, 0.5, 2.0]), st.floats(0, 0.2))
def test_searched_records_have_the_supports_and_costs_of_the_mined_ones(problem, share, slack):
    priced, groups = low_prices(problem, Run(), Run(), None, share), Mondrian().solve(problem, Run())
    if priced is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_tables, "_MOST_SLACK", slack)
        some = SearchedRecords(priced).with_groups(groups)
    every, found = known(problem), [tuple(nodes) for nodes in some.closed.nodes.tolist()]
    assert len(set(found)) == len(found)
    assert {tuple(nodes) for nodes in closures(problem, groups).tolist()} <= set(found)
    near = priced.closed.nodes[priced.prices.slack <= slack * priced.star]
    assert {tuple(nodes) for nodes in near.tolist()} <= set(found)
    for q, nodes in enumerate(found):
        support, cost, weight = every[nodes]
        assert set(some.closed.support(q).tolist()) == support
        assert some.cost[q] == pytest.approx(cost) and some.closed.weight[q] == weight
    assert some.closed.weight[0] == problem.n_records  # the most general one covers every record


@given(problems().filter(with_trees))
def test_groups_keep_every_promise_and_cost_no_more(problem):
    start, priced = Mondrian().solve(problem, Run()), low_prices(problem, Run(), Run(), None, 0.5)
    if priced is None:
        return
    found = searched_in_turns(start, priced, ShortRun(8), 0.0)
    assert problem.satisfied(found.group_of_record, slice(None), found.n_groups).all()
    paid = [_total(problem, groups.group_of_record, closures(problem, groups)) for groups in (start, found)]
    assert paid[1] <= paid[0] + 1e-9


def _total(problem, group_of_record, nodes):
    cost = sum(cost[node] for cost, node in zip(problem.coded.node_costs, nodes.T))
    return float(np.dot(cost, np.bincount(group_of_record, minlength=len(nodes))))


def adult(**options):
    people = ko.datasets.load_adult(split="train").slice(0, 800)
    asked = {
        "quasi_identifiers": {n: ko.auto() for n in ("sex", "race", "education", "workclass")},
        "sensitive": ["occupation"],
        "others": "drop",
        "privacy": [ko.KAnonymity(5)],
        "algorithm": "improve",
    }
    return ko.anonymize(people, **asked | options)


@pytest.mark.benchmarks
@pytest.mark.parametrize("models", [[], [ko.LDiversity("occupation", 2, kind="distinct")]])
def test_it_comes_close_to_the_search_with_all_closed_records(monkeypatch, models):
    asked = {"privacy": [ko.KAnonymity(5), *models]}
    whole = adult(**asked, time_limit=3)
    monkeypatch.setattr("kohort.algorithms.improve.improve._MOST_TOGETHER", 100)
    release = adult(**asked, time_limit=3)
    assert release.verdict.holds and "closed records that cost little" in " ".join(release.notes)
    assert release.cost < adult(**asked, algorithm="mondrian").cost
    assert release.cost < 1.05 * whole.cost
    assert 0 < release.bound <= whole.cost + 1e-9


def test_with_too_little_time_or_too_many_records_regions_are_searched_alone(monkeypatch):
    monkeypatch.setattr("kohort.algorithms.improve.improve._MOST_TOGETHER", 100)
    with monkeypatch.context() as patch:
        patch.setattr("kohort.algorithms.improve.large_tables._SECONDS_PER_RECORD", 1.0)
        assert "without closed records" in " ".join(adult(time_limit=5).notes)
    monkeypatch.setattr("kohort.algorithms.improve.large_tables._MOST_WITH_RECORDS", 100)
    assert "without closed records" in " ".join(adult(time_limit=5).notes)


def test_where_most_of_many_records_differ_nothing_is_mined(monkeypatch):
    monkeypatch.setattr("kohort.algorithms.improve.improve._MOST_TOGETHER", 100)
    problem = adult(time_limit=5).problem
    assert large_tables._distinct_in_sample(problem) == len(problem.rows.counts)
    monkeypatch.setattr(large_tables, "_MOST_DISTINCT", len(problem.rows.counts) - 1)
    monkeypatch.setattr(large_tables, "low_prices", None)
    assert "without closed records" in " ".join(adult(time_limit=5).notes)
    monkeypatch.setattr(large_tables, "_SAMPLED", 100)
    assert large_tables._distinct_in_sample(problem) <= 100

"""The search of large tables region by region: promises hold for the whole table, and it is never dearer."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.group_costs import record_cost_by_definition
from kohort.algorithms import Run
from kohort.algorithms.auto import Auto
from kohort.algorithms.improve import region_search
from kohort.algorithms.improve.region_search import local_cells, present_leaves, regrouped_in_regions
from kohort.algorithms.kernels.costs import cell_cost
from kohort.algorithms.mondrian.mondrian import Mondrian
from small_problems import ShortRun, problems
from trials import trials


@pytest.fixture(scope="module", autouse=True)
def regions_of_few_groups():
    """For random tables, which have few groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_search, "_GROUPS", 2)
        yield


def total(problem, group):
    tables, rows = problem.coded.tables, problem.coded.searched_leaves()
    return sum(
        size * record_cost_by_definition(tables, rows[group == number])
        for number, size in enumerate(np.bincount(group))
    )


def hospital(n, **options):
    asked = {
        "quasi_identifiers": {"sex": None, "age": ko.intervals(5, 10, 20), "postcode": ko.mask()},
        "sensitive": ["diagnosis"],
        "privacy": [ko.KAnonymity(5)],
        "algorithm": "improve",
        "shuffle": False,
    } | options
    people = ko.datasets.generate_hospital(n).select([*asked["quasi_identifiers"], "diagnosis"])
    return ko.anonymize(people, **asked)


@given(problems())
def test_groups_keep_every_promise_and_cost_no_more(problem):
    start = Mondrian().solve(problem, Run())
    found = regrouped_in_regions(problem, start, ShortRun(6), 0.0).group_of_record
    assert problem.satisfied(found, slice(None), int(found.max()) + 1).all()
    assert total(problem, found) <= total(problem, start.group_of_record) + 1e-9


@given(problems(), st.randoms(use_true_random=False))
def test_groups_in_any_order_are_searched_alike(problem, random):
    start = Mondrian().solve(problem, Run())
    order = list(range(start.n_groups))
    random.shuffle(order)
    given = replace(start, group_of_record=np.array(order, dtype=np.int32)[start.group_of_record])
    found = regrouped_in_regions(problem, given, Run(), 0.0, turns=[1]).group_of_record
    assert problem.satisfied(found, slice(None), int(found.max()) + 1).all()
    assert total(problem, found) <= total(problem, start.group_of_record) + 1e-9
    again = regrouped_in_regions(problem, given, Run(), 0.0, turns=[1]).group_of_record
    assert (found == again).all()


@given(problems(), st.integers(1, 6))
def test_cells_of_a_region_cost_what_they_cost_in_the_whole_table(problem, share):
    rows = problem.coded.searched_leaves()[::share]
    tables, leaves = problem.coded.tables, present_leaves(rows)
    cells, local = local_cells(tables, rows, leaves)
    assert all((leaves[a][local[:, a]] == rows[:, a]).all() for a in range(rows.shape[1]))
    for first in range(len(rows)):
        for second in range(first, len(rows)):
            cost = 0.0
            for a in range(rows.shape[1]):
                ends = local[[first, second], a]
                cost += cell_cost(cells, a, ends.min(), ends.max(), len(set(ends.tolist())))
            assert cost == pytest.approx(record_cost_by_definition(tables, rows[[first, second]]), abs=1e-9)


def test_equal_records_beyond_those_that_others_may_need_are_set_aside():
    table = pa.table({"x": ["a"] * 50 + ["b", "c", "d", "e"] * 3, "y": ["u"] * 50 + list("uvw") * 4})
    problem = ko.anonymize(
        table, quasi_identifiers=["x", "y"], privacy=[ko.KAnonymity(3)], time_limit=1e-9
    ).problem
    start = Mondrian().solve(problem, Run())
    search = region_search._RegionSearch(problem, start)
    assert len(search.records) < 30
    found = regrouped_in_regions(problem, start, Run(), 0.0).group_of_record
    assert (found >= 0).all() and np.bincount(found).min() >= 3
    assert total(problem, found) <= total(problem, start.group_of_record)


def test_the_result_depends_on_the_seed_alone_on_any_number_of_threads(monkeypatch):
    problem = hospital(600, time_limit=1e-9).problem
    start = Mondrian().solve(problem, Run())
    found = [regrouped_in_regions(problem, start, Run(), 0.01).group_of_record for _ in range(2)]
    monkeypatch.setattr(region_search, "thread_count", lambda: 1)
    found.append(regrouped_in_regions(problem, start, Run(), 0.01).group_of_record)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    assert total(problem, found[0]) < total(problem, start.group_of_record)


def test_regions_with_many_leaves_are_halved(monkeypatch):
    monkeypatch.setattr(region_search, "_MOST_PAIRS", 100)
    problem = hospital(300, time_limit=1e-9).problem
    start = Mondrian().solve(problem, Run())
    found = regrouped_in_regions(problem, start, Run(), 0.01).group_of_record
    assert np.bincount(found).min() >= 5
    assert total(problem, found) < total(problem, start.group_of_record)


@pytest.mark.parametrize(
    "model",
    [
        ko.LDiversity("diagnosis", 3, kind="distinct"),
        ko.LDiversity("diagnosis", 2.5, kind="entropy"),
        ko.TCloseness("diagnosis", 0.7),
    ][: trials(1, 3)],
)
def test_models_hold_in_every_region_by_the_distribution_of_the_whole_table(monkeypatch, model):
    monkeypatch.setattr("kohort.algorithms.improve.improve._MOST_TOGETHER", 100)
    asked = [ko.KAnonymity(5), model]
    release = hospital(800, privacy=asked, time_limit=5)
    assert release.algorithm == "improve" and release.verdict.holds
    assert "region by region" in " ".join(release.notes)
    assert release.cost < hospital(800, privacy=asked, algorithm="mondrian").cost


def test_columns_of_many_leaves_are_searched_region_by_region(monkeypatch):
    monkeypatch.setattr("kohort.algorithms.refusals._MOST_PAIRS", 3)
    release = hospital(200, time_limit=5)
    assert release.verdict.holds and "region by region" in " ".join(release.notes)
    assert release.cost <= hospital(200, algorithm="mondrian").cost


def test_auto_takes_improve_for_large_tables_only_with_a_time_limit(monkeypatch):
    problem = hospital(50, algorithm="mondrian").problem
    monkeypatch.setattr("kohort.algorithms.auto._MOST_RECORDS", 10)
    chosen, reason = Auto().choice_for(problem, None)
    assert chosen.name == "mondrian" and "only with a time limit" in reason[0]
    assert Auto().choice_for(problem, 20.0)[0].name == "improve"


def test_a_time_limit_longer_than_its_own_is_used(monkeypatch):
    monkeypatch.setattr("kohort.algorithms.improve.improve.SECONDS", 1e-9)
    monkeypatch.setattr("kohort.algorithms.improve.improve._MOST_TOGETHER", 100)
    assert hospital(400).cut_by_time
    assert hospital(400, time_limit=5).cost < hospital(400, algorithm="mondrian").cost


@pytest.mark.long
def test_many_texts_without_a_hierarchy_take_no_square_of_memory():
    """One group of 20,000 names that nothing tells apart: the costs of all pairs would take 3 gigabytes."""
    table = pa.table({"name": [f"n{n}" for n in range(20_000)], "sex": ["f", "m"] * 10_000})
    tracemalloc.start()
    release = ko.anonymize(table, quasi_identifiers=["name", "sex"], k=5, algorithm="improve", time_limit=1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert release.verdict.holds
    assert most < 200_000_000

"""sequential against the literal algorithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.cluster_cells import as_clusters, cost_function, total_cost
from by_definition.sequential import cluster_sequentially
from kohort.algorithms import Run
from kohort.algorithms.clustering.agglomerative import STOPPED
from kohort.algorithms.clustering.hilbert import hilbert_order
from kohort.algorithms.clustering.sequential import Sequential
from kohort.errors import InputError, UnsupportedError
from small_problems import ShortRun, problem_of, problems

FULL_SCAN = 10**9
algorithms = st.builds(
    Sequential,
    start=st.sampled_from(["random", "hilbert"]),
    alpha=st.sampled_from([0.1, 0.5, 0.9, 1]),
    omega=st.sampled_from([1, 1.5, 3]),
    passes=st.integers(1, 4),
    scan=st.sampled_from([1, 2, FULL_SCAN]),
    polish=st.booleans(),
)


@given(problems(max_records=16), algorithms)
def test_it_does_what_looking_at_every_cluster_does(problem, algorithm):
    algorithm = replace(algorithm, start="random", scan=FULL_SCAN)
    found = algorithm.solve(problem, Run()).group_of_record
    expected = cluster_sequentially(
        problem,
        cost_function(problem),
        hilbert_order(problem).tolist(),
        alpha=algorithm.alpha,
        omega=algorithm.omega,
        passes=algorithm.passes,
        polish=algorithm.polish,
    )
    assert as_clusters(problem, found) == expected


@given(problems(max_records=40), algorithms)
def test_groups_have_k_records_and_cost_no_more_than_one_group_of_all(problem, algorithm):
    groups = algorithm.solve(problem, Run()).group_of_record
    assert np.bincount(groups).min() >= problem.k
    if problem.cost.monotone:
        assert total_cost(problem, groups) <= total_cost(problem, np.zeros_like(groups)) + 1e-9


@given(problems(max_records=40), algorithms)
def test_polishing_never_ends_above_its_start(problem, algorithm):
    rough = replace(algorithm, polish=False).solve(problem, Run()).group_of_record
    polished = replace(algorithm, polish=True).solve(problem, Run()).group_of_record
    assert total_cost(problem, polished) <= total_cost(problem, rough) + 1e-9


@given(problems(max_records=40), algorithms)
def test_more_passes_of_polishing_never_cost_more(problem, algorithm):
    """With one first pass only, the runs differ by the polishing alone."""
    once = replace(algorithm, polish=True, passes=1)
    costs = []
    for passes in (1, 2, 5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kohort.algorithms.clustering.sequential._Moving.clusters", first_pass_only)
            groups = replace(once, passes=passes).solve(problem, Run()).group_of_record
        costs.append(total_cost(problem, groups))
    assert costs[1] <= costs[0] + 1e-9 and costs[2] <= costs[1] + 1e-9


def first_pass_only(moving):
    """As if there had been no pass: the clusters of the start, rows with k copies apart."""
    cluster_of_row = moving._first_clusters()
    alone = cluster_of_row < 0
    cluster_of_row[alone] = cluster_of_row.max(initial=-1) + 1 + np.arange(alone.sum())
    return cluster_of_row


def test_a_better_place_is_found():
    """Two towns far apart, mixed at the start by any seed: in the end nobody pays for the other town."""
    tree = ko.Hierarchy.from_paths([(f"{t}{i}", t, "*") for t in "AB" for i in range(20)])
    values = [f"{t}{i}" for i in range(20) for t in "AB"]
    for seed in range(5):
        problem = problem_of({"x": values}, {"x": tree}, 5, seed=seed)
        groups = Sequential().solve(problem, Run()).group_of_record
        for group in range(groups.max() + 1):
            assert len({values[record][0] for record in np.flatnonzero(groups == group)}) == 1


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_all_rows_equal_are_one_group(n):
    problem = problem_of({"x": [7] * n}, {"x": None}, n)
    assert Sequential().solve(problem, Run()).group_of_record.tolist() == [0] * n


def test_with_k_1_every_distinct_row_is_a_group():
    problem = problem_of({"x": [1, 2, 2, 3]}, {"x": None}, 1)
    groups = Sequential().solve(problem, Run()).group_of_record
    assert len(set(groups.tolist())) == 3 and groups[1] == groups[2]


@given(problems(max_records=40), algorithms, st.integers(0, 12))
def test_when_time_runs_out_all_records_still_have_a_group(problem, algorithm, looks):
    groups = algorithm.solve(problem, ShortRun(looks))
    assert np.bincount(groups.group_of_record).min() >= problem.k
    assert all(note == STOPPED or "not in all clusters" in note for note in groups.notes)


def test_it_says_when_a_record_did_not_try_all_clusters():
    problem = problem_of({"x": list(range(40))}, {"x": None}, 2)
    some, all_ = (Sequential(scan=scan).solve(problem, Run()).notes for scan in (4, 40))
    assert len(some) == 1 and "tried in 4 clusters" in some[0]
    assert all_ == ()


def test_progress_rises_in_every_phase():
    seen = {}
    columns = {"x": [(i * 7919) % 997 for i in range(2000)], "y": [i % 13 for i in range(2000)]}
    ko.anonymize(
        pa.table(columns),
        quasi_identifiers=list(columns),
        privacy=[ko.KAnonymity(5)],
        algorithm=Sequential(polish=True),
        progress=lambda what, share: seen.setdefault(what, []).append(share),
    )
    phases = ["moving records", "finding the nearest clusters", "joining clusters", "polishing"]
    assert list(seen) == [*phases, "finding nearest records"]  # the last is for the bound
    assert all(shares == sorted(shares) for shares in seen.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "mondrian"},
        {"alpha": 0},
        {"alpha": 1.1},
        {"alpha": True},
        {"alpha": "half"},
        {"omega": 0.9},
        {"passes": 0},
        {"passes": 1.5},
        {"scan": 0},
        {"polish": 1},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(InputError, match=f"'{next(iter(wrong))}'"):
        Sequential(**wrong)


def test_other_costs_are_refused():
    problem = problem_of({"x": [1, 2]}, {"x": None}, 1, cost="discernibility")
    with pytest.raises(UnsupportedError, match="sequential cannot minimise 'discernibility'"):
        Sequential().refuse(problem)

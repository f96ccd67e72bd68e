"""agglomerative against the literal algorithm."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.agglomerative import agglomerate
from by_definition.cluster_cells import as_clusters, cost_function, total_cost
from kohort.algorithms import Run
from kohort.algorithms.clustering.agglomerative import KINDS, STOPPED, Agglomerative
from kohort.errors import InputError, UnsupportedError
from small_problems import ShortRun, problem_of, problems

algorithms = st.builds(Agglomerative, distance=st.sampled_from(list(KINDS)), shed=st.booleans())


@given(problems(), algorithms)
def test_it_does_what_looking_at_every_pair_does(problem, algorithm):
    found = algorithm.solve(problem, Run()).group_of_record
    expected = agglomerate(problem, cost_function(problem), algorithm.distance, algorithm.shed)
    assert as_clusters(problem, found) == expected


@given(problems(max_records=40), algorithms)
def test_groups_have_k_records_and_cost_no_more_than_one_group_of_all(problem, algorithm):
    groups = algorithm.solve(problem, Run()).group_of_record
    assert np.bincount(groups).min() >= problem.k
    if problem.cost.monotone:
        everything = np.zeros_like(groups)
        assert total_cost(problem, groups) <= total_cost(problem, everything) + 1e-9


@given(problems(max_records=40))
def test_with_shedding_groups_have_exactly_k_records_but_for_leftovers_and_copies(problem):
    groups = Agglomerative().solve(problem, Run()).group_of_record
    clusters = as_clusters(problem, groups)
    surplus = sum(
        times * (sum(copies for _, copies in cluster) - problem.k)
        for cluster, times in clusters.items()
        if not any(copies >= problem.k for _, copies in cluster)
    )
    assert surplus < problem.k


def test_what_is_shed_starts_again():
    """a, a, b, b are joined first and shed a b, which finds c and d nearer than its old company of three."""
    tree = ko.Hierarchy.from_paths([(v, "A", "*") for v in "ab"] + [(v, "*") for v in "cdefgh"])
    problem = problem_of({"x": [*"aabbcd"]}, {"x": tree}, 3)
    groups = Agglomerative().solve(problem, Run()).group_of_record.tolist()
    assert groups[0] == groups[1] == groups[2]
    assert groups[3] == groups[4] == groups[5] != groups[0]
    together = Agglomerative(shed=False).solve(problem, Run()).group_of_record.tolist()
    assert together[0] == together[1] == together[2] == together[3]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_all_rows_equal_are_one_group(n):
    problem = problem_of({"x": [7] * n}, {"x": None}, n)
    assert Agglomerative().solve(problem, Run()).group_of_record.tolist() == [0] * n


def test_with_k_1_every_distinct_row_is_a_group():
    problem = problem_of({"x": [1, 2, 2, 3]}, {"x": None}, 1)
    assert as_clusters(problem, Agglomerative().solve(problem, Run()).group_of_record) == Counter(
        [frozenset([(0, 1)]), frozenset([(1, 2)]), frozenset([(2, 1)])]
    )


@given(problems(max_records=12))
def test_with_fewer_than_2k_records_there_is_one_group(problem):
    n = problem.n_records
    problem = replace(problem, models=(ko.KAnonymity(n // 2 + 1),))
    assume((problem.rows.counts < problem.k).all())
    assert Agglomerative().solve(problem, Run()).group_of_record.tolist() == [0] * n


@given(problems(max_records=40), st.integers(0, 8))
def test_when_time_runs_out_all_records_still_have_a_group(problem, looks):
    groups = Agglomerative().solve(problem, ShortRun(looks))
    assert np.bincount(groups.group_of_record).min() >= problem.k
    assert groups.notes in ((), (STOPPED,))


def test_progress_rises_in_every_phase():
    seen = {}
    columns = {"x": [(i * 7919) % 997 for i in range(2000)], "y": [i % 13 for i in range(2000)]}
    ko.anonymize(
        pa.table(columns),
        quasi_identifiers=list(columns),
        privacy=[ko.KAnonymity(5)],
        algorithm=Agglomerative(),
        progress=lambda what, share: seen.setdefault(what, []).append(share),
    )
    assert seen["joining clusters"][-1] == 1
    assert all(shares == sorted(shares) for shares in seen.values())


@pytest.mark.parametrize("wrong", [{"distance": "near"}, {"shed": "no"}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InputError, match=f"'{next(iter(wrong))}'"):
        Agglomerative(**wrong)


def test_other_costs_are_refused():
    problem = problem_of({"x": [1, 2]}, {"x": None}, 1, cost="discernibility")
    with pytest.raises(UnsupportedError, match="agglomerative cannot minimise 'discernibility'"):
        Agglomerative().refuse(problem)

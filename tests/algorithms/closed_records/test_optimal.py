"""optimal against brute force, and as the oracle of the others."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition.approximation import least_cost
from by_definition.cluster_cells import cost_function, total_cost
from kohort.algorithms import ALGORITHMS, Run
from kohort.algorithms.closed_records import optimal
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.errors import UnsupportedError
from random_tables import random_problem
from small_problems import problem_of
from test_every_algorithm import ONLY_K, partitions
from trials import trials

NAMES = ["sex", "race", "education", "workclass", "marital-status", "occupation"]


def solved(problem, **limits):
    return Optimal().solve(problem, Run(**limits))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("cost", ["loss", "ncp", "tree", "suppressions", "monotone-entropy"])
def test_it_is_the_least_cost(k, cost):
    rng = np.random.default_rng(k)
    for _ in range(trials(12, 40)):
        problem = random_problem(rng, k, cost=cost)
        groups = solved(problem).group_of_record
        assert np.bincount(groups).min() >= k
        assert total_cost(problem, groups) == pytest.approx(least_cost(problem, k), abs=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_entropy_is_not_monotone_so_groups_of_every_size_count(k):
    rng = np.random.default_rng(k)
    for _ in range(25):
        problem = random_problem(rng, k, cost="entropy", most_records=7, values=5)
        cost_of, row_of = cost_function(problem), problem.rows.of_record.tolist()
        least = min(
            sum(len(group) * cost_of([row_of[record] for record in group]) for group in partition)
            for partition in partitions(list(range(problem.n_records)), k)
        )
        found = solved(problem)
        assert total_cost(problem, found.group_of_record) == pytest.approx(least, abs=1e-9)
        assert found.bound == pytest.approx(least / problem.n_records, abs=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_records_are_withheld_where_that_costs_least(k):
    rng = np.random.default_rng(10 + k)
    for _ in range(25):
        problem = replace(random_problem(rng, k, most_records=7), suppression=0.3)
        n = problem.n_records
        star = problem.coded.star_cost
        least = min(
            gone * star + (least_cost_of(problem, kept, k) if kept else 0.0)
            for gone in range(problem.max_withheld + 1)
            for kept in combinations(range(n), n - gone)
            if len(kept) >= k or not kept
        )
        found = solved(problem)
        assert found.withheld.sum() <= problem.max_withheld
        assert found.bound == pytest.approx(least / n, abs=1e-9)
        assert found.guarantee == 1.0


def least_cost_of(problem, kept, k):
    cost_of, row_of = cost_function(problem), problem.rows.of_record.tolist()
    return min(
        sum(len(group) * cost_of([row_of[record] for record in group]) for group in partition)
        for partition in partitions(list(kept), k)
    )


def people_of_adult(n, k, **changes):
    people = ko.datasets.load_adult(split="train").slice(0, n)
    columns = {name: people[name].to_pylist() for name in NAMES}
    return problem_of(columns, dict.fromkeys(NAMES, ko.auto()), k, **changes)


@pytest.mark.long
def test_sixty_distinct_records():
    problem = people_of_adult(75, 3)
    assert len(problem.rows.counts) >= 60
    found = solved(problem)
    assert found.guarantee == 1.0
    assert found.bound == pytest.approx(total_cost(problem, found.group_of_record) / 75)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "k-anon"])
def test_no_algorithm_is_better(name):
    people = ko.datasets.load_adult(split="train").select(NAMES).slice(0, 40)
    asked = {
        "quasi_identifiers": dict.fromkeys(NAMES, ko.auto()),
        "privacy": [ko.KAnonymity(ONLY_K.get(name, 2))],
    }
    least = ko.anonymize(people, **asked, algorithm="optimal").cost
    assert ko.anonymize(people, **asked, algorithm=name).cost >= least - 1e-9


def test_at_the_time_limit_the_best_so_far_with_what_is_proven():
    problem = people_of_adult(60, 5)
    found = solved(problem, time_limit=1e-9)
    assert np.bincount(found.group_of_record).min() >= 5
    assert found.notes == ("Stopped at the time limit: a release with a lower cost may exist.",)
    assert found.bound == 0 and found.guarantee is None


def test_progress_is_told():
    said = []
    Optimal().solve(people_of_adult(30, 4), Run(progress=lambda what, share: said.append((what, share))))
    assert {what for what, _ in said} >= {"mining closed records", "solving the relaxation"}
    assert all(0 <= share <= 1 for _, share in said)


def test_large_tables_and_tight_labels_are_refused(monkeypatch):
    monkeypatch.setattr(optimal, "MOST_CELLS", 10)
    with pytest.raises(UnsupportedError, match="k-anon-cf"):
        solved(people_of_adult(40, 2))
    with pytest.raises(UnsupportedError, match="labels: hierarchy"):
        ko.anonymize(
            pa.table({"a": [*"xxyy"]}),
            quasi_identifiers={"a": ko.flat()},
            privacy=[ko.KAnonymity(2)],
            algorithm="optimal",
            labels="tight",
        )

"""three-anonymity against brute force: the lightest cycles, how they are cut, and the factors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.approximation import least_cost, least_two_factor
from by_definition.cluster_cells import cost_function, total_cost
from kohort.algorithms import Run
from kohort.algorithms.graph.fixed_k import ThreeAnonymity
from kohort.algorithms.graph.kernels.groups import cut_cycle, walk_cycles
from kohort.algorithms.graph.two_factor import CycleSearch, cycles_program, lightest_cycles
from kohort.algorithms.programs import solve_program
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.errors import InputError, UnsupportedError
from random_tables import random_problem, table_problem
from small_problems import problem_of, problems

EIGHT = ["0000", "0001", "0011", "0111", "1111", "1110", "1100", "1000"]


def solved(problem, **parameters):
    return ThreeAnonymity(**parameters).solve(problem, Run())


def cycles_of(problem, exact=100, every_copy=True):
    graph = NeighbourGraph.of(problem)
    out = graph.counts if every_copy else np.where(graph.counts > 3, 3, graph.counts)
    rows = np.repeat(np.arange(len(out)), out)
    return graph, rows, lightest_cycles(graph, rows, exact=exact, run=Run())


def with_k_3(problem):
    assume(problem.n_records >= 3 and problem.cost.monotone)
    return replace(problem, models=(ko.KAnonymity(3),))


@given(problems(max_records=8))
def test_the_cycles_are_the_lightest(problem):
    problem = with_k_3(problem)
    graph, rows, found = cycles_of(problem)
    least = least_two_factor(problem)
    assert found.exact
    assert found.bound == pytest.approx(least, abs=1e-9)
    assert found.weight == pytest.approx(least, abs=1e-9)
    assert graph.distances(rows[found.one], rows[found.other]).sum() == pytest.approx(least, abs=1e-9)
    assert (np.bincount(np.concatenate([found.one, found.other])) == 2).all()


@given(problems(max_records=9), st.integers(0, 5))
def test_three_copies_of_a_row_stand_for_all(problem, more):
    problem = with_k_3(problem)
    row = int(problem.rows.of_record[0])
    graph = NeighbourGraph.of(problem)
    out = np.minimum(graph.counts, 3)
    out[row] = 3
    weights = []
    for copies in (3, 3 + more):
        out[row] = copies
        rows = np.repeat(np.arange(len(out)), out)
        weights.append(lightest_cycles(graph, rows, exact=100, run=Run()).weight)
    copy = graph.distances(np.array([row]), np.array([row]))[0]
    assert weights[1] == pytest.approx(weights[0] + more * copy, abs=1e-9)


@given(problems(max_records=8))
def test_without_proof_the_bound_is_honest(problem):
    problem = with_k_3(problem)
    found = cycles_of(problem, exact=0)[2]
    least = least_two_factor(problem)
    assert found.bound <= least + 1e-9
    assert found.weight >= least - 1e-9


@pytest.mark.parametrize("values, tree, factor", [(2, 0, 2.0), (3, 0, 3.0), (8, None, 3.0)])
def test_the_guarantee_on_random_tables(values, tree, factor):
    rng = np.random.default_rng(values)
    for _ in range(150):
        problem = random_problem(rng, 3, values=values, tree=tree)
        least = least_cost(problem, 3)
        for found in (solved(problem), solved(problem, exact=0)):
            assert np.bincount(found.group_of_record).min() >= 3
            made = total_cost(problem, found.group_of_record)
            assert found.bound <= least / problem.n_records + 1e-9
            assert found.guarantee is None or made <= found.guarantee * least + 1e-9
            if not found.notes:
                assert found.guarantee in (2.0, factor)


def test_the_cycle_of_the_paper():
    """Its factor weighs 8 and the groups cost 24: the worst case of Lemma 11, and here the optimum."""
    problem = table_problem(EIGHT, 3)
    found = cycles_of(problem)[2]
    assert found.weight * len(problem.attributes) == pytest.approx(8)
    groups = solved(problem)
    assert total_cost(problem, groups.group_of_record) * 4 == pytest.approx(24)
    assert least_cost(problem, 3) * 4 == pytest.approx(24)
    assert groups.guarantee == 2.0
    assert groups.bound == pytest.approx(12)  # 1.5 times the factor; the charges are 8


@given(st.lists(st.sampled_from(EIGHT), min_size=3, max_size=14))
def test_a_cycle_is_cut_in_the_best_way(texts):
    problem = table_problem(texts, 3)
    graph = NeighbourGraph.of(problem)
    rows = problem.rows.of_record
    found = cut_cycle(graph.tables, graph.leaves, rows)
    assert np.bincount(found).min() >= 3
    n, cost_of = len(rows), cost_function(problem)

    @cache
    def least(start, end):
        """Of the records start..end of the cycle in runs of three to five."""
        if end == start:
            return 0.0
        options = [
            size * cost_of([int(rows[(start + i) % n]) for i in range(size)]) + least(start + size, end)
            for size in (3, 4, 5)
            if size <= end - start
        ]
        return min(options, default=float("inf"))

    best = (
        n * cost_of([int(row) for row in rows])
        if n <= 5
        else min(least(first, first + n) for first in range(n))
    )
    assert total_cost(problem, found) == pytest.approx(best)


@given(st.permutations(range(9)), st.sampled_from([(9,), (3, 6), (4, 5), (3, 3, 3)]))
def test_cycles_are_walked(vertices, sizes):
    one, other, cycles, start = [], [], [], 0
    for size in sizes:
        cycle = vertices[start : start + size]
        cycles.append(frozenset(cycle))
        one += cycle
        other += [*cycle[1:], cycle[0]]
        start += size
    order, starts = walk_cycles(np.array(one), np.array(other), 9)
    walked = [order[a:b].tolist() for a, b in pairwise(starts)]
    assert {frozenset(cycle) for cycle in walked} == set(cycles)
    edges = {frozenset(edge) for edge in zip(one, other)}
    for cycle in walked:
        assert all(frozenset(edge) in edges for edge in zip(cycle, [*cycle[1:], cycle[0]]))


def hundred(seed, n=100):
    rng = np.random.default_rng(seed)
    columns = {f"q{j}": rng.choice(list("abcdef"), n).tolist() for j in range(4)}
    tree = ko.Hierarchy.from_paths([(v, "ac" if v < "d" else "df", "*") for v in "abcdef"])
    return problem_of(columns, dict.fromkeys(columns, tree), 3)


@pytest.mark.parametrize("seed", range(4))
def test_cuts_and_proofs_agree_with_a_plain_integer_program(seed):
    problem = hundred(seed, 40)
    graph, rows, found = cycles_of(problem)
    search = CycleSearch.of(graph, rows)
    one, other = np.triu_indices(len(rows), 1)
    plain = cycles_program(search.edges(one, other), len(rows), integer=True)
    assert found.exact
    assert found.weight == pytest.approx(solve_program(plain, Run()).value)


def test_beyond_the_limits_the_relaxation_proves_the_factor():
    problem = hundred(0)
    whole, near = solved(problem), solved(problem, exact=10)
    assert whole.notes == () and whole.guarantee == 3.0
    cost = total_cost(problem, near.group_of_record) / 100
    assert "could not prove" in near.notes[0]
    assert near.bound <= whole.bound + 1e-9
    assert near.guarantee == pytest.approx(cost / near.bound)
    assert near.guarantee < 3


def test_without_time_for_any_cycles_there_is_no_guarantee():
    hurried = ThreeAnonymity().solve(hundred(0), Run(time_limit=1e-9))
    assert "mondrian made the groups" in hurried.notes[0]
    assert hurried.guarantee is None


def test_many_copies_stay_at_home():
    rows = ["0000"] * 50 + ["0001", "0011", "1111", "1110", "1100"]
    problem = table_problem(rows, 3)
    groups = solved(problem).group_of_record
    assert len(set(groups[:50].tolist())) <= 4
    assert np.bincount(groups).min() >= 3
    home = np.bincount(groups[:50]).argmax()
    assert (np.array(rows)[groups == home] == "0000").all()


def test_withholding_leaves_the_charges_as_the_bound():
    problem = hundred(1, 30)
    freer = solved(replace(problem, suppression=0.5))
    assert freer.bound <= solved(problem).bound
    cost = total_cost(problem, freer.group_of_record) / 30
    assert freer.guarantee == pytest.approx(cost / freer.bound)


def test_another_k_is_refused_with_the_algorithm_to_use():
    asked = {"quasi_identifiers": {"a": ko.flat()}, "algorithm": "three-anonymity"}
    people = pa.table({"a": [*"xxyyzz"]})
    for k, other in ((1, "forest"), (2, "two-anonymity"), (4, "forest")):
        with pytest.raises(UnsupportedError, match=f"not k = {k}. Choose {other}"):
            ko.anonymize(people, **asked, privacy=[ko.KAnonymity(k)])


def test_a_senseless_parameter_is_refused():
    with pytest.raises(InputError, match="'exact'"):
        ThreeAnonymity(exact="all")

"""two-anonymity against brute force: the lightest factor, and the factors 1.5 and 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given

import kohort as ko
from by_definition.approximation import least_cost, least_one_two_factor
from by_definition.cluster_cells import total_cost
from kohort.algorithms import Run
from kohort.algorithms.graph import edge_cover
from kohort.algorithms.graph.edge_cover import least_edge_cover
from kohort.algorithms.graph.fixed_k import TwoAnonymity
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.errors import InputError, UnsupportedError
from random_tables import random_problem, table_problem
from small_problems import problem_of, problems
from trials import trials


def solved(problem, **parameters):
    return TwoAnonymity(**parameters).solve(problem, Run())


def cover_of(problem, exact=100):
    graph = NeighbourGraph.of(problem)
    return graph, least_edge_cover(graph, graph.nearest(2, Run()), exact=exact, run=Run())


def with_k_2(problem):
    assume(problem.n_records >= 2 and problem.cost.monotone)
    return replace(problem, models=(ko.KAnonymity(2),))


@given(problems(max_records=8))
def test_the_cover_is_the_lightest_factor(problem):
    problem = with_k_2(problem)
    graph, cover = cover_of(problem)
    assert cover.exact
    assert cover.bound == pytest.approx(least_one_two_factor(problem), abs=1e-9)
    row_of_slot = np.repeat(np.arange(len(graph.counts)), graph.counts)
    at_home = graph.distances(row_of_slot[cover.at_home], row_of_slot[cover.at_home]).sum()
    weight = graph.distances(row_of_slot[cover.one], row_of_slot[cover.other]).sum() + at_home
    assert weight == pytest.approx(cover.bound, abs=1e-9)
    assert (
        np.bincount(np.concatenate([cover.one, cover.other]), minlength=len(row_of_slot)) + cover.at_home
    ).min() > 0


@given(problems(max_records=8))
def test_a_cover_in_pieces_has_an_honest_bound(problem):
    problem = with_k_2(problem)
    cover = cover_of(problem, exact=0)[1]
    assert cover.bound <= least_one_two_factor(problem) + 1e-9


@pytest.mark.parametrize("values, factor", [(2, 1.5), (3, 2.0), (8, 2.0)])
@pytest.mark.parametrize("tree", [0, None])
def test_the_guarantee_on_random_tables(values, factor, tree):
    rng = np.random.default_rng(values)
    for _ in range(trials(80, 400)):
        problem = random_problem(rng, 2, values=values, tree=tree)
        least = least_cost(problem, 2)
        for found in (solved(problem), solved(problem, exact=0)):
            assert np.bincount(found.group_of_record).min() >= 2
            made = total_cost(problem, found.group_of_record)
            assert found.guarantee is None or made <= found.guarantee * least + 1e-9
            assert found.bound <= least / problem.n_records + 1e-9
            if found.notes == ():
                assert found.guarantee in (factor, 1.5)
                assert made <= factor * least + 1e-9


def test_withheld_records_weaken_the_bound_and_the_factor():
    problem = replace(random_problem(np.random.default_rng(1), 2), suppression=0.5)
    found = solved(problem)
    assert found.guarantee == 3.0


def test_the_table_of_the_introduction():
    rows = [
        ("47", "White", "Male", "21004"),
        ("35", "White", "Female", "21004"),
        ("27", "Hispanic", "Female", "92010"),
        ("27", "White", "Female", "92010"),
    ]
    found = solved(table_problem(rows, 2))
    groups = found.group_of_record
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert found.bound == 6


def test_a_hub_with_many_leaves_is_split():
    """All records differ from 0000 in one place: a star, whose leaves go in pairs."""
    rows = ["0000", "1000", "0100", "0010", "0001"]
    groups = solved(table_problem(rows, 2)).group_of_record
    assert sorted(np.bincount(groups)) == [2, 3]


@pytest.mark.parametrize("copies, sizes", [(2, [2, 3]), (3, [2, 2, 2]), (5, [2, 2, 4])])
def test_copies_take_in_one_record_at_most_and_the_others_stay_as_they_are(copies, sizes):
    rows = ["0000"] * copies + ["1000", "1100", "0001"]
    groups = solved(table_problem(rows, 2)).group_of_record
    assert sorted(np.bincount(groups)) == sizes


def test_pieces_and_the_time_limit_give_a_valid_release():
    rng = np.random.default_rng(3)
    columns = {f"q{j}": rng.choice(list("abcdefgh"), 300).tolist() for j in range(5)}
    problem = problem_of(columns, dict.fromkeys(columns, ko.flat()), 2)
    whole = solved(problem)
    pieces = solved(problem, exact=20)
    hurried = TwoAnonymity().solve(problem, Run(time_limit=1e-9))
    for found in (pieces, hurried):
        assert "in pieces" in found.notes[0]
        assert np.bincount(found.group_of_record).min() >= 2
        cost = total_cost(problem, found.group_of_record) / 300
        assert found.guarantee == pytest.approx(max(cost / found.bound, 1.0))
        assert found.bound <= cost
    assert whole.notes == () and whole.guarantee == 2.0


def test_another_k_is_refused_with_the_algorithm_to_use():
    asked = {"quasi_identifiers": {"a": ko.flat()}, "algorithm": "two-anonymity"}
    people = pa.table({"a": [*"xxyyzz"]})
    for k, other in ((1, "forest"), (3, "three-anonymity"), (4, "forest")):
        with pytest.raises(UnsupportedError, match=f"not k = {k}. Choose {other}"):
            ko.anonymize(people, **asked, privacy=[ko.KAnonymity(k)])


def test_too_many_near_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(edge_cover, "MOST_EDGES", 1)
    with pytest.raises(UnsupportedError, match="forest"):
        solved(table_problem(["000", "001", "010", "100", "111"], 2))


def test_a_senseless_parameter_is_refused():
    with pytest.raises(InputError, match="'exact'"):
        TwoAnonymity(exact=-1)

"""forest against brute force, and the trees that break the printed DECOMPOSE-COMPONENT."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.approximation import charges, least_cost, steiner_weight, trees
from by_definition.cluster_cells import cost_function, total_cost
from kohort.algorithms import Run
from kohort.algorithms.graph.forest import Forest, record_forest
from kohort.algorithms.graph.kernels.forest import cut_forest, part_limit
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.problem.costs import cost_named
from random_tables import random_problem
from small_problems import problem_of, problems
from trials import trials


def solved(problem):
    return Forest().solve(problem, Run())


# -- neighbours and the bound ----------------------------------------------------------------------


@given(problems(max_records=30))
def test_neighbours_are_the_nearest(problem):
    assume(problem.cost.monotone)
    graph = NeighbourGraph.of(problem)
    found = graph.nearest(problem.k, Run())
    cost_of = cost_function(problem)
    for row in range(len(graph.counts)):
        near = [other for other in found.rows[row] if other >= 0]
        ranked = sorted((cost_of([row, other]), other) for other in range(len(graph.counts)) if other != row)
        assert near == [other for _, other in ranked[: len(near)]]
        copies = graph.counts[row]
        assert copies + graph.counts[near].sum() >= problem.k
        assert not near or copies + graph.counts[near[:-1]].sum() < problem.k
    by_record = found.radius[graph.row_of_record]
    assert by_record == pytest.approx(charges(problem, problem.k), abs=1e-12)


def test_neighbours_of_more_rows_than_a_box_holds():
    rng = np.random.default_rng(5)
    columns = {f"q{j}": rng.choice(list("abcdefgh"), 250).tolist() for j in range(4)}
    tree = ko.Hierarchy.from_paths([(v, "ad" if v < "e" else "eh", "*") for v in "abcdefgh"])
    problem = problem_of(columns, dict.fromkeys(columns, tree), 7)
    graph = NeighbourGraph.of(problem)
    found = graph.nearest(7, Run())
    assert found.radius[graph.row_of_record] == pytest.approx(charges(problem, 7))


@given(problems(max_records=8))
def test_the_bound_is_below_the_least_cost(problem):
    assume(problem.cost.monotone)
    bound = solved(problem).bound
    least = in_measured_units(problem, least_cost(problem, problem.k))
    assert (bound is None) == (least is None)
    assert bound is None or bound <= least + 1e-9


def test_suppressions_with_weights_have_no_bound_since_weights_do_not_count_in_them():
    asked = {"quasi_identifiers": {"a": ko.flat(), "b": ko.flat()}, "privacy": [ko.KAnonymity(2)]}
    people = pa.table({"a": [*"xxyz"], "b": [*"pqpq"]})
    plain = ko.anonymize(people, **asked, cost="suppressions", algorithm="forest")
    assert (plain.solver_bound, plain.guarantee) == (4.0, 2.0)
    weighted = ko.anonymize(people, **asked, cost="suppressions", algorithm="forest", weights={"a": 3})
    assert (weighted.bound, weighted.guarantee) == (None, None)


def test_every_release_has_a_bound_whatever_made_it():
    people = ko.datasets.load_adult().select(["sex", "race", "education"]).slice(0, 300)
    asked = {"quasi_identifiers": dict.fromkeys(people.column_names, ko.auto()), "privacy": ko.KAnonymity(4)}
    forest = ko.anonymize(people, **asked, algorithm="forest")
    mondrian = ko.anonymize(people, **asked, algorithm="mondrian")
    assert 0 < mondrian.solver_bound == forest.solver_bound <= min(mondrian.cost, forest.cost)
    assert ko.anonymize(people, **asked, cost="entropy", algorithm="mondrian").solver_bound is None


# -- the forest ------------------------------------------------------------------------------------


@given(problems(max_records=30))
def test_every_tree_has_k_records_and_every_edge_leads_to_a_near_one(problem):
    assume(problem.cost.monotone)
    graph = NeighbourGraph.of(problem)
    to = record_forest(graph, graph.nearest(problem.k, Run()), problem.k)
    row_of_slot = np.repeat(np.arange(len(graph.counts)), graph.counts)
    assert min(len(tree) for tree in trees(to.tolist())) >= problem.k
    cost_of, charge = cost_function(problem), charges(problem, problem.k)
    charge_of_row = dict(zip(problem.rows.of_record.tolist(), charge))
    for slot, target in enumerate(to):
        if target >= 0:
            row = int(row_of_slot[slot])
            assert cost_of([row, int(row_of_slot[target])]) <= charge_of_row[row] + 1e-12


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("cost", ["loss", "tree"])
def test_the_guarantee_on_random_tables(k, cost):
    rng = np.random.default_rng(k)
    for _ in range(trials(80, 400)):
        problem = random_problem(rng, k, cost=cost)
        least = least_cost(problem, k)
        found = solved(problem)
        made = total_cost(problem, found.group_of_record)
        assert least - 1e-9 <= made <= found.guarantee * least + 1e-9
        assert found.guarantee <= max(2 * k - 1, 3 * k - 5)
        graph = NeighbourGraph.of(problem)
        to = record_forest(graph, graph.nearest(k, Run()), k)
        row_of_slot = np.repeat(np.arange(len(graph.counts)), graph.counts)
        edges = np.flatnonzero(to >= 0)
        assert graph.distances(row_of_slot[edges], row_of_slot[to[edges]]).sum() <= least + 1e-9


# -- parts -----------------------------------------------------------------------------------------


@st.composite
def forests(draw, most=40):
    """k, and trees of at least k records as the record that each one's edge leads to."""
    k = draw(st.integers(1, 7))
    to = []
    for _ in range(draw(st.integers(1, 3))):
        root = len(to)
        to.append(-1)
        for _ in range(draw(st.integers(k - 1, most))):
            to.append(draw(st.integers(root, len(to) - 1)))
    return k, to


def check_parts(k, to):
    part = cut_forest(np.array(to, dtype=np.int32), k)
    sizes = np.bincount(part)
    assert sizes.min() >= k
    assert sizes.max() <= part_limit(k)
    for tree in trees(to):
        edges = [(record, to[record]) for record in tree if to[record] >= 0]
        parts = [{record for record in tree if part[record] == p} for p in {part[r] for r in tree}]
        weights = [steiner_weight(edges, members) for members in parts]
        assert sum(weights) <= len(edges), "the parts weigh more than the tree"
    return sizes


@given(forests())
def test_parts_are_small_and_weigh_no_more_than_the_tree(case):
    check_parts(*case)


def star(n):
    return [-1, *[0] * (n - 1)]


def spider(legs, length):
    to = [-1]
    for _ in range(legs):
        to += [0, *range(len(to), len(to) + length - 1)]
    return to


@pytest.mark.parametrize("k", range(2, 12))
def test_the_trees_that_break_the_printed_algorithm(k):
    check_parts(k, star(6 * k))
    check_parts(k, star(k + 3))
    for legs in (3, 4, 5):
        for length in (k - 1, k - 2, k):
            if length > 0 and legs * length + 1 >= k:
                check_parts(k, spider(legs, length))


def test_the_star_of_six_in_pairs():
    assert sorted(check_parts(2, star(6))) == [2, 2, 2]


def test_every_tree_of_up_to_nine_records():
    """All rooted trees by their parent vectors: thousands of shapes, every k."""

    def vectors(n):
        if n == 1:
            yield [-1]
            return
        for smaller in vectors(n - 1):
            for parent in range(max(smaller[-1], 0), n - 1):
                yield [*smaller, parent]

    for n in range(2, 9):
        for to in vectors(n):
            for k in range(2, n + 1):
                check_parts(k, to)


# -- withholding -----------------------------------------------------------------------------------


def test_an_outlier_is_withheld_where_that_may_be():
    people = {"a": [*"ppppz"], "b": [*"qqqqy"], "c": [*"rrrrx"]}
    flat = dict.fromkeys(people, ko.flat())
    asked = {"quasi_identifiers": flat, "privacy": [ko.KAnonymity(4)], "algorithm": "forest"}
    kept = ko.anonymize(pa.table(people), **asked)
    assert (kept.cost, kept.verdict.withheld) == (1.0, 0)
    for suppressed in ("star", "drop"):  # a single `*` would not keep k, so it is left out in either case
        release = ko.anonymize(pa.table(people), **asked, suppression=0.2, suppressed=suppressed)
        assert release.verdict.withheld == 1
        assert release.cost == pytest.approx(1 / 5)
        assert release.table["a"].to_pylist() == [*"pppp"]


@given(problems(max_records=16), st.sampled_from([0.1, 0.3, 0.9]))
def test_withholding_never_costs_more_and_keeps_to_its_share(problem, share):
    assume(problem.cost.monotone)
    freer = replace(problem, suppression=share)
    with_all, without = solved(problem), solved(freer)
    gone = without.withheld
    assert gone.sum() <= freer.max_withheld
    kept = without.group_of_record[~gone]
    assert np.bincount(kept)[np.unique(kept)].min() >= problem.k
    cost_of = cost_function(problem)
    stars = sum(
        weight * float(problem.cost.cell(a.generalized(np.array([0]), np.array([a.n_leaves - 1])))[0])
        for a, weight in zip(problem.attributes, problem.weights)
    )
    rows = problem.rows.of_record
    paid = gone.sum() * stars
    for group in np.unique(kept):
        members = np.flatnonzero(without.group_of_record == group)
        paid += len(members) * cost_of([int(rows[m]) for m in members])
    assert paid <= total_cost(problem, with_all.group_of_record) + 1e-9


def test_costs_that_are_no_metric_are_refused():
    assert not cost_named("entropy").metric
    with pytest.raises(ko.UnsupportedError, match="monotone-entropy"):
        ko.anonymize(
            pa.table({"a": [*"xxyy"]}),
            quasi_identifiers={"a": ko.flat()},
            privacy=[ko.KAnonymity(2)],
            cost="entropy",
            algorithm="forest",
        )


def test_the_table_of_the_introduction():
    people = {
        "age": ["47", "35", "27", "27"],
        "race": ["White", "White", "Hispanic", "White"],
        "gender": ["Male", "Female", "Female", "Female"],
        "zip": ["21004", "21004", "92010", "92010"],
    }
    release = ko.anonymize(
        pa.table(people),
        quasi_identifiers=dict.fromkeys(people, ko.flat()),
        privacy=[ko.KAnonymity(2)],
        cost="suppressions",
        algorithm="forest",
        shuffle=False,
    )
    assert release.table.to_pydict() == {
        "age": ["*", "*", "27", "27"],
        "race": ["White", "White", "*", "*"],
        "gender": ["*", "*", "Female", "Female"],
        "zip": ["21004", "21004", "92010", "92010"],
    }

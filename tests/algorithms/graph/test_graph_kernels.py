"""The kernels of the approximation algorithms against their twins by definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from by_definition.cluster_cells import cost_function, total_cost
from by_definition.forest import forest, withheld
from kohort.algorithms import Run
from kohort.algorithms.graph.forest import forest_groups
from kohort.algorithms.graph.kernels.forest import grow_forest
from kohort.algorithms.graph.kernels.groups import centers_of_cover, pair_leaves, withhold_outliers
from kohort.algorithms.kernels.nearest_rows import pairs_within
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.data.hierarchy import Hierarchy
from kohort.problem.counted_cells import first_slots
from small_problems import problems

pytestmark = pytest.mark.usefixtures("interpreted")


def graph_of(problem):
    assume(problem.cost.monotone)
    return NeighbourGraph.of(problem)


@given(problems(max_records=16))
def test_the_forest_grows_as_printed_the_lightest_edge_first(problem):
    graph = graph_of(problem)
    near = graph.nearest(problem.k, Run()).rows
    to = grow_forest(graph.tables, graph.leaves, graph.counts, near, problem.k)
    assert to.tolist() == forest(problem, problem.k)


@given(problems(max_records=20), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0]))
def test_pairs_within_reach_are_all_found(problem, seed, scale):
    graph = graph_of(problem)
    n, tree, cost_of = len(graph.counts), graph.tree, cost_function(problem)
    reach = np.random.default_rng(seed).random(n) * scale - 0.1
    pairs, lengths = pairs_within(graph.tables, tree, reach, 10**6, 0, len(reach))
    found = dict(zip(map(tuple, pairs.tolist()), lengths.tolist()))
    expected = {}
    for p, q in combinations(range(n), 2):
        length = cost_of([int(tree.order[p]), int(tree.order[q])])
        if length < reach[p] + reach[q] - 1e-12:
            expected[p, q] = length
    assert found == pytest.approx(expected)


@given(problems(max_records=12))
def test_groups_cost_what_their_closures_cost(problem):
    graph = graph_of(problem)
    groups = np.arange(problem.n_records) // problem.k
    made = float(np.dot(np.bincount(groups), graph.group_costs(groups)))
    assert made == pytest.approx(total_cost(problem, groups))


@given(problems(max_records=14), st.integers(1, 5))
def test_outliers_are_withheld_one_by_one_by_their_gain(problem, most):
    graph = graph_of(problem)
    assume(all(isinstance(attribute.domain, Hierarchy) for attribute in problem.attributes))
    groups = forest_groups(problem, graph, graph.nearest(problem.k, Run()))
    star = problem.coded.star_cost
    rows = graph.leaves[graph.row_of_record]
    order, start = np.argsort(groups, kind="stable"), first_slots(np.bincount(groups))
    gone = withhold_outliers(graph.tables, rows, order, start, problem.k, most, star)
    cost_of = cost_function(problem)
    paid = gone.sum() * star
    for group in np.unique(groups[~gone]):
        members = problem.rows.of_record[(groups == group) & ~gone]
        paid += len(members) * cost_of(members.tolist())
    assert gone.sum() <= most
    assert paid == pytest.approx(withheld(problem, groups, star, most), abs=1e-9)


@given(st.integers(2, 9), st.data())
def test_a_cover_becomes_stars(n, data):
    target = [data.draw(st.sampled_from([j for j in range(n) if j != i])) for i in range(n)]
    covered = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    center = centers_of_cover(np.arange(n), np.array(target), covered)
    edges = {frozenset(edge) for edge in enumerate(target)}
    for one in range(n):
        if center[one] == one:
            assert covered[one] or one in center[np.arange(n) != one], "a record is left alone"
        else:
            assert frozenset((one, int(center[one]))) in edges
            assert center[center[one]] == center[one], "a path, not a star"


@given(problems(max_records=20), st.sampled_from([1, 2]))
def test_leaves_in_pairs_cost_no_more_than_at_the_hub(problem, keep):
    graph = graph_of(problem)
    rows = np.arange(len(graph.counts))
    order, paired = pair_leaves(graph.tables, graph.leaves, 0, rows[1:], keep)
    assert sorted(order.tolist()) == list(range(len(rows) - 1))
    assert max(len(order) - keep, 0) <= paired <= len(order) - keep + 1 or paired == 0
    assert paired % 2 == 0 and len(order) - paired <= keep
    ends = rows[1:][order[:paired]]
    in_pairs = graph.distances(ends[::2], ends[1::2]).sum()
    at_hub = graph.distances(ends, np.zeros_like(ends)).sum()
    assert in_pairs <= at_hub + 1e-9

"""hilbert: the curve is one, and the cut of its order is the best there is."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.cluster_cells import as_clusters, cost_function, total_cost
from by_definition.hilbert import cheapest_cut, places_in_the_plane
from kohort.algorithms import Run
from kohort.algorithms.clustering.hilbert import Hilbert, hilbert_order
from kohort.algorithms.clustering.kernels.hilbert import hilbert_keys
from kohort.errors import InputError, UnsupportedError
from small_problems import problem_of, problems

algorithms = st.builds(Hilbert, bits=st.integers(1, 31), spacing=st.sampled_from(["tree", "even"]))


def in_order(n_axes, bits):
    """All points of a cube in the order of the curve."""
    points = np.array(list(product(range(2**bits), repeat=n_axes)))
    return points[np.lexsort(hilbert_keys(points, bits).T[::-1])]


# -- the curve -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_axes, bits", [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (8, 1)])
def test_neighbours_along_the_curve_are_one_step_apart(n_axes, bits):
    steps = np.abs(np.diff(in_order(n_axes, bits), axis=0))
    assert (steps.sum(axis=1) == 1).all()


@pytest.mark.parametrize("n_axes, bits", [(2, 4), (3, 3), (4, 2)])
def test_the_curve_leaves_no_part_before_all_of_it_was_visited(n_axes, bits):
    for level in range(1, bits):
        parts = in_order(n_axes, bits) >> level
        changes = np.any(np.diff(parts, axis=0) != 0, axis=1).sum()
        assert changes + 1 == 2 ** (n_axes * (bits - level))


@pytest.mark.parametrize("bits", range(1, 6))
def test_in_the_plane_it_is_the_curve_that_hilbert_drew(bits):
    drawn = [tuple(point) for point in in_order(2, bits).tolist()]
    usual = places_in_the_plane(bits)
    assert drawn in (usual, [(y, x) for x, y in usual])


def test_keys_longer_than_a_word_keep_their_order():
    """8 axes of 10 bits need 80: the last bits decide between neighbours."""
    points = np.array([[3, 1, 4, 1, 5, 9, 2, 6]] * 2) << 6
    points[1, 4] += 1
    keys = hilbert_keys(points, 10)
    assert keys.shape == (2, 2)
    assert (keys[0, 0] == keys[1, 0]) and (keys[0, 1] != keys[1, 1])


# -- the order of rows -----------------------------------------------------------------------------


@given(problems(max_records=30), algorithms)
def test_every_row_has_one_place(problem, algorithm):
    order = hilbert_order(problem, bits=algorithm.bits, spacing=algorithm.spacing)
    assert sorted(order.tolist()) == list(range(len(problem.rows.counts)))


def test_spaced_by_the_tree_the_rows_of_a_node_stay_together():
    """Three branches of very different width: spaced evenly, the curve mixes them."""
    wide = [(f"w{i}", "W", "*") for i in range(11)]
    paths = [("a", "A", "*"), *wide, ("c", "C", "*")]
    columns = {"x": [p[0] for p in paths] * 2, "y": ["l"] * len(paths) + ["r"] * len(paths)}
    asked = {"x": ko.Hierarchy.from_paths(paths), "y": ko.flat()}
    problem = problem_of(columns, asked, 2)

    def changes_of_branch(spacing):
        leaf = problem.rows.leaves[hilbert_order(problem, spacing=spacing), 0]
        branch = np.where(leaf == 0, "A", np.where(leaf == 12, "C", "W"))
        side = problem.rows.leaves[hilbert_order(problem, spacing=spacing), 1]
        return int(np.sum((branch[1:] != branch[:-1]) | (side[1:] != side[:-1])))

    assert changes_of_branch("tree") == 5


def test_an_attribute_without_weight_does_not_bend_the_curve():
    columns = {"x": [5, 3, 1, 2, 4], "noise": [2, 9, 4, 7, 1]}
    problem = problem_of(columns, {"x": None, "noise": None}, 1, weights={"noise": 0})
    assert problem.rows.leaves[hilbert_order(problem), 0].tolist() == [0, 1, 2, 3, 4]


# -- the cut ---------------------------------------------------------------------------------------


@given(problems(max_records=9), algorithms)
def test_no_cut_of_the_order_is_cheaper(problem, algorithm):
    found = algorithm.solve(problem, Run()).group_of_record
    order = hilbert_order(problem, bits=algorithm.bits, spacing=algorithm.spacing)
    slots = np.repeat(order, problem.rows.counts[order]).tolist()
    least = cheapest_cut(slots, problem.k, cost_function(problem))
    assert total_cost(problem, found) == pytest.approx(least, abs=1e-9)


@given(problems(max_records=40), algorithms)
def test_runs_have_k_to_2k_minus_1_records_and_cost_no_more_than_one_group_of_all(problem, algorithm):
    groups = algorithm.solve(problem, Run()).group_of_record
    sizes = np.bincount(groups)
    assert problem.k <= sizes.min() <= sizes.max() <= 2 * problem.k - 1
    if problem.cost.monotone:
        assert total_cost(problem, groups) <= total_cost(problem, np.zeros_like(groups)) + 1e-9


@pytest.mark.parametrize("n, k, n_groups", [(1, 1, 1), (5, 5, 1), (9, 5, 1), (10, 5, 2), (4, 1, 4)])
def test_equal_rows_are_cut_too(n, k, n_groups):
    problem = problem_of({"x": [7] * n}, {"x": None}, k)
    groups = Hilbert().solve(problem, Run()).group_of_record
    assert len(set(groups.tolist())) == n_groups


def test_missing_values_are_a_leaf_of_their_own():
    tree = ko.Hierarchy.from_paths([(v, "*") for v in "ab"])
    columns = {"x": ["a", "a", None, None, "b", "b"]}
    problem = problem_of(columns, {"x": tree}, 2)
    assert as_clusters(problem, Hilbert().solve(problem, Run()).group_of_record) == Counter(
        frozenset([(row, 2)]) for row in range(3)
    )


@given(problems(max_records=40))
def test_when_time_runs_out_the_rest_is_cut_into_runs_of_k(problem):
    """Half of it with dynamic programming, the other half without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kohort.algorithms.clustering.hilbert.BATCH", problem.n_records * problem.k)
        groups = Hilbert().solve(problem, Run(time_limit=1e-9))
    assert np.bincount(groups.group_of_record).min() >= problem.k


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", [{"bits": 0}, {"bits": 32}, {"bits": True}, {"bits": 2.5}, {"spacing": "wide"}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(InputError, match=f"'{next(iter(wrong))}'"):
        Hilbert(**wrong)


def test_other_costs_are_refused():
    problem = problem_of({"x": [1, 2]}, {"x": None}, 1, cost="discernibility")
    with pytest.raises(UnsupportedError, match="hilbert cannot minimise 'discernibility'"):
        Hilbert().refuse(problem)


def test_costs_that_are_no_straight_line_need_a_hierarchy():
    problem = problem_of({"age": [1, 2]}, {"age": None}, 1, cost="entropy")
    with pytest.raises(UnsupportedError, match="'age'"):
        Hilbert().refuse(problem)

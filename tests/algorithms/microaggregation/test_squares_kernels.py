"""The kernels of microaggregation against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from by_definition import microaggregation as by_definition
from kohort.algorithms.microaggregation.kernels.mdav import mdav_groups, v_mdav_groups
from kohort.algorithms.microaggregation.kernels.squares import (
    lower_squares,
    nearest_centres,
    optimal_runs,
    squares_bound,
    sum_of_squares,
)


def points_of(n, columns, seed):
    return np.random.default_rng(seed).normal(size=(n, columns))


def groups_of(points, group_of):
    rows = [tuple(point) for point in points.tolist()]
    found = [[row for row, g in zip(rows, group_of) if g == number] for number in range(group_of.max() + 1)]
    return {frozenset(group) for group in found if group}


def rows_of(points):
    return [tuple(point) for point in points.tolist()]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n, k", [(4, 5), (6, 2), (11, 3), (29, 4), (40, 1), (7, 7)])
def test_mdav_is_by_definition(n, k, seed):
    points = points_of(n, 3, seed)
    expected = {frozenset(group) for group in by_definition.mdav(rows_of(points), k)}
    assert groups_of(points, mdav_groups(points, k)) == expected


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n, k, gamma", [(12, 2, 1.1), (25, 3, 0.8), (31, 4, 2.0), (9, 3, 0.01)])
def test_v_mdav_is_by_definition(n, k, gamma, seed):
    points = points_of(n, 2, seed)
    expected = {frozenset(group) for group in by_definition.v_mdav(rows_of(points), k, gamma)}
    assert groups_of(points, v_mdav_groups(points, k, gamma)) == expected


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_local_search_falls_by_what_it_says_and_keeps_k(seed, k):
    points = points_of(40, 3, seed)
    group_of = mdav_groups(points, k)
    n_groups = int(group_of.max()) + 1
    before = by_definition.sum_of_squares(groups_of(points, group_of))
    assert sum_of_squares(points, group_of, n_groups) == pytest.approx(before)
    neighbours = nearest_centres(points, group_of, n_groups, 4)
    fallen = lower_squares(points, group_of, n_groups, k, neighbours, 10)
    found = groups_of(points, group_of)
    assert by_definition.sum_of_squares(found) == pytest.approx(before - fallen)
    assert all(k <= len(group) for group in found)
    assert sum(len(group) for group in found) == 40


def test_nearest_centres_are_by_definition():
    points = points_of(30, 2, 1)
    group_of = mdav_groups(points, 3)
    n_groups = int(group_of.max()) + 1
    centres = [points[group_of == group].mean(axis=0) for group in range(n_groups)]
    found = nearest_centres(points, group_of, n_groups, 3)
    for group in range(n_groups):
        others = [other for other in range(n_groups) if other != group]
        expected = sorted(others, key=lambda other: by_definition.apart(centres[group], centres[other]))
        assert found[group].tolist() == expected[:3]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_bound_is_below_the_best_of_all_partitions(seed, k):
    points = points_of(7, 2, seed)
    best = min(
        by_definition.sum_of_squares(groups) for groups in by_definition.partitions(rows_of(points), k)
    )
    found = mdav_groups(points, k)
    n_groups = int(found.max()) + 1
    lower_squares(points, found, n_groups, k, nearest_centres(points, found, n_groups, 3), 10)
    reached = by_definition.sum_of_squares(groups_of(points, found))
    assert squares_bound(points, k) <= best + 1e-12
    assert best <= reached + 1e-12


def test_two_pairs_have_the_squares_that_the_bound_proves():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert squares_bound(points, 2) == pytest.approx(1.0)
    assert sum_of_squares(points, np.array([0, 0, 1, 1]), 2) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n, k", [(7, 2), (8, 3), (7, 1), (5, 5)])
def test_runs_of_one_column_are_the_best_of_all_partitions(n, k, seed):
    values = np.sort(np.random.default_rng(seed).normal(1e6, 1, n))
    points = values[:, None]
    best = min(
        by_definition.sum_of_squares(groups) for groups in by_definition.partitions(rows_of(points), k)
    )
    found = groups_of(points, optimal_runs(values, k))
    assert all(len(group) >= k for group in found)
    assert by_definition.sum_of_squares(found) == pytest.approx(best, abs=1e-6)

"""Clusters that grow, are joined, or are cut: the compiled code on tables that can be checked by hand."""

import numpy as np
import pytest

from kohort.algorithms.clustering.agglomerative import _allocate
from kohort.algorithms.clustering.kernels.agglomerative import join_leftovers
from kohort.algorithms.clustering.kernels.growing_clusters import fill_clusters
from kohort.algorithms.clustering.kernels.sequential import cut_in_two
from kohort.algorithms.clustering.row_cells import cluster_tables, rows_of
from small_problems import problem_of

pytestmark = pytest.mark.usefixtures("interpreted")


def ages():
    problem = problem_of({"age": [1, 2, 8, 9, 9]}, {"age": None}, 2)
    tables = cluster_tables(problem)
    return rows_of(problem, tables), tables


def test_clusters_of_k_records_are_finished_and_the_others_open():
    rows, tables = ages()
    clusters = _allocate(rows, np.array([0, 0, 1, 2]), 2, shed=True)
    fill_clusters(clusters, rows, tables, np.array([0, 0, 1, 2]), 2)
    assert (clusters.counts[0].n_open, clusters.counts[0].n_groups, clusters.counts[0].n_pieces) == (1, 2, 4)
    assert clusters.group.tolist()[:4] == [0, 0, -1, 1]


def test_a_leftover_joins_the_group_that_it_adds_least_to():
    rows, tables = ages()
    group = np.array([0, 0, -1, 1])
    join_leftovers(rows, tables, np.arange(4), rows.copies, group)
    assert group.tolist() == [0, 0, 1, 1]


def test_a_large_cluster_is_cut_where_its_parts_cost_least():
    rows, tables = ages()
    assert cut_in_two(rows, tables, np.zeros(4, dtype=np.int64), np.arange(4), 2).tolist() == [0, 0, 1, 1]

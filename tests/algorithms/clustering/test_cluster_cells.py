"""Cells of clusters against the closures of their rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.cluster_cells import cost_function
from kohort.algorithms.clustering.kernels.cluster_cells import (
    cells_cost,
    cost_tables,
    join_cells,
    union_costs,
)
from kohort.algorithms.clustering.row_cells import cluster_tables, rows_of
from kohort.data.column import code_column
from kohort.problem.attribute import Attribute
from kohort.problem.costs import cost_named
from kohort.problem.problem import Problem
from small_problems import problems

pytestmark = pytest.mark.usefixtures("interpreted")


def cells_of_clusters(problem, clusters):
    """Low, high of clusters of rows, made by joining one row after the other."""
    tables = cluster_tables(problem)
    rows = rows_of(problem, tables)
    low, high = (np.empty((len(cells), len(clusters)), dtype=np.int32) for cells in (rows.low, rows.high))
    for c, members in enumerate(clusters):
        low[:, c], high[:, c] = rows.low[:, members[0]], rows.high[:, members[0]]
        for row in members[1:]:
            join_cells(tables, low, high, c, rows.low, rows.high, row)
    return tables, low, high


@given(problems(), st.data())
def test_joined_cells_cost_what_their_rows_cost_together(problem, data):
    members = st.lists(st.integers(0, len(problem.rows.counts) - 1), min_size=1, max_size=4)
    clusters = data.draw(st.lists(members, min_size=1, max_size=5))
    tables, low, high = cells_of_clusters(problem, clusters)
    cost_of = cost_function(problem)
    for c, cluster in enumerate(clusters):
        assert cells_cost(tables, low, high, c) == cost_of(cluster)
        node_costs, costs = np.empty(len(tables.parent)), np.empty(len(clusters))
        cost_tables(tables, low, c, node_costs)
        union_costs(tables, low, high, 0, low[:, c], high[:, c], node_costs, costs)
        assert costs.tolist() == [cost_of(cluster + other) for other in clusters]


@pytest.mark.parametrize("cost", ["loss", "entropy"])
def test_a_hidden_value_costs_a_star_even_alone(cost):
    tree = ko.Hierarchy.from_paths([("a", "A", "*"), ("b", "A", "*")]).with_leaves(["odd"], hidden=True)
    column = code_column("x", pa.array(["a", "b", "odd"]))
    problem = Problem((Attribute(column, tree),), (ko.KAnonymity(1),), cost_named(cost))
    tables, low, high = cells_of_clusters(problem, [[0], [2], [0, 1], [0, 2]])
    a, odd, both, star = (cells_cost(tables, low, high, c) for c in range(4))
    assert a == 0 and odd == star > both > 0

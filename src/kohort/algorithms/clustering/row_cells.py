"""Input that the clustering algorithms share: distinct rows as cells, and the costs of cells."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.clustering.kernels.cluster_cells import RowCells, cells_of_rows
from kohort.problem.encoding.layout import TREE, Tables
from kohort.problem.problem import Problem


def cluster_tables(problem: Problem) -> Tables:
    """The problem's `closure_tables`, where the node of a leaf has the cost of the leaf alone."""
    tables = problem.coded.closure_tables
    node_cost = tables.node_cost.copy()
    ends = np.append(tables.leaf_start[1:], len(tables.leaf_cost))
    for kind, start, end in zip(tables.kind, tables.leaf_start, ends):
        if kind == TREE:
            node_cost[tables.leaf_node[start:end]] = tables.leaf_cost[start:end]
    return tables._replace(node_cost=node_cost)


def rows_of(problem: Problem, tables: Tables) -> RowCells:
    """The distinct rows of a problem by their cells."""
    cells = cells_of_rows(np.ascontiguousarray(problem.rows.leaves, dtype=np.int32), tables)
    return RowCells(low=cells, high=cells, copies=problem.rows.counts.astype(np.int64))

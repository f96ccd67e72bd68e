"""What the clustering algorithms share: distinct rows as cells, and pieces of rows as groups of records."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.clustering.kernels.clusters import Rows, cells_of_rows
from kohort.algorithms.kernels.generalization import TREE, Tables
from kohort.algorithms.tables import closure_tables
from kohort.problem.problem import Problem

__all__ = ["cluster_tables", "groups_of_copies", "groups_of_pieces", "refuse_other_costs", "rows_of"]


def refuse_other_costs(algorithm: Algorithm, problem: Problem) -> None:
    """Raise UnsupportedError for a cost that is not one of the algorithm's, or not for these columns."""
    algorithm.refuse_cost(problem.cost)
    closure_tables(problem)


def cluster_tables(problem: Problem) -> Tables:
    """The tables of `closure_tables`, where a leaf's node costs what the leaf costs alone."""
    tables = closure_tables(problem)
    node_cost = tables.node_cost.copy()
    ends = np.append(tables.leaf_start[1:], len(tables.leaf_cost))
    for kind, start, end in zip(tables.kind, tables.leaf_start, ends):
        if kind == TREE:
            node_cost[tables.leaf_node[start:end]] = tables.leaf_cost[start:end]
    return tables._replace(node_cost=node_cost)


def rows_of(problem: Problem, tables: Tables) -> Rows:
    """The distinct rows of a problem by their cells."""
    cells = cells_of_rows(np.ascontiguousarray(problem.rows.leaves, dtype=np.int32), tables)
    return Rows(low=cells, high=cells, copies=problem.rows.counts.astype(np.int64))


def groups_of_pieces(problem: Problem, row: np.ndarray, copies: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The group of each record, numbered from 0, from pieces: so many copies of a row are in a group."""
    return groups_of_copies(problem.rows.of_record, row, copies, group)


def groups_of_copies(
    row_of_record: np.ndarray, row: np.ndarray, copies: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """The same for rows of any kind."""
    by_row = np.argsort(row, kind="stable")
    group_of_slot = np.repeat(group[by_row], copies[by_row])
    slots = np.argsort(row_of_record, kind="stable")
    group_of_record = np.empty(len(slots), dtype=np.int32)
    group_of_record[slots] = np.unique(group_of_slot, return_inverse=True)[1]
    return group_of_record

"""What several algorithms refuse: costs that they cannot minimise, columns without a hierarchy."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.errors import UnsupportedError
from kohort.problem.encoding.layout import TREE
from kohort.problem.problem import Problem

_MOST_PAIRS = 20_000_000  # pairs of leaves of a hierarchy, over all hierarchies


def refuse_other_costs(algorithm: Algorithm, problem: Problem) -> None:
    """Raise UnsupportedError if the algorithm cannot minimise the problem's cost on its columns."""
    algorithm.refuse_cost(problem.cost)
    _ = problem.coded.closure_tables


def refuse_without_graph(algorithm: Algorithm, problem: Problem) -> None:
    """Raise UnsupportedError if the algorithm cannot minimise the cost, also on columns with tight labels."""
    refuse_other_costs(algorithm, problem)
    refuse_unknown_costs(problem)


def refuse_unknown_costs(problem: Problem) -> None:
    """Raise UnsupportedError for a cost that is not known for what the columns are published as."""
    _ = problem.coded.tables


def refuse_without_hierarchies(problem: Problem) -> None:
    """Raise UnsupportedError for a column without a hierarchy."""
    _ = problem.coded.hierarchies


def refuse_wide_hierarchies(problem: Problem) -> None:
    """Raise UnsupportedError where costs of pairs of leaves would not fit into memory."""
    if has_wide_hierarchies(problem):
        raise UnsupportedError("The hierarchies have too many leaves for this. Choose mondrian or improve.")


def has_wide_hierarchies(problem: Problem) -> bool:
    """Whether costs of pairs of leaves would not fit into memory."""
    tables = problem.coded.tables
    n_leaves = np.diff(np.append(tables.leaf_start, len(tables.leaf_cost)))
    return bool((n_leaves[tables.kind == TREE].astype(float) ** 2).sum() > _MOST_PAIRS)

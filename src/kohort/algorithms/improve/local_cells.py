"""The costs of cells in a region of a table, by the leaves that its records have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.algorithms.improve.kernels.local_pairs import fill_pairs
from kohort.problem.encoding.layout import ATTRIBUTE, SET, TREE, CellCosts, Tables

__all__ = ["can_be_searched", "fits_memory", "local_cells", "present_leaves"]

_MOST_PAIRS, _MOST_COUNTS = 4_000_000, 400_000  # pairs of leaves of a column; groups times leaves
_LARGEST = 1 << 26  # pairs of leaves of a single group: half a gigabyte


def present_leaves(rows: np.ndarray) -> list[np.ndarray]:
    """Per attribute the leaves that occur, ascending."""
    return [np.unique(column) for column in rows.T]


def fits_memory(leaves: Sequence[np.ndarray], n_groups: int) -> bool:
    """Whether the costs of all pairs of these leaves, and their counts in all groups, fit a cache."""
    numbers = np.array([len(some) for some in leaves])
    return bool((numbers**2).sum() <= _MOST_PAIRS and numbers.sum() * n_groups <= _MOST_COUNTS)


def can_be_searched(leaves: Sequence[np.ndarray]) -> bool:
    """Whether the costs of all pairs of the leaves of a single group can be kept at all."""
    return sum(len(some) ** 2 for some in leaves) <= _LARGEST


def local_cells(
    tables: Tables, rows: np.ndarray, leaves: Sequence[np.ndarray]
) -> tuple[CellCosts, np.ndarray]:
    """The costs of cells over any two leaves that occur in these rows, and the rows in terms of these.

    leaves  the leaves that occur, as `present_leaves` gives them

    A column may have many thousand leaves where a region has a hundred. Leaves that occur are numbered from
    0, in their order, and the costs are those of the whole domain: intervals count the values between their
    ends whether they occur or not. Memory: the square of the leaves that occur.
    """
    about = np.zeros(rows.shape[1], dtype=ATTRIBUTE).view(np.recarray)
    local, pairs = np.empty(rows.shape, dtype=np.int32), []
    for a, present in enumerate(leaves):
        local[:, a] = np.searchsorted(present, rows[:, a])
        costs = np.zeros((len(present), len(present)) if tables.kind[a] != SET else (0, 0))
        fill_pairs(tables, a, present[: len(costs)].astype(np.int64), costs)
        pairs.append(costs.ravel())
        about[a].loners_from = np.searchsorted(present, tables.loners_from[a])
    about.kind = np.where(tables.kind == SET, SET, TREE)
    about.n_leaves = [len(present) for present in leaves]
    about.leaf_start = np.cumsum(about.n_leaves) - about.n_leaves
    about.pair_start = np.cumsum([0, *map(len, pairs)])[:-1]
    about.line_base, about.line_slope, about.whole = tables.base, tables.slope, tables.full
    return CellCosts(about, np.concatenate([*pairs, np.zeros(1)])), local

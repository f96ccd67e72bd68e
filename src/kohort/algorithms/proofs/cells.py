"""The cells of a table: records that agree in the child of the root, in columns whose root costs much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.problem import Problem

_LARGEST = 200_000  # records of a cell: its closed records have some hundred times as many under them


@dataclass(frozen=True, eq=False)
class Cells:
    """Records sorted by their cells. No release publishes records of two cells alike for less than `highest`.

    columns   the columns whose roots' children the cells are made of
    highest   the least cost of a record whose cell in one of these columns is published as the root
    records   record numbers, cell by cell; those that are published as a root whatever happens are left out
    start     per cell and one more: its records are records[start[c]:start[c + 1]]
    """

    columns: tuple[int, ...]
    highest: float
    records: np.ndarray
    start: np.ndarray

    def __len__(self) -> int:
        return len(self.start) - 1

    def portions(self, least: int, most: int) -> Iterator[np.ndarray]:
        """The cells of at least some size, in portions with no more than `most` records or of one cell."""
        sizes = np.diff(self.start)
        portion: list[int] = []
        total = 0
        for cell in np.flatnonzero(sizes >= least).tolist():
            if portion and total + sizes[cell] > most:
                yield np.array(portion)
                portion, total = [], 0
            portion.append(cell)
            total += sizes[cell]
        if portion:
            yield np.array(portion)


def cells_of(problem: Problem) -> Cells | None:
    """The cells of a table; None if the root costs nothing in any column, or some cell is too large.

    Each cost of a root is tried as the highest price, the greatest first: columns whose root costs less are
    left out of the cells. The first whose cells are all small is taken. O(records * columns).
    """
    root_costs = np.array([costs[0] for costs in problem.coded.node_costs])
    for highest in np.unique(root_costs[root_costs > 0.0])[::-1].tolist():
        columns = tuple(np.flatnonzero(root_costs >= highest).tolist())
        cells = _sorted_by_cell(problem, columns, highest)
        if np.diff(cells.start).max(initial=0) <= _LARGEST:
            return cells
    return None


def _sorted_by_cell(problem: Problem, columns: tuple[int, ...], highest: float) -> Cells:
    key = np.zeros(problem.n_records, dtype=np.int64)
    in_cell = np.ones(problem.n_records, dtype=bool)
    for column in columns:
        attribute, tree = problem.attributes[column], problem.coded.hierarchies[column]
        child = _child_of_leaf(tree)[attribute.leaf_of_code]
        number, width = np.unique(child, return_inverse=True)[1], len(np.unique(child))
        if int(key.max(initial=0)) >= 2**62 // width:
            key = np.unique(key, return_inverse=True)[1]
        key *= width
        key += number[attribute.column.at(slice(None))]
        in_cell &= (child > 0)[attribute.column.at(slice(None))]
    records = np.flatnonzero(in_cell).astype(np.int32)
    records = records[np.argsort(key[records], kind="stable")]
    start = np.flatnonzero(np.diff(key[records], prepend=-1)) if len(records) else np.zeros(0, dtype=np.int64)
    return Cells(columns, highest, records, np.append(start, len(records)))


def _child_of_leaf(tree: Hierarchy) -> np.ndarray:
    """The child of the root that each leaf is under; 0 for a leaf that is only ever published as the root."""
    node = np.where(tree.hidden, 0, tree.leaf_node)
    inner = tree.parent[node] > 0
    while inner.any():
        node = np.where(inner, tree.parent[node], node)
        inner = tree.parent[node] > 0
    return node

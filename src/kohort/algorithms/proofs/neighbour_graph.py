"""The graph of Aggarwal et al. (2005, section 4): distinct rows, and the costs of publishing two alike."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.kernels.nearest_rows import BoxTree, box_tree, distances, nearest_rows, pairs_within
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.problem.encoding.layout import Tables
from kohort.problem.encoding.tables import of_present_leaves
from kohort.problem.problem import Problem

_FEWEST, _MOST_AT_A_TIME, _SECONDS_AT_A_TIME = 16, 4096, 0.1  # rows between two looks at the clock
_QUICK = 100_000_000  # pairs of rows times attributes: fewer take less than half a second


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest other rows of each distinct row, nearest first, until they are k records with the row
    itself (then -1), and the distance of the (k-1)-st nearest record."""

    rows: np.ndarray
    radius: np.ndarray


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """Distinct rows with their counts. Weights of edges are computed on demand: no matrix is n x n."""

    tables: Tables
    leaves: np.ndarray
    counts: np.ndarray
    row_of_record: np.ndarray
    tree: BoxTree

    @classmethod
    def of(cls, problem: Problem) -> NeighbourGraph:
        rows = problem.rows
        tables, leaves = of_present_leaves(problem.coded.tables, problem.coded.searched_rows)
        return cls(tables, leaves, rows.counts.astype(np.int64), rows.of_record, box_tree(tables, leaves))

    def nearest(self, k: int, run: Run) -> Neighbours | None:
        """The k - 1 nearest records of each row, exactly; both cores. None when the time is up.

        About O(n log n) where the rows are spread unevenly, O(n^2) where they are not.
        """
        found = near_rows(self.tables, self.counts, self.tree, k, run)
        if found is None:
            return None
        rows, radius = np.empty_like(found[0]), np.empty_like(found[1])
        rows[self.tree.order], radius[self.tree.order] = found
        return Neighbours(rows, radius)

    def distances(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The weights of edges between rows."""
        return distances(self.tables, self.leaves, one, other)

    def group_costs(self, group_of_record: np.ndarray) -> np.ndarray:
        """Cost of one record of each group."""
        order = np.argsort(group_of_record, kind="stable")
        start = np.searchsorted(group_of_record[order], np.arange(group_of_record.max() + 2))
        return costs_by_group(self.tables, self.leaves[self.row_of_record], order, start)


def near_rows(
    tables: Tables, counts: np.ndarray, tree: BoxTree, k: int, run: Run
) -> tuple[np.ndarray, np.ndarray] | None:
    """The nearest rows of each place of a tree and their distance, as in Neighbours; None when time is up.

    In small tables they are found whatever the clock says, so that the result is the same on every machine.
    """
    n = len(counts)
    rows, radius = np.empty((n, max(min(k - 1, n - 1), 1)), dtype=np.int32), np.empty(n)
    start, step = 0, _FEWEST
    while start < n:
        run.report("finding nearest records", start / n)
        if not _is_quick(tree) and run.out_of_time:
            return None
        began = time.monotonic()

        def find(some: slice, start: int = start) -> None:
            first, last = start + some.start, start + some.stop
            rows[first:last], radius[first:last] = nearest_rows(tables, counts, tree, k, first, last)

        in_threads(find, np.full(min(step, n - start), n))
        start += step
        step = _next_step(step, time.monotonic() - began)
    return rows, radius


def near_pairs(
    tables: Tables, tree: BoxTree, reach: np.ndarray, room: int, run: Run
) -> tuple[np.ndarray, np.ndarray] | None:
    """All pairs of places of a tree that are nearer than the sum of their reaches, and their distances.

    Stops at more than `room` pairs. None when the time is up, unless the table is small.
    """
    pairs, lengths = [np.zeros((0, 2), dtype=np.int32)], [np.zeros(0)]
    start, step, left = 0, _FEWEST, room
    while start < len(reach) and left >= 0:
        if not _is_quick(tree) and run.out_of_time:
            return None
        began = time.monotonic()
        end = min(start + step, len(reach))
        some, length = pairs_within(tables, tree, reach, left, start, end)
        pairs.append(some)
        lengths.append(length)
        start, left = end, left - len(some)
        step = _next_step(step, time.monotonic() - began)
    return np.concatenate(pairs), np.concatenate(lengths)


def _is_quick(tree: BoxTree) -> bool:
    """Whether reading all pairs of rows takes less than half a second."""
    return len(tree.cells) * tree.cells.size <= _QUICK


def _next_step(step: int, seconds: float) -> int:
    """How many rows to search next, after `step` rows took `seconds`. No result depends on it."""
    factor = min(_SECONDS_AT_A_TIME / max(seconds, 1e-6), 4.0)
    return int(np.clip(step * factor, _FEWEST, _MOST_AT_A_TIME))


def is_binary(graph: NeighbourGraph) -> bool:
    """Whether every attribute has at most two values, each of which costs nothing if published as it is."""
    few = all(len(np.unique(column)) <= 2 for column in graph.leaves.T)
    return few and not graph.tables.leaf_cost.any()

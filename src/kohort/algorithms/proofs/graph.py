"""The graph of Aggarwal et al. (2005, section 4): distinct rows, and what making two of them alike costs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.clustering.clustering import refuse_other_costs
from kohort.algorithms.kernels.generalization import Tables
from kohort.algorithms.kernels.group_costs import costs_by_group
from kohort.algorithms.kernels.nearest import BoxTree, box_tree, distances, nearest_rows, pairs_within
from kohort.algorithms.run import Run
from kohort.algorithms.tables import kernel_tables, of_present_leaves, searched_leaves
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.kernels.threads import in_threads
from kohort.problem.problem import Problem

__all__ = [
    "Graph",
    "Neighbours",
    "charge_bound",
    "in_measured_units",
    "is_binary",
    "lower_bound",
    "near_pairs",
    "near_rows",
    "refuse_without_graph",
    "searches_what_is_measured",
]

_FEWEST, _MOST_AT_A_TIME, _SECONDS_AT_A_TIME = 16, 4096, 0.1  # rows between two looks at the clock
_MOST_ROWS = 20_000
_QUICK = 100_000_000  # pairs of rows times attributes: fewer take less than half a second


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Per distinct row its nearest other rows, near ones first, until they are k records with the row itself
    (then -1), and the distance of the (k-1)-st nearest record."""

    rows: np.ndarray
    radius: np.ndarray


@dataclass(frozen=True, eq=False)
class Graph:
    """Distinct rows with counts. The weight of an edge is worked out when somebody asks: nothing is n x n."""

    tables: Tables
    leaves: np.ndarray
    counts: np.ndarray
    row_of_record: np.ndarray
    tree: BoxTree

    @classmethod
    def of(cls, problem: Problem) -> Graph:
        tables = kernel_tables(problem)
        rows = problem.rows
        leaves = np.empty(rows.leaves.shape, dtype=np.int32)
        leaves[rows.of_record] = searched_leaves(problem)
        tables, leaves = of_present_leaves(tables, leaves)
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
        """What one record of each group costs."""
        order = np.argsort(group_of_record, kind="stable")
        start = np.searchsorted(group_of_record[order], np.arange(group_of_record.max() + 2))
        return costs_by_group(self.tables, self.leaves[self.row_of_record], order, start)


def near_rows(
    tables: Tables, counts: np.ndarray, tree: BoxTree, k: int, run: Run
) -> tuple[np.ndarray, np.ndarray] | None:
    """Per place of a tree its nearest rows and their distance, as in Neighbours; None when time is up.

    In small tables they are found whatever the clock says, so that it decides nothing there.
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

    Stops at more than `room` pairs; None when the time is up, but in small tables.
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
    """Whether looking at all pairs of rows takes no time to speak of."""
    return len(tree.cells) * tree.cells.size <= _QUICK


def _next_step(step: int, seconds: float) -> int:
    """How many rows to look at next, after `step` rows took so many seconds. No result depends on it."""
    factor = min(_SECONDS_AT_A_TIME / max(seconds, 1e-6), 4.0)
    return int(np.clip(step * factor, _FEWEST, _MOST_AT_A_TIME))


def charge_bound(problem: Problem, graph: Graph, neighbours: Neighbours) -> float | None:
    """A lower bound on the cost of every k-anonymous release, in the units of the chosen cost.

    Section 4.1: a record shares its class with k - 1 others, and the farthest of these is at least as far as
    its (k-1)-st nearest record. The class is published as something that covers both, and for a monotone
    cost, cell by cell, that costs no less than the closure of the two, which is their distance. A withheld
    record is published as `*`, which covers everything. So the sum of these distances is a bound for every
    separable, monotone cost: over hierarchies, intervals and sets alike, with any weights, under any further
    privacy model, and for algorithms of any kind. None where the measure is in other units than the search.
    """
    assert problem.cost.monotone and problem.cost.separable
    return in_measured_units(problem, float(np.dot(graph.counts, neighbours.radius)))


def lower_bound(problem: Problem, run: Run) -> float | None:
    """`charge_bound` where it is cheap: for at most 20,000 distinct rows and a cost that it holds for.

    None also when the time is up.
    """
    if not problem.cost.metric or len(problem.rows.counts) > _MOST_ROWS:
        return None
    try:
        graph = Graph.of(problem)
    except UnsupportedError:  # this cost of free intervals or sets is measured, not searched
        return None
    neighbours = graph.nearest(problem.k, run)
    return None if neighbours is None else charge_bound(problem, graph, neighbours)


def in_measured_units(problem: Problem, total: float) -> float | None:
    """A sum of weighted costs over records as the cost is reported; None where the sum does not tell it."""
    return problem.cost.measure_of_sum(total, problem.n_records, problem.weights)


def searches_what_is_measured(problem: Problem) -> bool:
    """Whether factors proven for the searched costs hold for the reported one.

    Not for `suppressions` with unequal weights; nor with tight labels where a value is missing from its
    hierarchy: whoever shares its class is published as `*`, which the search does not know.
    """
    hidden = any(isinstance(a.domain, Hierarchy) and a.domain.hidden.any() for a in problem.attributes)
    return in_measured_units(problem, 0.0) is not None and not (problem.tight and hidden)


def is_binary(graph: Graph) -> bool:
    """Whether every attribute has at most two values, each published as it is or as one and the same."""
    few = all(len(np.unique(column)) <= 2 for column in graph.leaves.T)
    return few and not graph.tables.leaf_cost.any()


def refuse_without_graph(algorithm: Algorithm, problem: Problem) -> None:
    """Raise UnsupportedError for a cost that is not one of the algorithm's, or not for these columns."""
    refuse_other_costs(algorithm, problem)
    kernel_tables(problem)  # with tight labels, too

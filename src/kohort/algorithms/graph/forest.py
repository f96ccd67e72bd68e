"""Forest: nearest-neighbour trees cut into small groups (Aggarwal et al., 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.graph.kernels.forest import cut_forest, grow_forest
from kohort.algorithms.graph.kernels.groups import withhold_outliers
from kohort.algorithms.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.proofs.charge_bound import charge_bound
from kohort.algorithms.proofs.measured_units import searches_what_is_measured
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, Neighbours
from kohort.algorithms.refusals import refuse_without_graph
from kohort.algorithms.run import Run
from kohort.problem.costs import Cost
from kohort.problem.counted_cells import first_slots, groups_from_slots
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups


@dataclass(frozen=True)
class Forest(Algorithm):
    """k-anonymity within max(2k-1, 3k-5) of the least cost (Aggarwal et al., section 4).

    FOREST gives records an edge to one of their k - 1 nearest records until every tree has k: its edges weigh
    no more than the least cost. The trees are cut into parts of k to max(2k-1, 3k-5) records without adding
    weight, and a record costs no more than the tree it is in. So the cost is at most the size of the largest
    part times the least cost, and that size is the run's guarantee. (DECOMPOSE-COMPONENT does not always end
    as printed; `cut_forest` does, and no tree is known where its largest part exceeds the paper's.)

    Where records may be withheld, those are whose loss is less than what their group gains without them.

    Nearest records are found exactly, on distinct rows, by a tree of boxes: near-linear to quadratic, 20,000
    distinct rows in seconds; the rest is O(n (k + log n)).

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [47, 35, 27, 27], "zip": ["21004", "21004", "92010", "92010"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.flat(), "zip": ko.flat()}, privacy=[ko.KAnonymity(2)],
    ...     cost="suppressions", algorithm="forest",
    ...     shuffle=False,
    ... )
    >>> release.table["age"].to_pylist(), release.solver_bound
    (['*', '*', '27', '27'], 2.0)
    """

    name: ClassVar[str] = "forest"
    summary: ClassVar[str] = (
        "cuts trees of nearest records into small groups; for any k and up to about 100,000 rows"
    )
    paper: ClassVar[str] = (
        "Aggarwal et al.: Approximation algorithms for k-anonymity, Journal of Privacy Technology (2005)"
    )
    promise: ClassVar[str] = "at most max(2k-1, 3k-5) times the least cost"
    theorem: ClassVar[str] = "Aggarwal et al., 2005, section 4"
    recoding: ClassVar[type[Groups]] = Groups
    withholds: ClassVar[bool] = True

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.metric

    def refuse(self, problem: Problem) -> None:
        refuse_without_graph(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        graph = NeighbourGraph.of(problem)
        neighbours = graph.nearest(problem.k, run.share_of_time(SHARE_BEFORE))
        if neighbours is None:
            return mondrian_instead(problem, run, "the nearest records were found")
        groups = forest_groups(problem, graph, neighbours)
        return Groups(
            _without_outliers(problem, graph, groups),
            guarantee=_largest_that_pays(graph, groups) if searches_what_is_measured(problem) else None,
            bound=charge_bound(problem, graph, neighbours),
        )


def forest_groups(problem: Problem, graph: NeighbourGraph, neighbours: Neighbours) -> np.ndarray:
    """The group of each record: a part of the forest of nearest records."""
    part_of_slot = cut_forest(record_forest(graph, neighbours, problem.k), problem.k)
    return groups_from_slots(problem.rows.of_record, part_of_slot)


def record_forest(graph: NeighbourGraph, neighbours: Neighbours, k: int) -> np.ndarray:
    """The slot that the edge of each slot leads to, or -1. The copies of a row form a chain; its last slot
    has the edge of the row and the edges that lead to the row."""
    to_row = grow_forest(graph.tables, graph.leaves, graph.counts, neighbours.rows, k)
    starts = first_slots(graph.counts)
    to = np.arange(1, starts[-1] + 1, dtype=np.int32)
    last = starts[1:] - 1
    to[last] = np.where(to_row >= 0, last[to_row], -1)
    return to


def _largest_that_pays(graph: NeighbourGraph, groups: np.ndarray) -> float:
    """The size of the largest group whose cost is above 0: groups of cost 0 need no factor."""
    return float(np.bincount(groups)[graph.group_costs(groups) > 0].max(initial=1))


def _without_outliers(problem: Problem, graph: NeighbourGraph, groups: np.ndarray) -> np.ndarray:
    if not problem.max_withheld:
        return groups
    rows = graph.leaves[graph.row_of_record]
    order = np.argsort(groups, kind="stable")
    start = first_slots(np.bincount(groups))
    withheld = withhold_outliers(
        graph.tables, rows, order, start, problem.k, problem.max_withheld, problem.coded.star_cost
    )
    return np.where(withheld, -1, groups).astype(np.int32)

"""3-anonymity by a minimum-weight 2-factor, cut into groups (Aggarwal et al., 2005, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.graph.fixed_k import better_bound, proven_factor, refuse_other_k
from kohort.algorithms.graph.kernels.groups import cut_cycle, walk_cycles
from kohort.algorithms.graph.two_factor import TwoFactor, lightest_cycles
from kohort.algorithms.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.proofs.charge_bound import charge_bound
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, is_binary
from kohort.algorithms.run import Run
from kohort.parameters import Within
from kohort.problem.costs import Cost
from kohort.problem.encoding.layout import SET
from kohort.problem.problem import Problem
from kohort.problem.slots import first_slots, groups_from_slots
from kohort.recoding.groups import Groups


@dataclass(frozen=True)
class ThreeAnonymity(Algorithm):
    """3-anonymity within 2 of the least cost on binary tables, within 3 on others (section 6).

    The lightest set of cycles through all records is found by HiGHS; each cycle is cut into groups of three
    to five neighbours, in the way that costs least. Rows with six copies or more leave all but three of them
    at home: by the triangle inequality there is a lightest set in which all copies are side by side.

    exact   the greatest number of records for which the cycles are proven to be the lightest. For more, they
            are near the lightest, and the linear relaxation proves the factor.

    On binary tables the lightest cycles weigh at most 2/3 of the least cost, and the groups cost at most 3
    times the cycles (Lemmas 10 and 11). On others a record of a class pays at least each distance inside it,
    so at least a third of the sum around each triangle, where the lemma has a half: then the cycles weigh at
    most the least cost. Lemma 11 holds over hierarchies and intervals; with sets (tight labels) a cycle of
    five may cost 4 times its weight.

    >>> import pyarrow as pa, kohort as ko
    >>> rows = ["0000", "0001", "0011", "0111", "1111", "1110", "1100", "1000"]
    >>> table = pa.table({f"q{place}": [row[place] for row in rows] for place in range(4)})
    >>> release = ko.anonymize(
    ...     table, quasi_identifiers={name: ko.flat() for name in table.column_names},
    ...     privacy=[ko.KAnonymity(3)], cost="suppressions", algorithm="three-anonymity",
    ... )
    >>> release.cost, release.guarantee, release.solver_bound
    (24.0, 2.0, 12.0)
    """

    name: ClassVar[str] = "three-anonymity"
    summary: ClassVar[str] = (
        "cuts the cheapest cycles through all records into groups of 3 to 5; for k = 3 only"
    )
    paper: ClassVar[str] = (
        "Aggarwal et al.: Approximation algorithms for k-anonymity, Journal of Privacy Technology (2005)"
    )
    promise: ClassVar[str] = "at most 3 times the least cost, 2 times where every attribute has two values"
    theorem: ClassVar[str] = "Aggarwal et al., 2005, Lemma 11, of a factor that the solver says is the least"
    recoding: ClassVar[type[Groups]] = Groups

    exact: Annotated[int, Within(0, 1_000_000_000)] = 1500

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.metric

    def refuse(self, problem: Problem) -> None:
        refuse_other_k(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        graph = NeighbourGraph.of(problem)
        out = np.where(graph.counts > 5, 3, graph.counts)
        soon = run.share_of_time(SHARE_BEFORE)
        factor = lightest_cycles(graph, np.repeat(np.arange(len(out)), out), exact=self.exact, run=soon)
        if factor is None:
            return mondrian_instead(problem, run, "cycles through all records were found")
        groups = groups_from_slots(problem.rows.of_record, _groups_of_slots(graph, out, factor))
        neighbours = graph.nearest(3, run)
        charge = None if neighbours is None else charge_bound(problem, graph, neighbours)
        bound = better_bound(problem, charge, _weight_to_cost(graph) * (factor.bound + _at_home(graph, out)))
        proven = factor.exact and not problem.max_withheld
        return Groups(
            groups,
            guarantee=proven_factor(
                problem, graph, groups, bound, known=_guarantee(graph) if proven else None
            ),
            bound=bound,
            notes=() if factor.exact else (_NOT_PROVEN,),
        )


_NOT_PROVEN = (
    "Within its limits, the search could not prove that the cycles are the cheapest; the factor is proven "
    "by the linear relaxation instead."
)


def _weight_to_cost(graph: NeighbourGraph) -> float:
    """A lower bound on least cost / weight of lightest cycles (Lemma 10): 3/2 on binary tables, else 1."""
    return 1.5 if is_binary(graph) else 1.0


def _at_home(graph: NeighbourGraph, out: np.ndarray) -> float:
    """The cost of copies left at home: 0 unless they hold values that are published as `*`."""
    rows = np.arange(len(out))
    return float(np.dot(graph.counts - out, graph.distances(rows, rows)))


def _guarantee(graph: NeighbourGraph) -> float:
    """The approximation factor: by Lemma 11 the groups cost at most 3 times the cycles; 4 times with sets."""
    has_sets = bool((graph.tables.kind == SET).any()) and not is_binary(graph)
    return (4.0 if has_sets else 3.0) / _weight_to_cost(graph)


def _groups_of_slots(graph: NeighbourGraph, out: np.ndarray, factor: TwoFactor) -> np.ndarray:
    """The group of each slot: runs along the cycles, and copies at home."""
    row_of_vertex = np.repeat(np.arange(len(out)), out)
    order, starts = walk_cycles(
        factor.one.astype(np.int64), factor.other.astype(np.int64), len(row_of_vertex)
    )
    group = np.empty(len(order), dtype=np.int64)
    n_groups = 0
    for start, end in pairwise(starts):
        vertices = order[start:end]
        cut = cut_cycle(graph.tables, graph.leaves, row_of_vertex[vertices])
        group[vertices] = n_groups + cut
        n_groups += int(cut.max()) + 1
    of_slot = n_groups + np.repeat(np.arange(len(out)), graph.counts)  # at home: one group per row
    first_vertex, first_slot = first_slots(out)[:-1], first_slots(graph.counts)[:-1]
    place = np.arange(len(order)) - first_vertex[row_of_vertex]
    of_slot[first_slot[row_of_vertex] + place] = group
    return of_slot

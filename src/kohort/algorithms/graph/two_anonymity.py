"""2-anonymity by a minimum-weight [1,2]-factor, which is a matching (Aggarwal et al., 2005, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.graph.edge_cover import EdgeCover, least_edge_cover
from kohort.algorithms.graph.fixed_k import better_bound, proven_factor, refuse_other_k
from kohort.algorithms.graph.kernels.groups import centers_of_cover, pair_leaves
from kohort.algorithms.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.proofs.charge_bound import charge_bound
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, is_binary
from kohort.algorithms.run import Run
from kohort.parameters import Within
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.problem.slots import first_slots, groups_from_slots
from kohort.recoding.groups import Groups


@dataclass(frozen=True)
class TwoAnonymity(Algorithm):
    """2-anonymity within 1.5 of the least cost on binary tables, within 2 on all others (section 5).

    The lightest set of edges in which every record has one or two: its parts, pairs and triples, are the
    groups. Distances obey the triangle inequality, so a minimum-weight edge cover can be made into one of the
    same weight, and that is a matching: with mu(v) the distance of v's nearest record, the matching that
    gains most, an edge gaining mu(u) + mu(v) - w; all others go to their nearest. Equal records drop out
    (mu = 0), and few edges gain anything, so the graph is sparse.

    Time: that of finding nearest records, and of a matching on the edges that gain.

    exact   the matching is exact while no connected piece has more records than this that can gain by an edge
            (records with copies cannot). Beyond, it is exact in the pieces that the linear relaxation falls
            into, and the relaxation proves the factor.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"a": list("00011"), "b": list("01111"), "c": list("00001")})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={name: ko.flat() for name in "abc"}, privacy=[ko.KAnonymity(2)],
    ...     cost="suppressions", algorithm="two-anonymity",
    ... )
    >>> release.cost, release.guarantee
    (5.0, 1.5)
    """

    name: ClassVar[str] = "two-anonymity"
    summary: ClassVar[str] = (
        "pairs and triples of similar records, found by an optimal matching; for k = 2 only"
    )
    paper: ClassVar[str] = (
        "Aggarwal et al.: Approximation algorithms for k-anonymity, Journal of Privacy Technology (2005)"
    )
    promise: ClassVar[str] = "at most 2 times the least cost, 1.5 times where every attribute has two values"
    theorem: ClassVar[str] = "Aggarwal et al., 2005, Lemma 8, of a matching that the solver says is the least"
    recoding: ClassVar[type[Groups]] = Groups

    exact: Annotated[int, Within(0, 1_000_000_000)] = 20_000

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.metric

    def refuse(self, problem: Problem) -> None:
        refuse_other_k(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        graph = NeighbourGraph.of(problem)
        soon = run.share_of_time(SHARE_BEFORE)
        neighbours = graph.nearest(2, soon)
        cover = (
            None if neighbours is None else least_edge_cover(graph, neighbours, exact=self.exact, run=soon)
        )
        if neighbours is None or cover is None:
            return mondrian_instead(problem, run, "the nearest records were found")
        groups = groups_from_slots(problem.rows.of_record, _groups_of_slots(graph, cover))
        bound = better_bound(
            problem, charge_bound(problem, graph, neighbours), _factor_to_cost(graph) * cover.bound
        )
        return Groups(
            groups,
            guarantee=proven_factor(
                problem, graph, groups, bound, known=_guarantee(problem, graph) if cover.exact else None
            ),
            bound=bound,
            notes=() if cover.exact else (_IN_PIECES,),
        )


_IN_PIECES = (
    "The table is too large for an exact matching within the limits: it was matched in pieces, and the "
    "factor is proven by the linear relaxation instead."
)


def _factor_to_cost(graph: NeighbourGraph) -> float:
    """A lower bound on least cost / weight of a lightest factor (Lemma 9): 2 on binary tables, else 3/2.

    In a class of three with the distances a <= b <= c each record pays at least c. Together they pay
    3c >= 3/2 (a + b), and the two lighter edges weigh a + b.
    """
    return 2.0 if is_binary(graph) else 1.5


def _guarantee(problem: Problem, graph: NeighbourGraph) -> float:
    """The approximation factor. By Lemma 8 the groups cost at most 3 times the weight of the graph's factor:
    3/2 or 2 times the least cost, and 3 times where records may be withheld, since each of those pays at
    least mu."""
    return 3.0 if problem.max_withheld else 3.0 / _factor_to_cost(graph)


def _groups_of_slots(graph: NeighbourGraph, cover: EdgeCover) -> np.ndarray:
    """The group of each slot: a star of the cover, named by one of its slots; surplus leaves go in pairs."""
    row_of_slot = np.repeat(np.arange(len(graph.counts)), graph.counts)
    center = centers_of_cover(cover.one, cover.other, cover.at_home)
    group = np.where(cover.at_home, first_slots(graph.counts)[row_of_slot], center)
    leaves = np.flatnonzero((center != np.arange(len(center))) & ~cover.at_home)
    leaves = leaves[np.argsort(center[leaves], kind="stable")]
    for star in np.split(leaves, np.flatnonzero(np.diff(center[leaves])) + 1):
        hub = int(center[star[0]]) if len(star) else -1
        keep = 1 if cover.at_home[hub] else 2
        if len(star) > keep:
            order, paired = pair_leaves(graph.tables, graph.leaves, row_of_slot[hub], row_of_slot[star], keep)
            group[star[order[:paired]]] = np.repeat(star[order[:paired:2]], 2)
            star = star[order[paired:]]
        if len(star) == 1 and cover.at_home[hub] and graph.counts[row_of_slot[hub]] > 2:
            group[hub] = group[star] = star[0]  # the other copies can do without the hub
    return group

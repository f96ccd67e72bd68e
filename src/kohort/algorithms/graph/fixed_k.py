"""The algorithms for one k: 2-anonymity by a matching, 3-anonymity by cycles (Aggarwal et al., 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.graph.edge_cover import EdgeCover, least_edge_cover
from kohort.algorithms.graph.kernels.groups import centers_of_cover, cut_cycle, pair_leaves, walk_cycles
from kohort.algorithms.graph.two_factor import TwoFactor, lightest_cycles
from kohort.algorithms.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.proofs.charge_bound import charge_bound
from kohort.algorithms.proofs.measured_units import in_measured_units, searches_what_is_measured
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, Neighbours, is_binary
from kohort.algorithms.refusals import refuse_without_graph
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.parameters import Within
from kohort.problem.costs import Cost
from kohort.problem.counted_cells import first_slots, groups_from_slots
from kohort.problem.encoding.layout import SET
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups


class _FixedK(Algorithm):
    """An algorithm for one k, by a lightest factor of the graph of records."""

    k: ClassVar[int]
    paper: ClassVar[str] = (
        "Aggarwal et al.: Approximation algorithms for k-anonymity, Journal of Privacy Technology (2005)"
    )
    recoding: ClassVar[type[Groups]] = Groups

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.metric

    def refuse(self, problem: Problem) -> None:
        if problem.k != self.k:
            other = {2: "two-anonymity", 3: "three-anonymity"}.get(problem.k, "forest")
            raise UnsupportedError(f"{self.name} is for k = {self.k}, not k = {problem.k}. Choose {other}.")
        refuse_without_graph(self, problem)


def _with_proof(
    problem: Problem,
    graph: NeighbourGraph,
    groups: np.ndarray,
    neighbours: Neighbours | None,
    weight: float,
    known: float | None,
    note: str,
) -> Groups:
    """Groups with their lower bound and their approximation factor.

    weight  a lower bound on the cost if no record may be withheld
    known   the factor of an exact run; None: the cost over the bound
    """
    bound = None if neighbours is None else charge_bound(problem, graph, neighbours)
    weighed = in_measured_units(problem, weight)
    if bound is not None and weighed is not None and not problem.max_withheld:
        bound = max(bound, weighed)
    guarantee = known if searches_what_is_measured(problem) and bound is not None else None
    if known is None and bound and searches_what_is_measured(problem):
        cost = in_measured_units(problem, float(np.dot(np.bincount(groups), graph.group_costs(groups))))
        guarantee = None if cost is None else max(cost / bound, 1.0)
    return Groups(groups, guarantee=guarantee, bound=bound, notes=(note,) if note else ())


@dataclass(frozen=True)
class TwoAnonymity(_FixedK):
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
    k: ClassVar[int] = 2
    summary: ClassVar[str] = (
        "pairs and triples of similar records, found by an optimal matching; for k = 2 only"
    )
    promise: ClassVar[str] = "at most 2 times the least cost, 1.5 times where every attribute has two values"
    theorem: ClassVar[str] = "Aggarwal et al., 2005, Lemma 8, of a matching that the solver says is the least"

    exact: Annotated[int, Within(0, 1_000_000_000)] = 20_000

    def solve(self, problem: Problem, run: Run) -> Groups:
        graph = NeighbourGraph.of(problem)
        soon = run.share_of_time(SHARE_BEFORE)
        neighbours = graph.nearest(2, soon)
        cover = (
            None if neighbours is None else least_edge_cover(graph, neighbours, exact=self.exact, run=soon)
        )
        if neighbours is None or cover is None:
            return mondrian_instead(problem, run, "the nearest records were found")
        groups = groups_from_slots(problem.rows.of_record, _stars_of_slots(graph, cover))
        weight = _factor_to_cost(graph) * cover.bound
        known, note = (_factor_of_stars(problem, graph), "") if cover.exact else (None, _IN_PIECES)
        return _with_proof(problem, graph, groups, neighbours, weight, known, note)


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


def _factor_of_stars(problem: Problem, graph: NeighbourGraph) -> float:
    """The approximation factor. By Lemma 8 the groups cost at most 3 times the weight of the graph's factor:
    3/2 or 2 times the least cost, and 3 times where records may be withheld, since each of those pays at
    least mu."""
    return 3.0 if problem.max_withheld else 3.0 / _factor_to_cost(graph)


def _stars_of_slots(graph: NeighbourGraph, cover: EdgeCover) -> np.ndarray:
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


@dataclass(frozen=True)
class ThreeAnonymity(_FixedK):
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
    k: ClassVar[int] = 3
    summary: ClassVar[str] = (
        "cuts the cheapest cycles through all records into groups of 3 to 5; for k = 3 only"
    )
    promise: ClassVar[str] = "at most 3 times the least cost, 2 times where every attribute has two values"
    theorem: ClassVar[str] = "Aggarwal et al., 2005, Lemma 11, of a factor that the solver says is the least"

    exact: Annotated[int, Within(0, 1_000_000_000)] = 1500

    def solve(self, problem: Problem, run: Run) -> Groups:
        graph = NeighbourGraph.of(problem)
        out = np.where(graph.counts > 5, 3, graph.counts)
        soon = run.share_of_time(SHARE_BEFORE)
        factor = lightest_cycles(graph, np.repeat(np.arange(len(out)), out), exact=self.exact, run=soon)
        if factor is None:
            return mondrian_instead(problem, run, "cycles through all records were found")
        groups = groups_from_slots(problem.rows.of_record, _runs_of_slots(graph, out, factor))
        weight = _weight_to_cost(graph) * (factor.bound + _at_home(graph, out))
        known = _factor_of_runs(graph) if factor.exact and not problem.max_withheld else None
        note = "" if factor.exact else _NOT_PROVEN
        return _with_proof(problem, graph, groups, graph.nearest(3, run), weight, known, note)


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


def _factor_of_runs(graph: NeighbourGraph) -> float:
    """The approximation factor: by Lemma 11 the groups cost at most 3 times the cycles; 4 times with sets."""
    has_sets = bool((graph.tables.kind == SET).any()) and not is_binary(graph)
    return (4.0 if has_sets else 3.0) / _weight_to_cost(graph)


def _runs_of_slots(graph: NeighbourGraph, out: np.ndarray, factor: TwoFactor) -> np.ndarray:
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

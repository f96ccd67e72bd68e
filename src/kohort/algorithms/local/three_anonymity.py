"""3-anonymity by a minimum-weight 2-factor, cut into groups (Aggarwal et al., 2005, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.algorithms.local.graph import (
    METRIC_COSTS,
    Graph,
    charge_bound,
    in_measured_units,
    is_binary,
    refuse_without_graph,
    searches_what_is_measured,
)
from kohort.algorithms.local.k_anon_cf import first_slots, of_records
from kohort.algorithms.local.two_factor import TwoFactor, lightest_cycles
from kohort.algorithms.programs import exact_package
from kohort.algorithms.run import Run
from kohort.errors import InputError, UnsupportedError
from kohort.kernels.cycles import cut_cycle, walk_cycles
from kohort.kernels.generalization import SET
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["ThreeAnonymity"]


@dataclass(frozen=True)
class ThreeAnonymity:
    """3-anonymity within 2 of the least cost on binary tables, within 3 on others (section 6).

    The lightest set of cycles through all records is found by HiGHS; each cycle is cut into groups of three
    to five neighbours, in the way that costs least. Rows with six copies or more leave all but three of them
    at home: by the triangle inequality there is a lightest set in which all copies are side by side.

    exact   up to so many records the cycles are proven to be the lightest. Beyond, they are near it, and the
            linear relaxation proves the factor.

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
    >>> release.cost, release.guarantee, release.bound
    (24.0, 2.0, 12.0)
    """

    name: ClassVar[str] = "three-anonymity"
    summary: ClassVar[str] = "the lightest cycles through all records, cut into threes to fives; k = 3 only"
    paper: ClassVar[str] = (
        "Aggarwal et al.: Approximation algorithms for k-anonymity, Journal of Privacy Technology (2005)"
    )
    promise: ClassVar[str] = "at most 3 times the least cost, 2 times where every attribute has two values"
    models: ClassVar[tuple[str, ...]] = ("k-anonymity",)
    costs: ClassVar[tuple[str, ...]] = METRIC_COSTS

    exact: int = 1500

    def __post_init__(self) -> None:
        if not isinstance(self.exact, int) or self.exact < 0:
            raise InputError(
                f"The 'exact' parameter of three-anonymity must be a whole number from 0 on. Got {self.exact!r}."
            )

    def refuse(self, problem: Problem) -> None:
        if problem.k != 3:
            raise UnsupportedError(
                f"three-anonymity is for k = 3, not k = {problem.k}. "
                f"Choose {'two-anonymity' if problem.k == 2 else 'forest'}."
            )
        refuse_without_graph(self, problem)
        for package in ("highspy", "rustworkx"):
            exact_package(package)

    def solve(self, problem: Problem, run: Run) -> Groups:
        graph = Graph.of(problem)
        out = np.where(graph.counts > 5, 3, graph.counts)
        factor = lightest_cycles(graph, np.repeat(np.arange(len(out)), out), exact=self.exact, run=run)
        groups = of_records(problem, _groups_of_slots(graph, out, factor))
        charge = charge_bound(problem, graph, graph.nearest(3, run))
        bound = _bound(problem, graph, out, factor, charge)
        return Groups(
            groups,
            guarantee=_guarantee(problem, graph, factor, groups, bound),
            bound=bound,
            notes=() if factor.exact else (_NOT_PROVEN,),
        )


_NOT_PROVEN = (
    "The lightest cycles were not proven within the limits: they may be heavier, and the factor is proven by the "
    "linear relaxation instead."
)


def _bound(
    problem: Problem, graph: Graph, out: np.ndarray, factor: TwoFactor, charge: float | None
) -> float | None:
    """Lemma 10: the lightest cycles weigh at most 2/3 of the least cost on binary tables, all of it on others.

    Copies at home are in them at the distance of copies. Where records may be withheld, only charges count.
    """
    if charge is None or problem.max_withheld:
        return charge
    rows = np.arange(len(out))
    at_home = float(np.dot(graph.counts - out, graph.distances(rows, rows)))
    times = 1.5 if is_binary(graph) else 1.0
    weighed = in_measured_units(problem, times * (factor.bound + at_home))
    return charge if weighed is None else max(charge, weighed)


def _guarantee(
    problem: Problem, graph: Graph, factor: TwoFactor, groups: np.ndarray, bound: float | None
) -> float | None:
    if bound is None or not searches_what_is_measured(problem):
        return None
    if factor.exact and not problem.max_withheld:
        has_sets = bool((graph.tables.kind == SET).any())
        return 2.0 if is_binary(graph) else 4.0 if has_sets else 3.0
    return graph.proven_factor(problem, groups, bound)


def _groups_of_slots(graph: Graph, out: np.ndarray, factor: TwoFactor) -> np.ndarray:
    """The group of each slot: runs along the cycles, and copies at home."""
    row_of_vertex = np.repeat(np.arange(len(out)), out)
    order, starts = walk_cycles(factor.one.astype(np.int64), factor.other.astype(np.int64), len(row_of_vertex))
    group = np.empty(len(order), dtype=np.int64)
    n_groups = 0
    for start, end in zip(starts[:-1], starts[1:]):
        vertices = order[start:end]
        cut = cut_cycle(graph.tables, graph.leaves, row_of_vertex[vertices])
        group[vertices] = n_groups + cut
        n_groups += int(cut.max()) + 1
    of_slot = n_groups + np.repeat(np.arange(len(out)), graph.counts)  # at home: one group per row
    first_vertex, first_slot = first_slots(out)[:-1], first_slots(graph.counts)[:-1]
    place = np.arange(len(order)) - first_vertex[row_of_vertex]
    of_slot[first_slot[row_of_vertex] + place] = group
    return of_slot

"""The lightest cycles through all records: a linear program with full pricing, then integer programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.graph.relaxed_cycles import (
    CycleSearch,
    Edges,
    RelaxedCycles,
    components,
    cycles_program,
    relaxed,
)
from kohort.algorithms.programs import solve_program
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.algorithms.run import Run


@dataclass(frozen=True, eq=False)
class TwoFactor:
    """Edges, two at every vertex, and a lower bound on the weight of such a set, which is met if `exact`."""

    one: np.ndarray
    other: np.ndarray
    weight: float
    bound: float
    exact: bool


def lightest_cycles(graph: NeighbourGraph, rows: np.ndarray, *, exact: int, run: Run) -> TwoFactor | None:
    """A set of cycles through all vertices; vertex v is a record of row rows[v]. There must be three or more.

    The linear relaxation is solved over edges to near records; edges of negative reduced cost among *all*
    pairs enter until there are none. With at most `exact` vertices it is cut by blossom inequalities, and an
    integer program over all edges that could still be in a lighter set finds and proves the optimum. With
    more, the pieces where the relaxation is fractional are solved one by one. None if the time was up before
    the relaxation was solved once.
    """
    search = CycleSearch.of(graph, rows)
    is_small = len(rows) <= exact
    prices = relaxed(search, run, cutting=is_small)
    if prices is None or not prices.x.any():
        return None
    best = _whole_pieces(search, prices, run)
    if is_small and prices.complete:
        return _proven(search, prices, best, run)
    bound = min(prices.bound, best.weight)
    is_exact = best.weight - bound <= 1e-9 * best.weight
    return TwoFactor(*search.ends(best.edges), best.weight, bound, exact=is_exact)


@dataclass(frozen=True, eq=False)
class _Chosen:
    edges: Edges
    weight: float


def _whole_pieces(search: CycleSearch, prices: RelaxedCycles, run: Run) -> _Chosen:
    """An integer solution near the relaxed one: its connected pieces, each solved on its own."""
    used = np.flatnonzero(prices.x > 1e-6)
    whole = np.ones(search.n, dtype=bool)
    part = used[prices.x[used] < 1 - 1e-6]
    whole[prices.edges.one[part]] = whole[prices.edges.other[part]] = False
    chosen, pieces = np.zeros(search.n, dtype=bool), []
    for members in components(prices.edges.subset(used), search.n):
        if whole[members].all() and len(members) > 2:
            chosen[members] = True
        else:
            pieces.append(members)
    found = prices.edges.subset(used[chosen[prices.edges.one[used]]])
    for number, members in enumerate(_large_enough(pieces)):
        run.report("completing cycles", number / len(pieces))
        found = found.joined(_whole_piece(search, prices.edges, members, run))
    return _Chosen(found, float(found.weight.sum()))


def _large_enough(pieces: list[np.ndarray]) -> list[np.ndarray]:
    """Pieces of three or more vertices: smaller ones, from an unsolved relaxation, are joined to the next."""
    united: list[np.ndarray] = []
    for piece in pieces:
        if united and len(united[-1]) < 3:
            united[-1] = np.sort(np.concatenate([united[-1], piece]))
        else:
            united.append(piece)
    if len(united) > 1 and len(united[-1]) < 3:
        united[-2:] = [np.sort(np.concatenate(united[-2:]))]
    return united


def _whole_piece(search: CycleSearch, edges: Edges, members: np.ndarray, run: Run) -> Edges:
    """The lightest cycles through `members` over the edges among them; one cycle if the time is up."""
    around = search.edges(members, np.roll(members, -1))
    inside = np.zeros(search.n, dtype=bool)
    inside[members] = True
    near = edges.subset(inside[edges.one] & inside[edges.other]).joined(around)
    number = np.cumsum(inside) - 1
    program = cycles_program(
        Edges(number[near.one], number[near.other], near.weight), len(members), integer=True
    )
    solution = None if run.out_of_time else solve_program(program, run)
    if solution is None or solution.x is None:
        return around
    return near.subset(solution.x > 0.5)


def _proven(search: CycleSearch, prices: RelaxedCycles, best: _Chosen, run: Run) -> TwoFactor:
    """Solve the integer program over the relaxation's edges, then over all that may be in a lighter set."""
    edges, bound = prices.edges, prices.bound
    for last in (False, True):
        if best.weight - bound <= 1e-9 * best.weight:
            break
        if last:
            gap = (best.weight - prices.bound) * (1 + 1e-9) + 1e-12
            edges, all_seen = search.edges_below(prices.price, gap, run)
            edges = edges.subset(prices.worth(edges) <= gap)
            if not all_seen:
                return TwoFactor(*search.ends(best.edges), best.weight, bound, exact=False)
        edges = edges.joined(best.edges)
        start = np.isin(edges.keys, best.edges.keys).astype(float)
        program = cycles_program(edges, search.n, integer=True, cuts=prices.binding_cuts)
        solution = solve_program(program, run, start=start, doing="proving that the cycles are the cheapest")
        if solution.x is not None and solution.value < best.weight:
            chosen = edges.subset(solution.x > 0.5)
            best = _Chosen(chosen, float(chosen.weight.sum()))
        if last:
            bound = min(max(solution.bound, bound), best.weight)
        if not solution.optimal:
            return TwoFactor(*search.ends(best.edges), best.weight, bound, exact=False)
    return TwoFactor(*search.ends(best.edges), best.weight, min(bound, best.weight), exact=True)

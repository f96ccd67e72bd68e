"""The linear relaxation of a 2-factor over all pairs of records, cut by blossom inequalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.graph.edges import NO_EDGES, Edges, components
from kohort.algorithms.kernels.nearest_rows import BoxTree, box_tree
from kohort.algorithms.programs import Program, solve_program
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, near_pairs, near_rows
from kohort.algorithms.run import Run

_FIRST_NEIGHBOURS = 8
_MOST_PAIRS = 4_000_000  # pairs considered in one round of pricing
_MOST_ROUNDS = 200
_PATIENCE = 4  # rounds of cuts that do not raise the bound
_PAIRS_AT_A_TIME = 4  # times the number of records: pairs that enter the program in one round


@dataclass(frozen=True, eq=False)
class CycleSearch:
    """The vertices that cycles go through, in a box tree that finds edges between near ones."""

    graph: NeighbourGraph
    rows: np.ndarray  # the row at each place of the tree
    tree: BoxTree  # the vertices

    @classmethod
    def of(cls, graph: NeighbourGraph, rows: np.ndarray) -> CycleSearch:
        tree = box_tree(graph.tables, np.ascontiguousarray(graph.leaves[rows]))
        return cls(graph, rows[tree.order], tree)

    @property
    def n(self) -> int:
        return len(self.rows)

    def edges(self, one: np.ndarray, other: np.ndarray) -> Edges:
        one, other = np.minimum(one, other), np.maximum(one, other)
        weight = self.graph.distances(self.rows[one], self.rows[other])
        return Edges(one, other, weight).joined(NO_EDGES)

    def first_edges(self, run: Run) -> Edges | None:
        """Edges to near vertices, and a cycle through all vertices, so that a solution exists.

        None when the time is up.
        """
        ones = np.ones(self.n, dtype=np.int64)
        k = min(_FIRST_NEIGHBOURS, self.n)
        found = near_rows(self.graph.tables, ones, self.tree, k, run.in_silence())
        if found is None:
            return None
        near = found[0]
        place = np.empty(self.n, dtype=np.int64)
        place[self.tree.order] = np.arange(self.n)
        one = np.repeat(np.arange(self.n), near.shape[1])
        around = np.arange(self.n)
        return self.edges(
            np.concatenate([one, around]), np.concatenate([place[near.ravel()], np.roll(around, -1)])
        )

    def edges_below(self, price: np.ndarray, slack: float, run: Run) -> tuple[Edges, bool]:
        """Edges that are at most `slack` heavier than the prices of their ends, and whether these are all.

        No edges when the time is up.
        """
        found = near_pairs(self.graph.tables, self.tree, price + slack / 2, _MOST_PAIRS, run)
        if found is None:
            return NO_EDGES, False
        pairs, weight = found
        complete = len(pairs) <= _MOST_PAIRS
        return Edges(pairs[:, 0], pairs[:, 1], weight), complete

    def ends(self, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
        """The two ends of each edge, as numbers of the vertices that were given."""
        return self.tree.order[edges.one], self.tree.order[edges.other]


@dataclass(frozen=True, eq=False)
class BlossomCut:
    """A blossom inequality: a set of cycles has at most `most` of the edges that lie inside the handle or are
    one of the odd number of teeth, which leave it."""

    handle: np.ndarray  # whether each vertex is in it
    teeth: np.ndarray  # keys of edges
    most: float

    def has(self, edges: Edges) -> np.ndarray:
        return (self.handle[edges.one] & self.handle[edges.other]) | np.isin(edges.keys, self.teeth)


@dataclass(frozen=True, eq=False)
class RelaxedCycles:
    """A solution of the relaxation: its edges with their values x, the dual prices of vertices and of cuts
    (0 or less), and the lower bound that the prices prove."""

    edges: Edges
    x: np.ndarray
    price: np.ndarray
    cuts: list[BlossomCut]
    cut_price: np.ndarray
    bound: float
    complete: bool

    @property
    def binding_cuts(self) -> list[BlossomCut]:
        return [cut for cut, price in zip(self.cuts, self.cut_price) if price < 0]

    def worth(self, edges: Edges) -> np.ndarray:
        """The reduced cost of each edge: its weight minus the prices of its ends and of the cuts it is in."""
        worth = edges.weight - self.price[edges.one] - self.price[edges.other]
        for cut, price in zip(self.cuts, self.cut_price):
            if price < 0:
                worth -= price * cut.has(edges)
        return worth


def cycles_program(edges: Edges, n: int, *, integer: bool, cuts: Sequence[BlossomCut] = ()) -> Program:
    """The program of a lightest 2-factor: the least weight of edges, two of them at every vertex."""
    columns = np.arange(len(edges))
    in_cut = [np.flatnonzero(cut.has(edges)) for cut in cuts]
    rows = [edges.one, edges.other, *(np.full(len(c), n + number) for number, c in enumerate(in_cut))]
    entries = np.concatenate(rows), np.concatenate([columns, columns, *in_cut])
    return Program(
        cost=edges.weight,
        upper=np.ones(len(edges)),
        entries=(*entries, np.ones(len(entries[0]))),
        least=np.concatenate([np.full(n, 2.0), np.full(len(cuts), -np.inf)]),
        most=np.concatenate([np.full(n, 2.0), [cut.most for cut in cuts]]),
        integer=np.ones(len(edges), dtype=bool) if integer else None,
    )


def relaxed(search: CycleSearch, run: Run, *, cutting: bool) -> RelaxedCycles | None:
    """Solve the linear relaxation over all pairs, adding violated blossom inequalities while any are found.

    For any prices a lower bound is the sum of: twice the price of each vertex, the price of each cut times
    its `most`, and all negative reduced costs, since an edge is taken at most once. None if the time was up
    before the first round.
    """
    edges = search.first_edges(run)
    if edges is None:
        return None
    best = RelaxedCycles(
        edges, np.zeros(len(edges)), np.zeros(search.n), [], np.zeros(0), 0.0, complete=False
    )
    cuts: list[BlossomCut] = []
    before, stalled = 0.0, 0
    for number in range(_MOST_ROUNDS):
        run.report("pricing all pairs of records", number / _MOST_ROUNDS)
        if number and run.out_of_time:
            break
        solution = solve_program(cycles_program(edges, search.n, integer=False, cuts=cuts), run)
        if not solution.optimal or solution.x is None:
            break
        price, cut_price = solution.price[: search.n], np.minimum(solution.price[search.n :], 0.0)
        now = RelaxedCycles(edges, solution.x, price, cuts, cut_price, 0.0, complete=False)
        cheap, all_seen = search.edges_below(price, 0.0, run)  # cuts only raise reduced costs
        worth = now.worth(cheap)
        bound = 2 * price.sum() + np.minimum(worth, 0.0).sum()
        bound += sum(cut.most * price for cut, price in zip(cuts, cut_price))
        order = np.argsort(worth, kind="stable")[: _PAIRS_AT_A_TIME * search.n]
        more = edges.joined(cheap.subset(order[worth[order] < -1e-10]))
        now = replace(now, bound=float(bound) if all_seen else 0.0)
        if len(more) > len(edges) or not all_seen:
            if not best.complete:
                best = replace(now, bound=max(now.bound, best.bound))
            edges = more
            continue
        stalled = 0 if now.bound > before * (1 + 1e-6) else stalled + 1
        before, best = now.bound, replace(now, complete=True)
        broken = _broken_cuts(edges, solution.x, search.n) if cutting and stalled < _PATIENCE else []
        if not broken:
            break
        cuts = cuts + broken
    return best


def _broken_cuts(edges: Edges, x: np.ndarray, n: int) -> list[BlossomCut]:
    """Blossom inequalities that a solution violates: handles are connected pieces of its fractional edges."""
    found = []
    for least in (1e-6, 0.1, 0.3):
        between = np.flatnonzero((x > least) & (x < 1 - least))
        for piece in components(edges.subset(between), n, least=2):
            handle = np.zeros(n, dtype=bool)
            handle[piece] = True
            leaving = np.flatnonzero((handle[edges.one] != handle[edges.other]) & (x > 0.5))
            inside = x[handle[edges.one] & handle[edges.other]].sum()
            if len(leaving) % 2 == 0:  # the number of teeth must be odd
                leaving = leaving[np.argsort(x[leaving], kind="stable")][1:]
            most = handle.sum() + (len(leaving) - 1) / 2
            if len(leaving) and inside + x[leaving].sum() > most + 0.02:
                found.append(BlossomCut(handle, edges.subset(leaving).keys, float(most)))
    return found


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

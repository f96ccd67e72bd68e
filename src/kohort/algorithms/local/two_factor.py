"""The lightest cycles through all records: a linear program with full pricing, then integer programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.local.graph import Graph
from kohort.algorithms.programs import Program, exact_package, solve_program
from kohort.algorithms.run import Run
from kohort.kernels.nearest import BoxTree, box_tree, nearest_rows, pairs_within

__all__ = ["TwoFactor", "lightest_cycles"]

_FIRST_NEIGHBOURS = 8
_MOST_PAIRS = 4_000_000  # looked at in one round of pricing
_MOST_ROUNDS = 200
_PATIENCE = 4  # rounds of cuts that do not raise the bound
_PAIRS_AT_A_TIME = 4  # times the records: how many enter the program in one round


@dataclass(frozen=True, eq=False)
class TwoFactor:
    """Two edges at every vertex; `bound` is below the weight of every such set, the same where `exact`."""

    one: np.ndarray
    other: np.ndarray
    weight: float
    bound: float
    exact: bool


def lightest_cycles(graph: Graph, rows: np.ndarray, *, exact: int, run: Run) -> TwoFactor:
    """A set of cycles through all vertices; vertex v is a record of row rows[v]. There must be three or more.

    The linear relaxation is solved over edges to near records; whichever edge is priced below its worth among
    *all* pairs enters, until there is none. With at most `exact` vertices it is cut by blossom inequalities,
    and an integer program over all edges that could still be in a lighter set proves the optimum, or finds it.
    With more, the pieces where the relaxation is not whole are solved one by one.
    """
    search = _Search.of(graph, rows)
    is_small = len(rows) <= exact
    prices = _relaxed(search, run, cutting=is_small)
    best = _whole_pieces(search, prices, run)
    if is_small and prices.complete:
        return _proven(search, prices, best, run)
    bound = min(prices.bound, best.weight)
    is_exact = best.weight - bound <= 1e-9 * best.weight
    return TwoFactor(*search.ends(best.edges), best.weight, bound, exact=is_exact)


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges between places of the box tree, one < other, sorted."""

    one: np.ndarray
    other: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def keys(self) -> np.ndarray:
        return self.one.astype(np.int64) * 2**31 + self.other

    def some(self, chosen: np.ndarray) -> _Edges:
        return _Edges(self.one[chosen], self.other[chosen], self.weight[chosen])

    def joined(self, more: _Edges) -> _Edges:
        """Both, every edge once."""
        both = _Edges(
            np.concatenate([self.one, more.one]),
            np.concatenate([self.other, more.other]),
            np.concatenate([self.weight, more.weight]),
        )
        return both.some(np.unique(both.keys, return_index=True)[1])


@dataclass(frozen=True, eq=False)
class _Search:
    graph: Graph
    rows: np.ndarray  # at each place of the tree
    tree: BoxTree  # of the vertices

    @classmethod
    def of(cls, graph: Graph, rows: np.ndarray) -> _Search:
        tree = box_tree(graph.tables, np.ascontiguousarray(graph.leaves[rows]))
        return cls(graph, rows[tree.order], tree)

    @property
    def n(self) -> int:
        return len(self.rows)

    def edges(self, one: np.ndarray, other: np.ndarray) -> _Edges:
        one, other = np.minimum(one, other), np.maximum(one, other)
        weight = self.graph.distances(self.rows[one], self.rows[other])
        return _Edges(one, other, weight).joined(_Edges(one[:0], other[:0], weight[:0]))

    def first_edges(self) -> _Edges:
        """Edges to near vertices, and a cycle through all, so that there is a solution."""
        ones = np.ones(self.n, dtype=np.int64)
        k = min(_FIRST_NEIGHBOURS, self.n)
        near, _ = nearest_rows(self.graph.tables, ones, self.tree, k, 0, self.n)
        place = np.empty(self.n, dtype=np.int64)
        place[self.tree.order] = np.arange(self.n)
        one = np.repeat(np.arange(self.n), near.shape[1])
        around = np.arange(self.n)
        return self.edges(
            np.concatenate([one, around]), np.concatenate([place[near.ravel()], np.roll(around, -1)])
        )

    def edges_below(self, price: np.ndarray, slack: float) -> tuple[_Edges, bool]:
        """All edges that are at most `slack` heavier than the prices of their ends, and whether it is all."""
        pairs, weight = pairs_within(self.graph.tables, self.tree, price + slack / 2, _MOST_PAIRS)
        complete = len(pairs) <= _MOST_PAIRS
        return _Edges(pairs[:, 0], pairs[:, 1], weight), complete

    def ends(self, edges: _Edges) -> tuple[np.ndarray, np.ndarray]:
        """The edges between vertices as they were given."""
        return self.tree.order[edges.one], self.tree.order[edges.other]


@dataclass(frozen=True, eq=False)
class _Cut:
    """A blossom inequality: of the edges inside the handle and the odd number of teeth that leave it, at most
    `most` are in a set of cycles."""

    handle: np.ndarray  # whether each vertex is in it
    teeth: np.ndarray  # keys of edges
    most: float

    def has(self, edges: _Edges) -> np.ndarray:
        return (self.handle[edges.one] & self.handle[edges.other]) | np.isin(edges.keys, self.teeth)


@dataclass(frozen=True, eq=False)
class _Prices:
    """The relaxation: its edges, how much of each, prices of vertices and (none above 0) of cuts, and the
    bound that the prices prove."""

    edges: _Edges
    x: np.ndarray
    price: np.ndarray
    cuts: list[_Cut]
    cut_price: np.ndarray
    bound: float
    complete: bool

    def worth(self, edges: _Edges) -> np.ndarray:
        """What an edge weighs more than its ends, and the cuts that it is in, are priced."""
        worth = edges.weight - self.price[edges.one] - self.price[edges.other]
        for cut, price in zip(self.cuts, self.cut_price):
            if price < 0:
                worth -= price * cut.has(edges)
        return worth


@dataclass(frozen=True, eq=False)
class _Chosen:
    edges: _Edges
    weight: float


def _program(edges: _Edges, n: int, *, integer: bool, cuts: Sequence[_Cut] = ()) -> Program:
    """Two edges at every vertex."""
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


def _relaxed(search: _Search, run: Run, *, cutting: bool) -> _Prices:
    """The linear relaxation over all pairs, with blossom inequalities as long as some are found to be broken.

    For any prices the sum of 2y over vertices, of the cuts' prices times what they allow, and of all negative
    worths of edges is a bound: an edge is taken once at most.
    """
    edges = search.first_edges()
    best = _Prices(edges, np.zeros(len(edges)), np.zeros(search.n), [], np.zeros(0), 0.0, complete=False)
    cuts: list[_Cut] = []
    before, stalled = 0.0, 0
    for number in range(_MOST_ROUNDS):
        run.report("pricing all pairs of records", number / _MOST_ROUNDS)
        solution = solve_program(_program(edges, search.n, integer=False, cuts=cuts), run)
        if not solution.optimal or solution.x is None:
            break
        price, cut_price = solution.price[: search.n], np.minimum(solution.price[search.n :], 0.0)
        now = _Prices(edges, solution.x, price, cuts, cut_price, 0.0, complete=False)
        cheap, all_seen = search.edges_below(price, 0.0)  # cuts only raise what edges are worth
        worth = now.worth(cheap)
        bound = 2 * price.sum() + np.minimum(worth, 0.0).sum()
        bound += sum(cut.most * price for cut, price in zip(cuts, cut_price))
        order = np.argsort(worth, kind="stable")[: _PAIRS_AT_A_TIME * search.n]
        more = edges.joined(cheap.some(order[worth[order] < -1e-10]))
        now = replace(now, bound=float(bound) if all_seen else 0.0)
        if len(more) > len(edges) or not all_seen:
            best = now if now.bound > best.bound else best
            edges = more
            continue
        stalled = 0 if now.bound > before * (1 + 1e-6) else stalled + 1
        before, best = now.bound, replace(now, complete=True)
        broken = _broken_cuts(edges, solution.x, search.n) if cutting and stalled < _PATIENCE else []
        if not broken:
            break
        cuts = cuts + broken
    return best


def _broken_cuts(edges: _Edges, x: np.ndarray, n: int) -> list[_Cut]:
    """Blossom inequalities that the solution breaks: handles are pieces of edges that are neither in nor out."""
    found = []
    for least in (1e-6, 0.1, 0.3):
        between = np.flatnonzero((x > least) & (x < 1 - least))
        for piece in _pieces(edges.some(between), n):
            handle = np.zeros(n, dtype=bool)
            handle[piece] = True
            leaving = np.flatnonzero((handle[edges.one] != handle[edges.other]) & (x > 0.5))
            inside = x[handle[edges.one] & handle[edges.other]].sum()
            if len(leaving) % 2 == 0:  # an odd number: leave out the least or take in the next
                leaving = leaving[np.argsort(x[leaving], kind="stable")][1:]
            most = handle.sum() + (len(leaving) - 1) / 2
            if len(leaving) and inside + x[leaving].sum() > most + 0.02:
                found.append(_Cut(handle, edges.some(leaving).keys, float(most)))
    return found


def _pieces(edges: _Edges, n: int) -> list[np.ndarray]:
    """The connected components that have edges."""
    return [piece for piece in _components(edges, n) if len(piece) > 1]


def _components(edges: _Edges, n: int) -> list[np.ndarray]:
    rustworkx = exact_package("rustworkx")
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from_no_data(list(zip(edges.one.tolist(), edges.other.tolist())))
    return [np.array(sorted(piece)) for piece in rustworkx.connected_components(graph)]


def _whole_pieces(search: _Search, prices: _Prices, run: Run) -> _Chosen:
    """A whole solution near the relaxed one: the pieces that it falls into, each solved on its own."""
    used = np.flatnonzero(prices.x > 1e-6)
    whole = np.ones(search.n, dtype=bool)
    part = used[prices.x[used] < 1 - 1e-6]
    whole[prices.edges.one[part]] = whole[prices.edges.other[part]] = False
    chosen, pieces = np.zeros(search.n, dtype=bool), []
    for members in _components(prices.edges.some(used), search.n):
        if whole[members].all() and len(members) > 2:
            chosen[members] = True
        else:
            pieces.append(members)
    found = prices.edges.some(used[chosen[prices.edges.one[used]]])
    for number, members in enumerate(_large_enough(pieces)):
        run.report("making cycles whole", number / len(pieces))
        found = found.joined(_whole_piece(search, prices.edges, members, run))
    return _Chosen(found, float(found.weight.sum()))


def _large_enough(pieces: list[np.ndarray]) -> list[np.ndarray]:
    """Pieces of one or two vertices (where the relaxation was not solved) go with the next one."""
    united: list[np.ndarray] = []
    for piece in pieces:
        if united and len(united[-1]) < 3:
            united[-1] = np.sort(np.concatenate([united[-1], piece]))
        else:
            united.append(piece)
    if len(united) > 1 and len(united[-1]) < 3:
        united[-2:] = [np.sort(np.concatenate(united[-2:]))]
    return united


def _whole_piece(search: _Search, edges: _Edges, members: np.ndarray, run: Run) -> _Edges:
    """The lightest cycles through some vertices over the edges among them; out of time, one cycle."""
    around = search.edges(members, np.roll(members, -1))
    inside = np.zeros(search.n, dtype=bool)
    inside[members] = True
    near = edges.some(inside[edges.one] & inside[edges.other]).joined(around)
    number = np.cumsum(inside) - 1
    program = _program(_Edges(number[near.one], number[near.other], near.weight), len(members), integer=True)
    solution = None if run.out_of_time else solve_program(program, run)
    if solution is None or solution.x is None:
        return around
    return near.some(solution.x > 0.5)


def _proven(search: _Search, prices: _Prices, best: _Chosen, run: Run) -> TwoFactor:
    """The integer program over the edges of the relaxation, then over every edge that a lighter one could have."""
    edges, bound = prices.edges, prices.bound
    for last in (False, True):
        if best.weight - bound <= 1e-9 * best.weight:
            break
        run.report("proving the lightest cycles", float(last) / 2)
        if last:
            gap = (best.weight - prices.bound) * (1 + 1e-9) + 1e-12
            edges, all_seen = search.edges_below(prices.price, gap)
            edges = edges.some(prices.worth(edges) <= gap)
            if not all_seen:
                return TwoFactor(*search.ends(best.edges), best.weight, bound, exact=False)
        edges = edges.joined(best.edges)
        start = np.isin(edges.keys, best.edges.keys).astype(float)
        program = _program(edges, search.n, integer=True, cuts=prices.cuts)
        solution = solve_program(program, run, start=start)
        if solution.x is not None and solution.value < best.weight:
            chosen = edges.some(solution.x > 0.5)
            best = _Chosen(chosen, float(chosen.weight.sum()))
        if last:
            bound = min(max(solution.bound, bound), best.weight)
        if not solution.optimal:
            return TwoFactor(*search.ends(best.edges), best.weight, bound, exact=False)
    return TwoFactor(*search.ends(best.edges), best.weight, min(bound, best.weight), exact=True)

"""The linear relaxation of a 2-factor over all pairs of records, cut by blossom inequalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

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
class Edges:
    """Edges between places of the box tree, one < other, sorted."""

    one: np.ndarray
    other: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def keys(self) -> np.ndarray:
        return self.one.astype(np.int64) * 2**31 + self.other

    def subset(self, chosen: np.ndarray) -> Edges:
        return Edges(self.one[chosen], self.other[chosen], self.weight[chosen])

    def joined(self, more: Edges) -> Edges:
        """The union of two sets of edges, each edge once."""
        both = Edges(
            np.concatenate([self.one, more.one]),
            np.concatenate([self.other, more.other]),
            np.concatenate([self.weight, more.weight]),
        )
        return both.subset(np.unique(both.keys, return_index=True)[1])


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
        return Edges(one, other, weight).joined(Edges(one[:0], other[:0], weight[:0]))

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
            return Edges(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)), False
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
        for piece in _pieces(edges.subset(between), n):
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


def _pieces(edges: Edges, n: int) -> list[np.ndarray]:
    """The connected components that have edges."""
    return [piece for piece in components(edges, n) if len(piece) > 1]


def components(edges: Edges, n: int) -> list[np.ndarray]:
    """The vertices of each connected component, including components of a single vertex."""
    import rustworkx

    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from_no_data(list(zip(edges.one.tolist(), edges.other.tolist())))
    return [np.array(sorted(piece)) for piece in rustworkx.connected_components(graph)]

"""Minimum-weight edge covers of records, by a maximum-weight matching: exact, or in pieces with a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.graph.edges import NO_EDGES, Edges, components
from kohort.algorithms.kernels.nearest_rows import box_tree
from kohort.algorithms.programs import Program, solve_program
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, Neighbours, near_pairs
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.problem.counted_cells import first_slots

MOST_EDGES = 2_000_000
_SECONDS_PER_SQUARE = 6e-8  # a matching takes this long times the square of the records in a piece
_UNIT = 2.0**40  # gains are scaled by this, since the matching needs integer weights


@dataclass(frozen=True, eq=False)
class EdgeCover:
    """Edges that touch every slot but those at home. The slots of a row, one per copy, are numbered in a run.

    at_home   slots of rows that have copies at distance 0: they need no edge
    bound     a lower bound on the weight of any cover; the weight of this one if it is `exact`
    """

    one: np.ndarray
    other: np.ndarray
    at_home: np.ndarray
    bound: float
    exact: bool


def least_edge_cover(
    graph: NeighbourGraph, neighbours: Neighbours, *, exact: int, run: Run
) -> EdgeCover | None:
    """An edge cover: of least weight if no connected piece of the graph has more than `exact` records.

    None if the time was up before its edges were found.

    Finding the edges takes as long as finding neighbours; the matching O(records * edges * log) in the worst
    case, by the blossom algorithm of rustworkx.
    """
    starts = first_slots(graph.counts)
    row_of_slot = np.repeat(np.arange(len(graph.counts)), graph.counts)
    nearest = neighbours.radius[row_of_slot]
    can_gain = np.flatnonzero(nearest > 0)
    edges = _gaining_edges(graph, row_of_slot[can_gain], nearest[can_gain], run)
    if edges is None:
        return None
    run.report("matching records", 0.0)
    matched, lost, is_exact = _matching(edges, len(can_gain), exact, run)
    one, other = can_gain[edges.one[matched]], can_gain[edges.other[matched]]
    at_home = ((neighbours.radius == 0) & (graph.counts > 1))[row_of_slot]
    alone = ~at_home
    alone[one] = alone[other] = False
    alone = np.flatnonzero(alone)
    row = row_of_slot[alone]
    next_copy = starts[row] + (alone - starts[row] + 1) % graph.counts[row]
    target = np.where(graph.counts[row] > 1, next_copy, starts[neighbours.rows[row, 0]])
    return EdgeCover(
        one=np.concatenate([one, alone]),
        other=np.concatenate([other, target]),
        at_home=at_home,
        bound=float(nearest.sum() - lost),
        exact=is_exact,
    )


def _gaining_edges(graph: NeighbourGraph, rows: np.ndarray, nearest: np.ndarray, run: Run) -> Edges | None:
    """Edges between places of `rows` that weigh less than the distances of both ends to their nearest rows.

    None when the time is up.
    """
    if not len(rows):
        return NO_EDGES
    tree = box_tree(graph.tables, np.ascontiguousarray(graph.leaves[rows]))
    reach = nearest[tree.order]
    found = near_pairs(graph.tables, tree, reach, MOST_EDGES, run)
    if found is None:
        return None
    pairs, weight = found
    if len(pairs) > MOST_EDGES:
        raise UnsupportedError(
            f"More than {MOST_EDGES:,} pairs of records are close enough to be matched, which is too many "
            "for two-anonymity. Choose forest or k-anon-cf."
        )
    gain = reach[pairs[:, 0]] + reach[pairs[:, 1]] - weight
    return Edges(tree.order[pairs[:, 0]], tree.order[pairs[:, 1]], gain)


def _matching(edges: Edges, n: int, exact: int, run: Run) -> tuple[np.ndarray, float, bool]:
    """Edges of a matching, an upper bound on the gain of any matching, and whether this one reaches it."""
    if not len(edges.weight):
        return np.zeros(0, dtype=np.int64), 0.0, True
    pieces = components(edges, n, least=2)
    seconds = sum(_SECONDS_PER_SQUARE * len(piece) ** 2 for piece in pieces)
    in_time = _in_time(seconds, run)
    if in_time and max(map(len, pieces), default=0) <= exact:
        matched = _match_pieces(edges, pieces, Run())
        return matched, float(edges.weight[matched].sum()), True
    price = _prices(edges, n, run)
    tight = np.flatnonzero(price[edges.one] + price[edges.other] - edges.weight < 1e-9 * edges.weight.max())
    pieces = [piece for piece in components(edges.subset(tight), n, least=2) if len(piece) <= exact]
    matched = tight[_match_pieces(edges.subset(tight), pieces, run)]
    return _extended(edges, matched, n), float(price.sum() + 1e-12 * n), False


def _in_time(seconds: float, run: Run) -> bool:
    """Whether work that takes `seconds` can be done in the time that is left; if not, the run is cut."""
    if run.seconds_left is None or seconds < run.seconds_left:
        return True
    run.cut()
    return False


def _prices(edges: Edges, n: int, run: Run) -> np.ndarray:
    """Prices of records such that the gain of every edge is at most the sum of its ends' prices. So the sum
    of all prices bounds the gain of any matching. They are the duals of the linear relaxation; where time
    runs out, half of the best gain at each record."""
    columns = np.arange(len(edges.weight))
    relaxed = solve_program(
        Program(
            cost=-edges.weight,
            upper=np.full(len(columns), np.inf),
            entries=(
                np.concatenate([edges.one, edges.other]),
                np.concatenate([columns, columns]),
                np.ones(2 * len(columns)),
            ),
            least=np.full(n, -np.inf),
            most=np.ones(n),
        ),
        run,
    )
    if relaxed.optimal:
        price = np.maximum(-relaxed.price, 0.0)
        short = edges.weight - price[edges.one] - price[edges.other]
    else:
        price, short = np.zeros(n), edges.weight
    for end in (edges.one, edges.other):  # repair violations left by rounding or by upper bounds of edges
        np.maximum.at(price, end, price[end] + np.maximum(short, 0.0) / 2)
    return price


def _match_pieces(edges: Edges, pieces: list[np.ndarray], run: Run) -> np.ndarray:
    """Numbers of the edges of a maximum-gain matching in each piece, as far as there is time."""
    import rustworkx

    piece_of = np.full(max((piece[-1] for piece in pieces), default=-1) + 2, -1)
    place = np.zeros(len(piece_of), dtype=np.int64)
    for number, piece in enumerate(pieces):
        piece_of[piece] = number
        place[piece] = np.arange(len(piece))
    owner = piece_of[np.minimum(edges.one, len(piece_of) - 1)]
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], np.arange(len(pieces) + 1))
    gain = np.rint(edges.weight * (_UNIT / max(edges.weight.max(initial=0.0), 1e-300))).astype(np.int64)
    matched: list[int] = []
    for number, piece in enumerate(pieces):
        run.report("matching records", number / len(pieces))
        if not _in_time(_SECONDS_PER_SQUARE * len(piece) ** 2, run):
            continue
        mine = order[start[number] : start[number + 1]]
        ends = list(zip(place[edges.one[mine]].tolist(), place[edges.other[mine]].tolist()))
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(len(piece)))
        graph.add_edges_from([(a, b, g) for (a, b), g in zip(ends, gain[mine].tolist())])
        edge_of = dict(zip(ends, mine.tolist()))
        for a, b in rustworkx.max_weight_matching(graph, weight_fn=int):
            matched.append(edge_of[a, b] if (a, b) in edge_of else edge_of[b, a])
    return np.array(sorted(matched), dtype=np.int64)


def _extended(edges: Edges, matched: np.ndarray, n: int) -> np.ndarray:
    """Numbers of the matched edges and of further edges between free records, greatest gain first."""
    free = np.ones(n, dtype=bool)
    free[edges.one[matched]] = free[edges.other[matched]] = False
    open_edges = np.flatnonzero(free[edges.one] & free[edges.other])
    more = []
    for edge in open_edges[np.argsort(-edges.weight[open_edges], kind="stable")].tolist():
        if free[edges.one[edge]] and free[edges.other[edge]]:
            free[edges.one[edge]] = free[edges.other[edge]] = False
            more.append(edge)
    return np.concatenate([matched, np.array(more, dtype=np.int64)])

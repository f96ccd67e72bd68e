"""Check the proof of a lower bound in plain NumPy, from its definition and not from the search that found it.

Every closed record is checked; the rows listed under them are checked for a sample of closed records. As the
search might have missed some, groups of neighbouring records are checked as well, whatever was found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.errors import InternalError
from kohort.problem.costs import SeparableCost
from kohort.problem.problem import Problem
from kohort.problem.proof import DualProof
from kohort.verification.proof_of_cuts import PricedRows, allowances, what_cuts_take, why_cuts_fail

__all__ = [
    "ROUNDING",
    "SAMPLED_GROUP_CELLS",
    "check_dual_proof",
    "check_supports",
    "excess_of_neighbours",
    "excess_of_sorted",
    "node_costs",
    "portions",
    "refuted",
    "withheld_cost",
]

ROUNDING = 1e-9
_ROWS_AT_A_TIME = 1_000_000  # some hundred bytes each, for a moment
_ORDERS, SAMPLED_GROUP_CELLS = 4, 4_000_000
_SAMPLED_CELLS, _FEWEST_SAMPLED, _MOST_SAMPLED = 20_000_000, 8, 500


def check_dual_proof(problem: Problem, proof: DualProof, bound: float | None) -> float:
    """As much of the bound as the prices prove, in the units of the chosen cost; InternalError if too little.

    O(rows under closed records), and O(rows * log rows) for those whose prices nearly cost too much. Closed
    records that cost more than every price need no check. Prices prove all of a bound, unless it is one that
    integer programming settled: that much of it is HiGHS's word, and is not counted.
    """
    of_nodes = node_costs(problem)
    cost = sum((of_node[nodes] for of_node, nodes in zip(of_nodes, proof.nodes.T)), np.zeros(1))
    prices = proof.prices
    if not (np.isfinite(prices).all() and np.isfinite(cost).all()) or len(prices) != len(problem.rows.counts):
        raise refuted("a price or a cost is not a number")
    check_supports(problem, proof)
    failing = why_cuts_fail(problem, problem.rows, proof)
    if failing is not None:
        raise refuted(failing)
    of_neighbours = excess_of_neighbours(problem, problem.rows, proof, of_nodes, SAMPLED_GROUP_CELLS)
    worst = max(_worst_excess(problem, proof, cost), of_neighbours)
    if worst > ROUNDING * max(float(cost.max()), 1e-300):
        raise refuted("records under some closed record are priced above its cost")
    proven = max(_total(problem, proof), 0.0)  # no cost is negative, whatever the prices
    claimed = 0.0 if bound is None else bound
    if claimed <= proven * (1 + ROUNDING) + ROUNDING:
        return claimed
    if proof.settled is None or not claimed <= proof.settled * (1 + ROUNDING):
        raise refuted("it is above the sum of the prices")
    return proven * (1 - ROUNDING)


def refuted(why: str) -> InternalError:
    return InternalError(
        f"The proof of the lower bound does not hold: {why}. The release was not made. Please report this."
    )


def node_costs(problem: Problem) -> list[np.ndarray]:
    """Per attribute what a record pays for a cell published as each node, weights included."""
    assert isinstance(problem.cost, SeparableCost)
    return [w * problem.cost.cell(a.nodes()) for a, w in zip(problem.attributes, problem.weights)]


def withheld_cost(problem: Problem) -> float:
    """What a withheld record pays: `*` in every column, weights included."""
    assert isinstance(problem.cost, SeparableCost)
    return sum(w * problem.cost.cell(a.star()).item() for a, w in zip(problem.attributes, problem.weights))


def _total(problem: Problem, proof: DualProof) -> float:
    """The sum of all prices, without what cuts take, in the units of the cost.

    Withheld records pay at most what `*` costs.
    """
    of_record = np.sort(np.repeat(proof.prices, problem.rows.counts))
    withheld = of_record[len(of_record) - problem.max_withheld :]
    excess = np.maximum(withheld - withheld_cost(problem), 0.0).sum()
    total = float(of_record.sum() - excess) - what_cuts_take(proof)
    in_cells = problem.cost.name == "suppressions"
    return total * len(problem.attributes) if in_cells else total / problem.n_records


def check_supports(problem: Problem, proof: DualProof) -> None:
    """Check, for a sample of closed records, that the rows listed under them are those they cover."""
    leaves = problem.rows.leaves
    most = int(np.clip(_SAMPLED_CELLS // max(leaves.size, 1), _FEWEST_SAMPLED, _MOST_SAMPLED))
    chosen = np.unique(np.linspace(0, len(proof.nodes) - 1, most).astype(np.int64))
    for number in chosen.tolist():
        under = np.ones(len(leaves), dtype=bool)
        for attribute, node, leaf in zip(problem.attributes, proof.nodes[number], leaves.T):
            tree = attribute.domain
            assert isinstance(tree, Hierarchy)
            under &= (tree.lo[node] <= leaf) & (leaf <= tree.hi[node])
            under &= ~tree.hidden[leaf] | (node == 0)
        said = proof.rows[proof.start[number] : proof.start[number + 1]]
        if not np.array_equal(np.sort(said), np.flatnonzero(under)):
            raise refuted("the rows under a closed record are not those that it covers")


def _worst_excess(problem: Problem, proof: DualProof, cost: np.ndarray) -> float:
    """By how much the prices of a group under a closed record exceed cost and allowance, at most, or 0.

    Counted for each of k records. A group has k records or more: all that are priced above the cost, and the
    highest of the others where these are fewer than k.
    """
    worst, k, allowance = 0.0, problem.k, allowances(proof)
    doubtful = np.flatnonzero(cost < proof.prices.max(initial=-np.inf))
    for chosen in portions(doubtful, np.diff(proof.start)):
        segment, price, copies = _under(proof, chosen, problem.rows.counts)
        level = np.minimum(proof.level[chosen], cost[chosen])
        above = np.bincount(segment, copies * np.maximum(price - level[segment], 0.0), minlength=len(chosen))
        # no less than the true excess, whatever the level: a group of k or more has k times cost - level
        excess = level - cost[chosen] + (above - allowance[chosen]) / k
        unsure = chosen[np.flatnonzero(~(excess <= 0.0))]
        if len(unsure):
            under = _under(proof, unsure, problem.rows.counts)
            exact = (_highest_excess(*under, cost[unsure], k) - allowance[unsure]) / k
            worst = max(worst, float(exact.max()))
    return worst


def excess_of_neighbours(
    problem: Problem,
    table: PricedRows,
    proof: DualProof,
    of_nodes: list[np.ndarray],
    n_cells: int,
    *,
    orders: int = _ORDERS,
    seed: int = 0,
) -> float:
    """By how much the mean price of k records exceeds the cost of publishing them alike, at most, or 0.

    For k records that follow each other when all are sorted by the columns in some order.

    table    the rows that the proof prices
    n_cells  about how many cells of groups are looked at in each order
    orders   how many orders there are, drawn with the seed
    """
    leaves, counts, k = table.leaves, table.counts, problem.k
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(orders):
        order = np.lexsort(leaves[:, rng.permutation(leaves.shape[1])].T)
        records = np.repeat(order, counts[order])
        most = max(n_cells // (k * leaves.shape[1]), 1)
        first = np.arange(0, len(records) - k + 1, -(-len(records) // most))
        groups = records[first[:, None] + np.arange(k)]
        cost = sum(
            (_shared_cell_cost(problem, j, leaves[groups, j], of_node) for j, of_node in enumerate(of_nodes)),
            np.zeros(len(groups)),
        )
        excess = proof.prices[groups].mean(axis=1) - cost
        too_dear = np.flatnonzero(excess > 0.0)
        allowed = _allowed(problem, proof, leaves[groups[too_dear]]) / k
        worst = max(worst, float((excess[too_dear] - allowed).max(initial=0.0)))
    return worst


def _allowed(problem: Problem, proof: DualProof, leaves: np.ndarray) -> np.ndarray:
    """The allowance of groups, given by the leaves of their records: that of the closed record they are."""
    allowance = allowances(proof)
    priced = np.flatnonzero(allowance)
    known = {tuple(nodes): allowance[q] for q, nodes in zip(priced, proof.nodes[priced].tolist())}
    nodes = []
    for attribute, leaf in zip(problem.attributes, np.moveaxis(leaves, 2, 0)):
        tree = attribute.domain
        assert isinstance(tree, Hierarchy)
        shared = tree.node(leaf.min(axis=1), leaf.max(axis=1))
        nodes.append(np.where(tree.hidden[leaf].any(axis=1), 0, shared))
    return np.array([known.get(tuple(group), 0.0) for group in np.array(nodes).T.tolist()])


def _shared_cell_cost(problem: Problem, column: int, leaf: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """What each record of some groups pays in a column; `leaf` has a row of leaves per group."""
    attribute, weight = problem.attributes[column], problem.weights[column]
    tree = attribute.domain
    assert isinstance(tree, Hierarchy) and isinstance(problem.cost, SeparableCost)
    lo, hi = tree.closure(leaf.min(axis=1), leaf.max(axis=1))
    cost = weight * problem.cost.cell(attribute.generalized(lo, hi))
    return np.where(tree.hidden[leaf].any(axis=1), of_node[0], cost)


def portions(records: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Closed records in portions that have some million rows under them."""
    portion = np.cumsum(lengths[records]) // _ROWS_AT_A_TIME
    yield from np.split(records, np.flatnonzero(np.diff(portion)) + 1) if len(records) else ()


def _under(
    proof: DualProof, chosen: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For the rows under some closed records: which one they are under, their prices and their copies."""
    lengths = np.diff(proof.start)[chosen]
    segment = np.repeat(np.arange(len(chosen)), lengths)
    within = np.arange(len(segment)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = proof.rows[np.repeat(proof.start[chosen], lengths) + within]
    return segment, proof.prices[rows], counts[rows]


def _highest_excess(
    segment: np.ndarray, price: np.ndarray, copies: np.ndarray, cost: np.ndarray, k: int
) -> np.ndarray:
    """By how much the prices of a group of k records or more exceed its cost at most, in each segment.

    cost  per segment; a price counts as often as it has copies
    """
    order = np.lexsort((-price, segment))
    return excess_of_sorted(segment[order], price[order], copies[order], cost, k)


def excess_of_sorted(
    segment: np.ndarray, price: np.ndarray, copies: np.ndarray, cost: np.ndarray, k: int
) -> np.ndarray:
    """The same, where segments follow each other and the prices of each fall."""
    before = np.cumsum(copies) - copies
    is_first = np.diff(segment, prepend=-1) > 0
    first = before[is_first][np.cumsum(is_first) - 1]
    taken = np.clip(k - (before - first), 0, copies)
    taken = np.where(price > cost[segment], copies, taken)
    return np.bincount(segment, taken * (price - cost[segment]), minlength=len(cost))

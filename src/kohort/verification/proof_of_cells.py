"""Check the proof of a lower bound that was made cell by cell, one cell after the other, in plain NumPy.

The cells are found again from the hierarchies, and the rows under every closed record from its nodes alone.
As in other proofs, groups of neighbouring records are checked whatever closed records were found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.problem import Problem
from kohort.problem.proof import CellProof, DualProof, PricedCell
from kohort.verification.proof import (
    ROUNDING,
    SAMPLED_GROUP_CELLS,
    excess_of_neighbours,
    excess_of_sorted,
    node_costs,
    refuted,
    withheld_cost,
)
from kohort.verification.proof_of_cuts import allowances, why_cuts_fail

_MOST_BITS = 2**26  # closed records times rows that are looked at together


class _Rows(NamedTuple):
    """The distinct rows of a cell, the dearest first."""

    leaves: np.ndarray
    counts: np.ndarray
    price: np.ndarray


def check_cell_proof(problem: Problem, proof: CellProof, bound: float | None) -> None:
    """Raise InternalError unless the prices prove the bound, given in the units of the chosen cost.

    O(rows under closed records), in the memory of one cell and some bytes for each record of the table.
    """
    of_nodes = node_costs(problem)
    _check_prices(problem, proof, of_nodes)
    _check_cells(problem, proof)
    taken = 0.0
    for number, cell in enumerate(proof.cells):
        table = _rows_of(problem, cell, proof.prices)
        _check_cell(problem, cell, table, of_nodes, seed=number)
        taken += float((cell.cuts.price * cell.cuts.most).sum())
    total = max(float(proof.prices.sum(dtype=np.float64)) - taken, 0.0)
    in_cells = problem.cost.name == "suppressions"
    proven = total * len(problem.attributes) if in_cells else total / problem.n_records
    if not (0.0 if bound is None else bound) <= proven * (1 + ROUNDING) + ROUNDING:
        raise refuted("it is above the sum of the prices")


def _check_prices(problem: Problem, proof: CellProof, of_nodes: list[np.ndarray]) -> None:
    """Check that no price is above the highest one, and that no record across two cells costs less."""
    if len(proof.prices) != problem.n_records or not np.isfinite(proof.prices).all():
        raise refuted("a price is not a number")
    if not proof.columns or not set(proof.columns) <= set(range(len(problem.attributes))):
        raise refuted("its cells are not made of columns of the table")
    across = min(*(float(of_nodes[column][0]) for column in proof.columns), withheld_cost(problem))
    if max(proof.highest, proof.prices.max(initial=0.0)) > across * (1 + ROUNDING):
        raise refuted("a price is above the cost of the root of a column")


def _check_cells(problem: Problem, proof: CellProof) -> None:
    """Check that a proven cell has all its records, and that prices above 0 need a proof or a small cell."""
    cell_of_record = _cell_numbers(problem, proof.columns)
    sizes = np.bincount(cell_of_record + 1)[1:]
    seen = np.zeros(problem.n_records, dtype=bool)
    for cell in proof.cells:
        numbers = cell_of_record[cell.records]
        whole = len(numbers) > 0 and (numbers == numbers[0]).all() and numbers[0] >= 0
        if not whole or sizes[numbers[0]] != len(np.unique(cell.records)) or seen[cell.records].any():
            raise refuted("a cell does not have the records that it should have")
        seen[cell.records] = True
    left = np.flatnonzero(~seen & (cell_of_record >= 0) & (proof.prices > 0.0))
    if (sizes[cell_of_record[left]] >= problem.k).any():
        raise refuted("records of a cell without a proof have prices")


def _cell_numbers(problem: Problem, columns: tuple[int, ...]) -> np.ndarray:
    """A number for the cell of each record; -1 where a value is published as the root whatever happens."""
    number = np.zeros(problem.n_records, dtype=np.int64)
    for column in columns:
        attribute = problem.attributes[column]
        tree = attribute.domain
        assert isinstance(tree, Hierarchy)
        child = np.full(len(tree.leaf_node), -1, dtype=np.int64)
        children = tree.children(0)
        for place, node in enumerate(children.tolist()):
            child[tree.lo[node] : tree.hi[node] + 1] = place
        child[tree.hidden] = -1
        of_record = child[attribute.leaf_of_code[attribute.column.at(slice(None))]]
        number = np.where((number < 0) | (of_record < 0), -1, number * max(len(children), 1) + of_record)
        is_there = np.bincount(number + 1) > 0
        is_there[0] = False
        number = np.append(-1, np.cumsum(is_there[1:]) - 1)[number + 1]
    return number


def _rows_of(problem: Problem, cell: PricedCell, prices: np.ndarray) -> _Rows:
    """The distinct rows of a cell; refuted where equal records have different prices."""
    leaves = np.column_stack([a.leaf_of_code[a.column.at(cell.records)] for a in problem.attributes])
    order = np.lexsort(leaves.T)
    leaves, price = leaves[order], prices[cell.records[order]].astype(np.float64)
    first = np.flatnonzero(np.append(True, (leaves[1:] != leaves[:-1]).any(axis=1)))
    if (np.minimum.reduceat(price, first) != np.maximum.reduceat(price, first)).any():
        raise refuted("equal records have different prices")
    counts = np.diff(first, append=len(leaves))
    dearest = np.argsort(-price[first], kind="stable")
    return _Rows(leaves[first][dearest], counts[dearest], price[first][dearest])


def _check_cell(
    problem: Problem, cell: PricedCell, table: _Rows, of_nodes: list[np.ndarray], *, seed: int
) -> None:
    nodes = cell.nodes()
    if len(nodes) and not all(n.min() >= 0 and n.max() < len(costs) for n, costs in zip(nodes.T, of_nodes)):
        raise refuted("a closed record has a node that is none")
    nothing = np.zeros(0, dtype=np.int64)
    proof = DualProof(table.price, nodes, nothing, nothing, nothing, cuts=cell.cuts)
    failing = why_cuts_fail(problem, table, proof)
    if failing is not None:
        raise refuted(failing)
    sampled = SAMPLED_GROUP_CELLS * len(cell.records) // problem.n_records
    worst = max(
        _worst_excess(problem, proof, table, of_nodes),
        excess_of_neighbours(problem, table, proof, of_nodes, sampled, orders=1, seed=seed),
    )
    if worst > ROUNDING * withheld_cost(problem):
        raise refuted("records under some closed record are priced above its cost")


def _worst_excess(problem: Problem, proof: DualProof, table: _Rows, of_nodes: list[np.ndarray]) -> float:
    """By how much the prices of a group under a closed record exceed cost and allowance, at most, or 0.

    Counted for each of k records.
    """
    cost = sum((of_node[nodes] for of_node, nodes in zip(of_nodes, proof.nodes.T)), np.zeros(1))
    allowance, k, worst = allowances(proof), problem.k, 0.0
    trees = [a.domain for a in problem.attributes if isinstance(a.domain, Hierarchy)]
    doubtful = np.flatnonzero(cost < table.price.max(initial=0.0))
    for chosen, segment, row in _rows_under(
        trees, proof.nodes, table.leaves, doubtful, np.arange(len(table.counts))
    ):
        excess = excess_of_sorted(segment, table.price[row], table.counts[row], cost[chosen], k)
        worst = max(worst, float((excess - allowance[chosen]).max(initial=0.0)) / k)
    return worst


def _rows_under(
    trees: list[Hierarchy], nodes: np.ndarray, leaves: np.ndarray, records: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Closed records in portions, with the rows under them: per row its place in the portion and its number.

    Where there are many, they are parted by their nodes in the column with the most different ones: so only
    rows under such a node are compared with the closed records that have it.
    """
    if len(records) * len(rows) <= _MOST_BITS:
        yield (records, *_compared(trees, nodes[records], leaves[rows], rows))
        return
    different = [_different(tree, column) for tree, column in zip(trees, nodes[records].T)]
    most = max(range(len(different)), key=lambda column: len(different[column]))
    if len(different[most]) == 1:  # then it is the same closed record again and again
        for record in records:
            yield (np.array([record]), *_compared(trees, nodes[[record]], leaves[rows], rows))
        return
    for node in different[most].tolist():
        with_node = records[nodes[records, most] == node]
        under = _is_under(trees[most], np.array([node]), leaves[rows, most])[0]
        yield from _rows_under(trees, nodes, leaves, with_node, rows[under])


def _compared(
    trees: list[Hierarchy], nodes: np.ndarray, leaves: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The rows under some closed records: the place of the closed record, and the number of the row."""
    width = -(-len(leaves) // 8)
    packed = np.full((len(nodes), width), 255, dtype=np.uint8)
    for tree, column, leaf in zip(trees, nodes.T, leaves.T):
        different = _different(tree, column)
        place = np.zeros(len(tree.label), dtype=np.int32)
        place[different] = np.arange(len(different))
        packed &= np.packbits(_is_under(tree, different, leaf), axis=1)[place[column]]
    byte = np.flatnonzero(packed)
    bit = np.flatnonzero(np.unpackbits(packed.ravel()[byte]))
    byte = byte[bit >> 3]
    place = byte // width
    return place, rows[(byte - place * width) * 8 + (bit & 7)]


def _different(tree: Hierarchy, nodes: np.ndarray) -> np.ndarray:
    """The different ones of some nodes, ascending."""
    return np.flatnonzero(np.bincount(nodes, minlength=len(tree.label)))


def _is_under(tree: Hierarchy, nodes: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Nodes by rows: whether the row's leaf is under the node. A hidden value is under the root alone."""
    within = (tree.lo[nodes][:, None] <= leaf) & (leaf <= tree.hi[nodes][:, None])
    return within & (~tree.hidden[leaf] | (nodes == 0)[:, None])

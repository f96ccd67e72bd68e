"""Check prices that no box of k or more records can pay: tight labels, free intervals, and nodes beside them.

All boxes are gone through again, by code of its own (`box_check`). What cells cost is taken from the problem,
not from the tables that the search used.
"""

from __future__ import annotations

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.errors import InternalError
from kohort.problem.attribute import Attribute
from kohort.problem.costs import SeparableCost
from kohort.problem.problem import Problem
from kohort.problem.proof import BoxProof
from kohort.verification.box_check import BoxColumns, prices_hold

_ROUNDING = 1e-9
_STEPS = (0.5, 0.25, 0.125, 0.0625)  # from the share of all prices that is proven to the next that is tried
_WORK, _WORK_PER_ROW = 20_000_000, 1_600_000  # that may be done for each share


def check_box_proof(problem: Problem, proof: BoxProof, bound: float) -> float:
    """As much of the bound as was proven again, in the units of the cost.

    InternalError if the prices do not hold. Exhaustive: the work grows with the number of boxes that cost
    about as much as their records are priced, and that is exponential in the columns. Where it is too much,
    a share of all prices is proven instead: the lower prices are, the less work it takes.
    """
    prices = proof.prices
    if not np.isfinite(prices).all() or len(prices) != len(problem.rows.counts):
        raise refuted("a price is not a number")
    if not bound <= _total(problem, prices) * (1 + _ROUNDING) + _ROUNDING:
        raise refuted("it is above the sum of the prices")
    share = _proven_share(problem, prices)
    return bound if share == 1.0 else min(bound, _total(problem, share * prices))


def refuted(why: str) -> InternalError:
    return InternalError(
        f"The proof of the lower bound does not hold: {why}. The release was not made. Please report this."
    )


def withheld_cost(problem: Problem) -> float:
    """What a withheld record pays: `*` in every column, weights included."""
    assert isinstance(problem.cost, SeparableCost)
    return sum(w * problem.cost.cell(a.star()).item() for a, w in zip(problem.attributes, problem.weights))


def _proven_share(problem: Problem, prices: np.ndarray) -> float:
    """The greatest share of all prices that can be proven with limited work: 1, 0.5 or more, or 0."""
    order = np.argsort(-prices, kind="stable")
    columns, values = _columns(problem), _values(problem)[order]
    copies, prices = problem.rows.counts[order].astype(np.int64), prices[order]
    limit = _WORK + _WORK_PER_ROW * len(prices)

    def holds(share: float) -> bool:
        found = prices_hold(columns, values, copies, share * prices, problem.k, limit)
        if found is False:
            raise refuted("some records are priced above the cost of their box")
        return bool(found)

    if holds(1.0):
        return 1.0
    proven = 0.0
    for step in _STEPS:
        if holds(proven + step):
            proven += step
        elif not proven:
            break
    return proven


def _total(problem: Problem, prices: np.ndarray) -> float:
    """The sum of all prices, in the units of the cost. Withheld records pay at most what `*` costs."""
    of_record = np.sort(np.repeat(prices, problem.rows.counts))
    withheld = of_record[len(of_record) - problem.max_withheld :]
    total = float(of_record.sum() - np.maximum(withheld - withheld_cost(problem), 0.0).sum())
    in_cells = problem.cost.name == "suppressions"
    return max(total, 0.0) * len(problem.attributes) if in_cells else max(total, 0.0) / problem.n_records


def _values(problem: Problem) -> np.ndarray:
    """The value of each cell as a number, distinct rows by columns; intervals are in the order of numbers."""
    first = np.zeros(len(problem.rows.counts), dtype=np.int64)
    first[problem.rows.of_record] = np.arange(problem.n_records)
    found = []
    for attribute in problem.attributes:
        codes = attribute.column.codes[first]
        found.append(codes if attribute.tight else attribute.leaf_of_code[codes])
    return np.array(found, dtype=np.int32).T.copy()


def _columns(problem: Problem) -> BoxColumns:
    """What cells cost, by column."""
    of_nodes = _tree_costs(problem)
    n_values = [_n_values(attribute) for attribute in problem.attributes]
    lines = [problem.cost.line(n) for n in n_values]
    weights = problem.weights
    starts = np.cumsum([0, *(matrix.size for matrix in of_nodes)])
    loners = [n - a.column.loners for n, a in zip(n_values, problem.attributes)]
    is_tree = np.array([matrix.size > 0 for matrix in of_nodes])
    return BoxColumns(
        n_values=np.array(n_values),
        is_tree=is_tree,
        is_set=np.array([a.tight and not a.column.ordered for a in problem.attributes]) & ~is_tree,
        loners=np.where(is_tree, n_values, loners).astype(np.int64),
        base=np.array([w * line.base if line else 0.0 for w, line in zip(weights, lines)]),
        step=np.array([w * line.slope if line else 0.0 for w, line in zip(weights, lines)]),
        whole=np.array([m.max(initial=0.0) if m.size else w for m, w in zip(of_nodes, weights)]),
        pair_start=starts[:-1],
        pair=np.concatenate([matrix.ravel() for matrix in of_nodes]),
    )


def _n_values(attribute: Attribute) -> int:
    return len(attribute.column.texts) if _is_free(attribute) else attribute.n_leaves


def _is_free(attribute: Attribute) -> bool:
    """Whether cells are intervals or sets, not nodes of a hierarchy."""
    return attribute.tight or not isinstance(attribute.domain, Hierarchy)


def _tree_costs(problem: Problem) -> list[np.ndarray]:
    """Per column with a hierarchy what the lowest node over each pair of leaves costs; else nothing."""
    found = []
    for attribute, weight in zip(problem.attributes, problem.weights):
        if _is_free(attribute):
            found.append(np.zeros((0, 0)))
            continue
        tree = attribute.domain
        assert isinstance(tree, Hierarchy)
        of_node = weight * problem.cost.cell(attribute.nodes())  # type: ignore[attr-defined]
        lo, hi = np.triu_indices(attribute.n_leaves)
        cost = np.where(tree.hidden[lo] | tree.hidden[hi], of_node[0], of_node[tree.node(lo, hi)])
        matrix = np.zeros((attribute.n_leaves,) * 2)
        matrix[lo, hi] = matrix[hi, lo] = cost
        found.append(matrix)
    return found

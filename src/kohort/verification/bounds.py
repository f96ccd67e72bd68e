"""Lower bounds checked by `kohort_check`: a problem and a proof in its terms, in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.errors import InternalError
from kohort.problem.attribute import Attribute
from kohort.problem.costs import SeparableCost
from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, KAnonymity, LDiversity, Model, TCloseness
from kohort.problem.proof import BoxProof, PriceProof, Proof
from kohort.verification.box_check import BoxColumns, prices_hold
from kohort_check import COSTS, UNIT, Claim, Column, Cut, Kept, Prices, Refused, Tree

_ROUNDED = 1e-8  # what whole numbers may take of a bound, at most: to notice a search that claims more


def check_proof(problem: Problem, proof: Proof, bound: float | None) -> float:
    """As much of a bound as its proof is seen to prove, in the units of the chosen cost.

    InternalError where it proves nothing. Less than all of it: of a bound over boxes, which may be too many,
    of one that a solver settled, and by what rounding prices to whole numbers takes.

    bound  None: nothing is claimed
    """
    if bound is None:
        return 0.0
    if isinstance(proof, BoxProof):
        return check_box_proof(problem, proof, bound)
    try:
        proven = exact_claim(problem).bound(
            cells_of(problem), labels_of(problem, proof.model), exact_prices(proof)
        )
    except Refused as why:
        raise refuted(str(why)) from why
    checked = rounded_down(proven)
    if bound > checked + _ROUNDED * (1 + checked) and (proof.settled is None or bound > proof.settled):
        raise refuted("it is above the sum of the prices")
    return min(bound, checked)


def can_check(problem: Problem, proof: Proof) -> bool:
    """Whether the checker has a definition of the cost, which it has not of one of the user's own."""
    return isinstance(proof, BoxProof) or problem.cost.name in COSTS


def rounded_down(number: Fraction) -> float:
    """The greatest float that is not above a number."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else float(np.nextafter(nearest, -np.inf))


def exact_claim(problem: Problem) -> Claim:
    """What a bound on the cost of a problem is about."""
    columns = [
        Column(a.name, _tree(a), _hierarchy(a).published, Fraction(a.weight)) for a in problem.attributes
    ]
    k = max((model.k for model in problem.models if isinstance(model, KAnonymity)), default=1)
    return Claim(columns, problem.cost.name, k, problem.max_withheld)


def cells_of(problem: Problem) -> np.ndarray:
    """Records by attributes: the node of each value."""
    return np.column_stack([_hierarchy(a).leaf_node[a.leaves] for a in problem.attributes])


def labels_of(problem: Problem, model: Model | None) -> np.ndarray:
    """The class of each record's sensitive value; -1 where the model does not limit it."""
    if model is None:
        return np.zeros(problem.n_records, dtype=np.int64)
    assert model.attribute is not None
    sensitive = problem.sensitive[model.attribute]
    codes = sensitive.column.codes.astype(np.int64)
    if not isinstance(model, AlphaDeassociation) or model.values is None:
        return codes
    listed = np.isin(codes, sensitive.context.codes(model.values))
    return np.where(listed, 0 if model.combine else codes, -1)


def exact_prices(proof: PriceProof) -> Prices:
    """The prices of a proof in units, lowered by what rounding may have raised them above costs."""
    if not (np.isfinite(proof.prices).all() and np.isfinite(proof.cuts.price).all()):
        raise Refused("a price is not a number")
    if len(proof.cuts.members) and not 0 <= proof.cuts.members.min() <= proof.cuts.members.max() < len(
        proof.nodes
    ):
        raise Refused("a cut has a member that is no closed record")
    lost = proof.nodes.shape[1] + 1  # costs are rounded down in each column, prices once
    price = np.floor(proof.prices * UNIT).astype(np.int64) - lost
    cuts = [
        Cut(proof.nodes[members], int(most), int(np.ceil(paid * UNIT)))
        for members, most, paid in zip(
            np.split(proof.cuts.members, proof.cuts.start[1:-1]), proof.cuts.most, proof.cuts.price
        )
    ]
    charges = {}
    if proof.charge is not None:
        in_units = np.floor(np.maximum(proof.charge, 0.0) * UNIT).astype(np.int64)
        charges = dict(zip(map(tuple, proof.nodes.tolist()), in_units))
        price -= 2  # charges are rounded, too
    promise = None if proof.model is None else kept_by(proof.model).promise
    return Prices(price[proof.unit_of_record], cuts, promise, charges, proof.order)


def kept_by(model: Model) -> Kept:
    """A privacy model besides k as the checker knows it; Refused if it does not."""
    name = model.attribute or ""
    if isinstance(model, TCloseness) and model.distance == "equal":
        return Kept("close", model.asked, name)
    if isinstance(model, AlphaDeassociation) and model.rounding == "none":
        values = None if model.values is None else ["" if value is None else value for value in model.values]
        return Kept("share", model.asked, name, values, combine=values is not None and model.combine)
    if isinstance(model, LDiversity):
        number = 1 / model.exact_l if model.kind == "frequency" else model.asked
        kind = "share" if model.kind == "frequency" else model.kind
        return Kept(kind, number, name, least=int(model.exact_l))
    raise Refused(f"the checker of proofs knows no rule for {model.name} of this kind")


def _tree(attribute: Attribute) -> Tree:
    hierarchy = _hierarchy(attribute)
    hidden = np.zeros(len(hierarchy.parent), dtype=bool)
    hidden[hierarchy.leaf_node] = hierarchy.hidden
    return Tree(hierarchy.parent.astype(np.int64), hidden)


def _hierarchy(attribute: Attribute) -> Hierarchy:
    if not isinstance(attribute.domain, Hierarchy) or attribute.tight:
        raise Refused("a column is not published as nodes of a hierarchy")
    return attribute.domain


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

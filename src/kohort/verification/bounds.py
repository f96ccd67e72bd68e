"""Lower bounds checked by `kohort_check`: a problem and a proof in its terms, in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, KAnonymity, LDiversity, Model, TCloseness
from kohort.problem.proof import BoxProof, PriceProof, Proof
from kohort.verification.proof_of_boxes import check_box_proof, refuted
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

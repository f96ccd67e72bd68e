"""Check the proof of a lower bound under a privacy model, in plain NumPy and from the model's definition.

For every closed record and every size of a group, the dearest records that the model lets a group of that
size have are added up. Sizes that `group_limits` leaves out need no check: such a group can be split into
two valid ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kohort.problem.costs import SeparableCost
from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, LDiversity, Model, TCloseness
from kohort.problem.proof import BoxProof, CellProof, ModelProof, Proof
from kohort.verification.group_limits import greatest_share, limited_sizes
from kohort.verification.proof import (
    check_dual_proof,
    check_supports,
    node_costs,
    portions,
    refuted,
    withheld_cost,
)
from kohort.verification.proof_of_boxes import check_box_proof
from kohort.verification.proof_of_cells import check_cell_proof

_ROUNDING = 1e-9


def check_proof(problem: Problem, proof: Proof, bound: float | None) -> float:
    """As much of a bound as its prices are seen to prove, in the units of the chosen cost.

    All of it, else InternalError; but less of a bound over boxes, which may be too many to try, and of one
    that a solver settled.

    bound  None: nothing is claimed
    """
    claimed = 0.0 if bound is None else bound
    if isinstance(proof, BoxProof):
        return check_box_proof(problem, proof, claimed)
    if isinstance(proof, CellProof):
        check_cell_proof(problem, proof, claimed)
    elif isinstance(proof, ModelProof):
        _check_model_proof(problem, proof, claimed)
    else:
        return check_dual_proof(problem, proof, claimed)
    return claimed


def _check_model_proof(problem: Problem, proof: ModelProof, bound: float) -> None:
    """Raise InternalError unless the prices prove the bound."""
    cost = sum((of_node[nodes] for of_node, nodes in zip(node_costs(problem), proof.nodes.T)), np.zeros(1))
    if not (np.isfinite(proof.prices).all() and np.isfinite(cost).all()):
        raise refuted("a price or a cost is not a number")
    units = _priced_units(problem, proof)
    check_supports(problem, proof)
    close = isinstance(units.model, TCloseness)
    worst = _worst_close_excess(problem, units, proof, cost) if close else _worst_excess(units, proof, cost)
    if worst > _ROUNDING * max(float(cost.max()), 1e-300):
        raise refuted("records under some closed record are priced above its cost")
    proven = max(_total(problem, proof.prices[proof.unit_of_record]), 0.0)
    if not bound <= proven * (1 + _ROUNDING) + _ROUNDING:
        raise refuted("it is above the sum of the prices")


class _Units(NamedTuple):
    """Records that have their row and the class of their sensitive value in common, sorted by row."""

    start: np.ndarray  # per distinct row and one more: its units
    price: np.ndarray
    copies: np.ndarray
    label: np.ndarray  # the class of the sensitive value; -1: one that the model does not limit
    model: Model
    k: int
    limits: list[tuple[int, int]]  # sizes of groups, and how many records can have the same label


def _priced_units(problem: Problem, proof: ModelProof) -> _Units:
    """The units of the proof; refuted where a unit has records that differ in their row or their class."""
    model = next(m for m in _supported(problem) if m is not None)
    label, unit = _labels(problem, model), proof.unit_of_record
    if problem.persons is not None or len(unit) != problem.n_records:
        raise refuted("its prices are not those of the records")
    _, first, copies = np.unique(unit, return_index=True, return_counts=True)
    row = problem.rows.of_record[first]
    alike = (row[unit] == problem.rows.of_record) & (label[first][unit] == label)
    if len(first) != len(proof.prices) or not alike.all() or (np.diff(row) < 0).any():
        raise refuted("records that differ share a price")
    start = np.searchsorted(row, np.arange(len(problem.rows.counts) + 1))
    return _Units(start, proof.prices, copies, label[first], model, problem.k, limited_sizes(problem, model))


def _supported(problem: Problem) -> Iterator[Model]:
    """The models that prices may be computed for: t-closeness, those that limit shares, entropy, distinct."""
    if not problem.max_withheld:
        yield from (m for m in problem.models if isinstance(m, TCloseness) and m.distance == "equal")
    yield from (m for m in problem.models if greatest_share(m) is not None)
    for kind in ("entropy", "distinct"):
        yield from (m for m in problem.models if isinstance(m, LDiversity) and m.kind == kind)
    raise refuted("no privacy model has prices like these")


def _labels(problem: Problem, model: Model) -> np.ndarray:
    """The class of each record's sensitive value; -1 where the model does not limit it."""
    assert model.attribute is not None
    sensitive = problem.sensitive[model.attribute]
    codes = sensitive.column.codes.astype(np.int64)
    if not isinstance(model, AlphaDeassociation) or model.values is None:
        return codes
    listed = np.isin(codes, sensitive.context.codes(model.values))
    return np.where(listed, 0 if model.combine else codes, -1)


def _total(problem: Problem, of_record: np.ndarray) -> float:
    """The sum of all prices, where withheld records pay at most what `*` costs, in the units of the cost."""
    assert isinstance(problem.cost, SeparableCost)
    withheld = np.sort(of_record)[problem.n_records - problem.max_withheld :]
    total = float(of_record.sum() - np.maximum(withheld - withheld_cost(problem), 0.0).sum())
    in_cells = problem.cost.name == "suppressions"
    return total * len(problem.attributes) if in_cells else total / problem.n_records


def _worst_excess(units: _Units, proof: ModelProof, cost: np.ndarray) -> float:
    """The greatest excess of the prices of a valid group over its cost, per record, or 0."""
    highest = np.maximum.reduceat(units.price, units.start[:-1])
    worst = 0.0
    for chosen in portions(_doubtful(units, proof, cost), np.diff(proof.start)):
        lowest = np.minimum(proof.level[chosen], cost[chosen])
        excess = _excesses(units, proof, chosen, cost[chosen], lowest, highest)
        unsure = np.flatnonzero(np.isnan(excess))
        if len(unsure):
            again, everything = chosen[unsure], np.full(len(unsure), -np.inf)
            excess[unsure] = _excesses(units, proof, again, cost[again], everything, highest)
        worst = max(worst, float(np.nan_to_num(excess, nan=-np.inf).max()))
    return worst


def _doubtful(units: _Units, proof: ModelProof, cost: np.ndarray) -> np.ndarray:
    """The closed records that some record under them is priced above: the others can pay for any group."""
    highest = np.maximum.reduceat(units.price, units.start[:-1])
    return np.flatnonzero(cost < np.maximum.reduceat(highest[proof.rows], proof.start[:-1]))


def _excesses(
    units: _Units,
    proof: ModelProof,
    chosen: np.ndarray,
    cost: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
) -> np.ndarray:
    """Per closed record the greatest excess per record; NaN where those priced at `lowest` are too few."""
    segment, unit = _dear_units(units, proof, chosen, lowest, highest)
    order = np.lexsort((-units.price[unit], segment))
    dear = _Dear(
        segment[order], units.price[unit][order], units.copies[unit][order], units.label[unit][order]
    )
    if isinstance(units.model, LDiversity) and units.model.kind == "distinct":
        return _excess_of_distinct(dear, cost, units)
    excess = np.full(len(chosen), -np.inf)
    for size, cap in units.limits:
        total, taken = _dearest(dear, len(chosen), size, cap)
        enough = np.where(taken == size, total / size - cost, np.where(lowest > -np.inf, np.nan, -np.inf))
        excess = np.maximum(excess, enough)
    return excess


class _Dear(NamedTuple):
    """Units under some closed records, by closed record (segment), the dearest first."""

    segment: np.ndarray
    price: np.ndarray
    copies: np.ndarray
    label: np.ndarray


def _dear_units(
    units: _Units, proof: ModelProof, chosen: np.ndarray, lowest: np.ndarray, highest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The units under some closed records that are priced at `lowest` or more, and the one they are under."""
    segment, place = _spread(proof.start, chosen)
    rows = proof.rows[place]
    dear = highest[rows] >= lowest[segment]
    of_row, unit = _spread(units.start, rows[dear])
    segment = segment[dear][of_row]
    dear = units.price[unit] >= lowest[segment]
    return segment[dear], unit[dear]


def _spread(start: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The members of some runs, from start[i] to start[i + 1], one after the other, and whose they are."""
    lengths = start[chosen + 1] - start[chosen]
    owner = np.repeat(np.arange(len(chosen)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return owner, np.repeat(start[chosen], lengths) + within


def _dearest(dear: _Dear, n_segments: int, size: int, cap: int) -> tuple[np.ndarray, np.ndarray]:
    """The sum of the `size` dearest records, at most `cap` of a class, and how many there are."""
    earlier = _before(dear.segment * (int(dear.label.max(initial=0)) + 2) + dear.label + 1, dear.copies)
    allowed = np.where(dear.label < 0, dear.copies, np.clip(cap - earlier, 0, dear.copies))
    taken = np.clip(size - _before(dear.segment, allowed), 0, allowed)
    total = np.bincount(dear.segment, taken * dear.price, minlength=n_segments)
    return total, np.bincount(dear.segment, taken, minlength=n_segments)


def _before(key: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """For each element the sum of the amounts of earlier elements with the same key."""
    order = np.argsort(key, kind="stable")
    summed = np.cumsum(amount[order]) - amount[order]
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    lengths = np.diff(np.append(first, len(key)))
    before = np.empty_like(summed)
    before[order] = summed - np.repeat(summed[first], lengths)
    return before


def _excess_of_distinct(dear: _Dear, cost: np.ndarray, units: _Units) -> np.ndarray:
    """As `_excesses`, of groups with at least l different values: one each of the l dearest, then any."""
    assert isinstance(units.model, LDiversity)
    least, n_segments = math.ceil(units.model.exact_l), len(cost)
    earlier = _before(dear.segment * (int(dear.label.max(initial=0)) + 1) + dear.label, dear.copies)
    leads = (earlier == 0).astype(np.int64)
    chosen = leads * (_before(dear.segment, leads) < least)
    rest = dear.copies - chosen
    above = np.bincount(dear.segment, rest * (dear.price > cost[dear.segment]), minlength=n_segments)
    wanted = np.maximum(above, max(units.k - least, 0))
    taken = chosen + np.clip(wanted[dear.segment] - _before(dear.segment, rest), 0, rest)
    number = np.bincount(dear.segment, taken, minlength=n_segments)
    total = np.bincount(dear.segment, taken * dear.price, minlength=n_segments)
    enough = (np.bincount(dear.segment, chosen, minlength=n_segments) == least) & (number >= units.k)
    return np.where(enough, total / np.maximum(number, 1) - cost, np.nan)


def _worst_close_excess(problem: Problem, units: _Units, proof: ModelProof, cost: np.ndarray) -> float:
    """As `_worst_excess` under t-closeness, by the charges of the proof.

    For numbers u >= 0, every record of value v is charged t * max(u) + sum(q * u) - u_v besides its price,
    where q are the shares in the table. In a valid group this adds up to 0 or more. So if the dearest records
    with charges, as few as a valid group may have, cannot pay, no valid group can.
    """
    assert isinstance(units.model, TCloseness)
    overall = np.bincount(_labels(problem, units.model))
    share, t = overall / overall.sum(), float(units.model.asked)
    size = _least_close_size(overall, units.model.asked, units.k)
    if proof.charge is None or proof.charge.shape != (len(cost), len(share)):
        raise refuted("it has no charges per closed record and value")
    charge = np.maximum(proof.charge, 0.0)
    worst = 0.0
    for chosen in portions(_doubtful(units, proof, cost), np.diff(proof.start)):
        u = charge[chosen]
        extra = (t * u.max(axis=1) + u @ share)[:, None] - u
        rows_of, place = _spread(proof.start, chosen)
        of_row, unit = _spread(units.start, proof.rows[place])
        segment = rows_of[of_row]
        price = units.price[unit] + extra[segment, units.label[unit]]
        copies = units.copies[unit]
        level = np.where(np.isfinite(proof.level[chosen]), proof.level[chosen], cost[chosen])
        above = np.bincount(segment, copies * np.maximum(price - level[segment], 0.0), minlength=len(chosen))
        excess = level + above / size - cost[chosen]
        having = np.bincount(segment * len(share) + units.label[unit], copies, len(chosen) * len(share))
        lacking = np.maximum(share * size - having.reshape(len(chosen), -1), 0.0).sum(axis=1)
        possible = lacking <= t * size * (1 + _ROUNDING)  # there are enough records of every value
        for doubtful in np.flatnonzero(possible & ~(excess <= 0.0)).tolist():
            mine = slice(*np.searchsorted(segment, (doubtful, doubtful + 1)))
            mean = _dearest_mean(price[mine], copies[mine], size)
            worst = max(worst, mean - float(cost[chosen[doubtful]]))
    return worst


def _least_close_size(overall: np.ndarray, t: Fraction, k: int) -> int:
    """The least size, k or more, of a group that whole numbers of records can bring within t of the table."""
    total = int(overall.sum())
    for size in range(k, total):
        exact = [Fraction(int(n) * size, total) for n in overall]
        rest = sorted(math.floor(x) + 1 - x for x in exact)
        beyond = size - sum(math.floor(x) for x in exact)
        if sum(rest[:beyond], Fraction(0)) <= t * size:
            return size
    return max(total, k)


def _dearest_mean(price: np.ndarray, copies: np.ndarray, size: int) -> float:
    """The mean of the `size` highest prices; -inf if there are fewer records."""
    order = np.argsort(-price)
    taken = np.clip(size - (np.cumsum(copies[order]) - copies[order]), 0, copies[order])
    return float((taken * price[order]).sum() / size) if taken.sum() == size else -math.inf

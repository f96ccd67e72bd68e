"""A privacy model as cases that prices can be computed for: so many records, at most so many of each value.

**Shares** (frequency l-diversity, alpha): a listed value, or the listed values together, make up at most the
share alpha = a / b of a group. Its cases are: at most m records of each listed value, and at least
max(k, ceil(m / alpha)) records in all, for m = 0, 1, 2, ... A group that satisfies the model satisfies the
case of m = the greatest of its counts or floor(alpha * k), whichever is more. Few cases are enough: with
m1 = a * ceil(k / b) and any m2 >= alpha * k, a group that satisfies the case of m = m1 + m2 can be split into
two that satisfy those of m1 and m2, and if neither part can pay its prices, nor can the group.

*Proof.* Let the group have s >= m / alpha records, c_v of value v. Since min(c_v, m1) >= c_v * m1 / m, the
sum of min(c_v, m1) (all c_v of the values without a cap) is at least s * m1 / m >= m1 / alpha, which is at
least k and a whole number; call it K1. In the same way the sum of min(c_v, m2) is at least
K2 = ceil(m2 / alpha) >= k. And K1 + K2 = ceil(m / alpha) <= s. So there is a number s1 from K1 to s - K2 that
is at most the sum of min(c_v, m1), and at least s minus the sum of min(c_v, m2): choose s1 records, at most
m1 of each listed value, leaving at most m2. Both parts satisfy their cases.

**Distinct values**: one case: at least max(k, l) records and l values. No greater size needs to be looked at:
beyond it, a best group only takes records that raise its mean.

**Entropy** l-diversity: in a group of s records, a value that c records have leaves at most the entropy of c
and s - c, these spread evenly over all other values of the table. So c is at most some number, which is the
cap of a case of its own for each size up to a few times k; groups beyond are only known to be that large.

**t-closeness** (equal distance): see `kernels.closeness_prices`. No group has fewer records than the least
size for which whole numbers of records can be near enough to the shares of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log

import numpy as np

from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, LDiversity, Model, TCloseness

_MOST_CASES = 64  # more are merged
_NO_CAP = 2**40
_LARGEST = 3  # times k or l: the size from which groups of entropy l-diversity have no cap
_FEW_CASES = 16  # of entropy
_NEAR = 1e-9  # entropies that are less by so little count as enough


@dataclass(frozen=True, eq=False)
class PricedRule:
    """The cases of a privacy model. Records are told apart by class: their value, or whether it is listed.

    model            the privacy model
    class_of_record  from 0; the last class has no cap
    caps, sizes      per case: at most `cap` records of a class, at least `size` records
    """

    model: Model
    class_of_record: np.ndarray
    n_classes: int
    caps: np.ndarray
    sizes: np.ndarray
    least_distinct: int = 0


@dataclass(frozen=True, eq=False)
class CloseRule:
    """t-closeness: values may exceed their share in the table by at most t in all.

    share  per value: its share in the table
    size   the least size of a valid group
    """

    model: Model
    class_of_record: np.ndarray
    n_classes: int
    share: np.ndarray
    t: float
    size: int


def priced_rule(problem: Problem) -> PricedRule | CloseRule | None:
    """The rule that prices are computed for, besides k; None where no model has one.

    Any one of the models gives a lower bound: the first t-closeness, else the first that limits shares, else
    the first about entropy, else the first about distinct values. None where people have several records:
    then the models do not count records. t-closeness is left out where records may be withheld, which changes
    the shares.
    """
    if problem.units.several:
        return None
    close = [m for m in problem.models if isinstance(m, TCloseness) and m.distance == "equal"]
    if close and not problem.max_withheld:
        return _close_rule(problem, close[0])
    models = sorted(problem.models, key=_preference)
    rules = (_rule(problem, model) for model in models)
    return next((rule for rule in rules if rule is not None), None)


def _close_rule(problem: Problem, model: TCloseness) -> CloseRule:
    sensitive = problem.sensitive[model.attribute]
    counts = sensitive.column.counts.astype(np.int64)
    share, size = counts / problem.n_records, problem.k
    while _least_excess(counts, size) > model.asked * size:
        size += 1
    return CloseRule(
        model, sensitive.column.codes.astype(np.int64), sensitive.n_values, share, float(model.asked), size
    )


def _least_excess(counts: np.ndarray, size: int) -> Fraction:
    """The least sum of max(0, c_v - q_v * size) over all whole numbers c_v that add up to the size."""
    n = int(counts.sum())
    parts = [divmod(int(count) * size, n) for count in counts]
    left = size - sum(whole for whole, _ in parts)
    nearest = sorted((rest for _, rest in parts), reverse=True)[:left]
    return Fraction(sum(n - rest for rest in nearest), n)


def _share(model: Model) -> Fraction | None:
    """The greatest share of listed values in a group; None for a model of another kind."""
    if isinstance(model, LDiversity) and model.kind == "frequency":
        return 1 / model.exact_l
    if isinstance(model, AlphaDeassociation) and model.rounding == "none":
        return model.asked
    return None


def _preference(model: Model) -> int:
    return 0 if _share(model) is not None else 1 if _is_about_entropy(model) else 2


def _is_about_entropy(model: Model) -> bool:
    return isinstance(model, LDiversity) and model.kind == "entropy"


def _rule(problem: Problem, model: Model) -> PricedRule | None:
    if not model.attribute:
        return None
    sensitive, share = problem.sensitive[model.attribute], _share(model)
    codes, n_values = sensitive.column.codes.astype(np.int64), sensitive.n_values
    if isinstance(model, LDiversity) and model.kind == "distinct":
        l = ceil(model.exact_l)  # noqa: E741
        sizes = np.array([max(problem.k, l)])
        return PricedRule(model, codes, n_values + 1, np.array([_NO_CAP]), sizes, least_distinct=l)
    if isinstance(model, LDiversity) and model.kind == "entropy":
        return PricedRule(
            model, codes, n_values + 1, *_cases_of_entropy(float(model.exact_l), n_values, problem.k)
        )
    if share is None:
        return None
    class_of_value = np.arange(n_values)
    if isinstance(model, AlphaDeassociation) and model.values is not None:
        listed = np.isin(class_of_value, sensitive.context.codes(model.values))
        class_of_value = np.where(listed, 0 if model.combine else class_of_value, n_values)
    classes, class_of_value = np.unique(np.append(class_of_value, n_values), return_inverse=True)
    return PricedRule(model, class_of_value[codes], len(classes), *_cases(share, problem.k))


def _cases(share: Fraction, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The cap and the least size of each case; where they are many, neighbours are merged into one.

    Merged cases have the cap of the last and the size of the first, so that they include all of theirs.
    """
    a, b = share.numerator, share.denominator
    least, end = floor(share * k), a * -(-k // b) + ceil(share * k)
    caps = np.arange(least, max(end, least + 1))
    sizes = np.array([max(k, ceil(int(cap) / share)) for cap in caps])
    parts = np.array_split(np.arange(len(caps)), min(len(caps), _MOST_CASES))
    return caps[[part[-1] for part in parts]], sizes[[part[0] for part in parts]]


def _cases_of_entropy(l: float, n_values: int, k: int) -> tuple[np.ndarray, np.ndarray]:  # noqa: E741
    """As `_cases`: one per size for which there may be a valid group, and one for all larger groups."""
    largest = _LARGEST * max(k, ceil(l))
    most = [(size, _most_of_a_value(size, l, n_values)) for size in range(k, largest)]
    possible: list[tuple[int, int]] = []
    for size, cap in most:  # a case includes those of larger groups with the same cap
        if cap > 0 and all(cap > known for _, known in possible):
            possible.append((size, cap))
    parts = np.array_split(np.arange(len(possible)), min(len(possible), _FEW_CASES)) if possible else []
    caps = [max(possible[i][1] for i in part) for part in parts]
    sizes = [possible[part[0]][0] for part in parts]
    return np.array([*caps, _NO_CAP]), np.array([*sizes, largest])


def _most_of_a_value(size: int, l: float, n_values: int) -> int:  # noqa: E741
    """The most records of a group of some size that can have one value; 0 if it cannot be diverse at all."""
    enough = (count for count in range(size, 0, -1) if _entropy_left(size, count, n_values) >= log(l) - _NEAR)
    return next(enough, 0)


def _entropy_left(size: int, count: int, n_values: int) -> float:
    """The greatest entropy of a group in which `count` of `size` records have one of the values."""
    if n_values == 1:
        return 0.0 if count == size else -np.inf
    each, more = divmod(size - count, n_values - 1)
    counts = [(count, 1), (each, n_values - 1 - more), (each + 1, more)]
    return sum(-times * number / size * log(number / size) for number, times in counts if number * times > 0)

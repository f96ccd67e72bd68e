"""Figures of a release: costs measured again, bounds and guarantees against the best there is."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import inf, isclose, isfinite
from typing import Any

from by_definition.costs import PlainAttribute, costs, entropy_cell, loss_cell, ncp_cell
from by_definition.domains import Generalized
from by_definition.optimum import least_total
from fuzz.judge_models import satisfied

__all__ = ["figure_complaints"]

MOST_RECORDS = 7  # for trying all partitions
SEPARABLE = ("loss", "ncp", "tree", "suppressions", "entropy", "monotone-entropy")
NEAR = 1e-9
LATE = 5.0  # seconds after a time limit: compiled code is loaded


def figure_complaints(judged: Any) -> list[str]:
    """Costs, bound and guarantee that are not what they should be."""
    release = judged.release
    found = []
    if not (isfinite(release.cost) and release.cost >= 0):
        found.append(f"cost: {release.cost}")
    for name, claim in release.claims.items():
        if name != "guarantee" and not (0 <= claim.figure <= release.cost * (1 + NEAR) + NEAR):
            found.append(f"{name}: {claim.figure} is above the cost {release.cost}")
    if release.guarantee is not None and not release.guarantee >= 1 - NEAR:
        found.append(f"guarantee: {release.guarantee} is below 1")
    limit = judged.case.options.get("time_limit", inf)
    spent = {phase: release.seconds.get(phase, 0.0) for phase in ("solve", "bound")}
    worked = judged.outcome.worked  # the machine may be busy with others
    if min(sum(spent.values()), worked) > limit + LATE:
        found.append(f"time: {limit} s were allowed, {spent} were taken")
    return found + cost_complaints(judged) + optimum_complaints(judged)


def cost_complaints(judged: Any) -> list[str]:
    """Costs of the published table that by definition are others."""
    starred = sum(judged.starred)
    withheld_too = starred + judged.dropped <= judged.most_withheld
    published = dict(zip(judged.rows, range(len(judged.rows))))
    n = judged.case.n
    withheld = [row not in published or (withheld_too and judged.starred[published[row]]) for row in range(n)]
    attributes = [_plain(judged, name, published) for name in judged.case.quasi]
    looks = [judged.looks[published[row]] if row in published else None for row in range(n)]
    expected = costs(attributes, looks, withheld, judged.case.masses)
    told = judged.release.loss
    return [
        f"cost: {name} is {told[name]!r} instead of {expected[name]!r}"
        for name in expected
        if not isclose(told[name], expected[name], rel_tol=NEAR, abs_tol=NEAR)
    ]


def _plain(judged: Any, name: str, published: dict[int, int]) -> PlainAttribute:
    reading = judged.readings[name]
    labels = judged.table[name]
    cells = [
        reading.generalized(labels[published[row]] if row in published else "*")
        for row in range(judged.case.n)
    ]
    weight = Fraction(str(judged.case.options.get("weights", {}).get(name, 1)))
    return PlainAttribute(reading.domain, judged.originals[name].texts, cells, weight)


def optimum_complaints(judged: Any) -> list[str]:
    """A bound above the least cost of all releases, or a cost above the guaranteed multiple of it."""
    case, release = judged.case, judged.release
    if case.n > MOST_RECORDS or case.items is not None or release.problem.cost.name not in SEPARABLE:
        return []
    if not release.claims or _shows_values_as_stars(judged):
        return []
    scale = 1 if release.problem.cost.name == "suppressions" else case.n
    best = least_cost(judged) / scale
    found = []
    if best == inf:
        return [f"optimum: by definition there is no release at all, yet one of cost {release.cost}"]
    for name, claim in release.claims.items():
        if name != "guarantee" and claim.figure > best * (1 + NEAR) + NEAR:
            found.append(f"{name}: {claim.figure} is above {best}, which a release attains")
    if release.guarantee is not None and release.cost > release.guarantee * best * (1 + NEAR) + NEAR:
        found.append(f"guarantee: {release.cost} is more than {release.guarantee} times {best}")
    return found


def _shows_values_as_stars(judged: Any) -> bool:
    """Values that are published as `*` wherever they are: what is measured is not what was minimised."""
    options = judged.case.options
    if any("*" in judged.originals[name].distinct for name in judged.case.quasi):
        return True
    nulls = options.get("nulls") == "star" and any(judged.originals[q].has_null for q in judged.case.quasi)
    return nulls or options.get("on_missing") == "suppress" or "scheme" in options


def least_cost(judged: Any) -> float:
    """The least total cost of all partitions into classes that keep the promises."""
    case = judged.case
    readings = [(judged.readings[name], judged.originals[name].texts) for name in case.quasi]
    weights = [Fraction(str(case.options.get("weights", {}).get(name, 1))) for name in case.quasi]
    total = sum(weights)
    shares = [float(weight / total) for weight in weights]
    cost = _cell_cost(judged.release.problem.cost.name, case.n)

    def group_cost(rows: tuple[int, ...]) -> float:
        found = 0.0
        for (reading, texts), share in zip(readings, shares):
            cell = _closure(reading, frozenset(texts[row] for row in rows))
            found += (1.0 if judged.release.problem.cost.name == "suppressions" else share) * cost(
                reading, texts, cell
            )
        return sum(masses[row] for row in rows) * found

    counting = [Fraction(1)] * case.n if judged.release.problem.cost.name == "suppressions" else case.masses
    masses = [float(mass * case.n / sum(counting)) for mass in counting]
    everything = sum(
        (1.0 if judged.release.problem.cost.name == "suppressions" else share)
        * cost(reading, texts, reading.generalized("*"))
        for (reading, texts), share in zip(readings, shares)
    )
    return least_total(
        case.n,
        group_cost,
        lambda rows: satisfied(case, judged.originals, rows),
        withheld_cost=lambda record: masses[record] * everything,
        most_withheld=judged.most_withheld,
    )


def _closure(reading: Any, values: frozenset) -> Generalized:
    """The smallest generalized value; a root that is not called `*` is no suppression."""
    found = reading.domain.closure(values)
    root = getattr(reading.domain, "root", ("*",))
    return found._replace(star=found.star and root[-1] == "*")


def _cell_cost(name: str, n: int) -> Any:
    @cache
    def cost(reading: Any, texts: tuple, cell: Generalized) -> float:
        if name == "suppressions":
            return float(cell.star)
        if name == "tree":
            return cell.level
        if name in ("loss", "ncp"):
            measure = loss_cell if name == "loss" else ncp_cell
            return float(measure(len(cell.leaves), len(reading.domain.leaves)))
        entropy = entropy_cell(texts, cell.leaves)
        return entropy if name == "entropy" else entropy * sum(t in cell.leaves for t in texts) / n

    return lambda reading, texts, cell: cost(reading, tuple(texts), cell)

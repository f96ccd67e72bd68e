"""The promises of a case asked of a class of its records, by definition and in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from by_definition import models, people
from by_definition.domains import TreeDomain
from by_definition.original_columns import OriginalColumn
from by_definition.published_columns import rooted
from fuzz.case import Case

__all__ = ["model_complaints", "satisfied"]


def satisfied(case: Case, originals: dict[str, OriginalColumn], rows: Iterable[int]) -> bool:
    return not model_complaints(case, originals, list(rows))


def model_complaints(case: Case, originals: dict[str, OriginalColumn], rows: list[int]) -> list[str]:
    """Which promises a class of these records breaks."""
    found = []
    for model in case.privacy:
        name = model["model"]
        if case.person is not None:
            if not _holds_for_people(case, model, originals, rows):
                found.append(f"{name} {_parameters(model)}, of people")
            continue
        if name in ("k-anonymity", "km-anonymity"):
            holds = models.k_anonymous([len(rows)], model["k"])
        elif name in ("item-confidence", "rho-uncertainty"):
            continue
        else:
            column = originals[model["attribute"]]
            values = [*column.distinct, *([None] if column.has_null else [])]
            counted = Counter(column.texts[row] for row in rows)
            cells = [counted[value] for value in values]
            tree = case.trees.get(model["attribute"])
            holds = _HOLDS[name](model, cells, values, column, tree)
        if not holds:
            found.append(f"{name} {_parameters(model)}")
    return found


_DEFAULTS = {
    "kind": "frequency",
    "values": None,
    "combine": True,
    "rounding": "none",
    "distance": "equal",
}


def _holds_for_people(
    case: Case, model: dict[str, Any], originals: dict[str, OriginalColumn], rows: list[int]
) -> bool:
    assert case.person is not None
    parameters = {
        "kind": "frequency",
        "values": None,
        "combine": True,
        "rounding": "none",
        "distance": "equal",
    }
    asked = SimpleNamespace(**(parameters | model), name=model["model"])
    if isinstance(getattr(asked, "l", None), str):
        asked.l = Fraction(asked.l)
    values = originals[model["attribute"]].texts if "attribute" in model else []
    return people.keeps(asked, rows, case.columns[case.person].values, values, list(range(case.n)))


def _parameters(model: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in model.items() if key != "model")


def _diversity(model: dict[str, Any], cells: list[int], *_: Any) -> bool:
    l = Fraction(model["l"])  # noqa: E741
    kind = model.get("kind", "frequency")
    if kind == "frequency":
        return models.frequency(cells) >= l
    if kind == "distinct":
        return models.distinct(cells) >= l
    if kind == "entropy":
        return models.entropy_reaches(cells, l)
    return models.recursive(cells, int(l)) < Fraction(model["c"])


def _alpha(model: dict[str, Any], cells: list[int], values: list, *_: Any) -> bool:
    listed = model.get("values")
    if listed is None:
        groups = [[place] for place in range(len(cells))]
    else:
        places = [place for place, value in enumerate(values) if value in listed]
        groups = [places] if model.get("combine", True) else [[place] for place in places]
    return models.deassociated(cells, groups, Fraction(model["alpha"]), model.get("rounding", "none"))


def _closeness(
    model: dict[str, Any], cells: list[int], values: list, column: OriginalColumn, tree: list | None
) -> bool:
    counted = Counter(column.texts)
    overall = [counted[value] for value in values]
    kind = model.get("distance", "equal")
    if kind == "hierarchical":
        assert tree is not None
        distance = models.earth_movers_distance(cells, overall, _ground(TreeDomain(rooted(tree)), values))
    else:
        measure = models.ordered_distance if kind == "ordered" else models.variational_distance
        distance = measure(cells, overall)
    return distance <= Fraction(model["t"])


def _disclosure(
    model: dict[str, Any], cells: list[int], values: list, column: OriginalColumn, *_: Any
) -> bool:
    counted = Counter(column.texts)
    return models.disclosure_within(cells, [counted[value] for value in values], Fraction(model["delta"]))


def _likeness(model: dict[str, Any], cells: list[int], values: list, column: OriginalColumn, *_: Any) -> bool:
    counted = Counter(column.texts)
    overall = [counted[value] for value in values]
    return models.likeness_within(cells, overall, Fraction(model["beta"]), model["kind"])


def _ground(domain: TreeDomain, values: list) -> list[list[Fraction]]:
    """The height of the lowest node above two values, over that of the root."""
    height = domain.height(domain.root)
    return [
        [Fraction(domain.height(domain.lowest_node([a, b])) if a != b else 0, height) for b in values]
        for a in values
    ]


_HOLDS = {
    "l-diversity": _diversity,
    "alpha-deassociation": _alpha,
    "t-closeness": _closeness,
    "delta-disclosure": _disclosure,
    "beta-likeness": _likeness,
}

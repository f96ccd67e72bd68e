"""The promises of a case asked of a class of its records, by definition and in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from by_definition import models
from by_definition.original_columns import OriginalColumn
from fuzz.case import Case

__all__ = ["model_complaints", "satisfied"]


def satisfied(case: Case, originals: dict[str, OriginalColumn], rows: Iterable[int]) -> bool:
    return not model_complaints(case, originals, list(rows))


def model_complaints(case: Case, originals: dict[str, OriginalColumn], rows: list[int]) -> list[str]:
    """Which promises a class of these records breaks."""
    found = []
    for model in case.privacy:
        name = model["model"]
        if name in ("k-anonymity", "km-anonymity"):
            holds = models.k_anonymous([len(rows)], model["k"])
        elif name == "item-confidence":
            continue
        else:
            column = originals[model["attribute"]]
            values = [*column.distinct, *([None] if column.has_null else [])]
            counted = Counter(column.texts[row] for row in rows)
            cells = [counted[value] for value in values]
            holds = _HOLDS[name](model, cells, values, column)
        if not holds:
            found.append(f"{name} {_parameters(model)}")
    return found


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


def _alpha(model: dict[str, Any], cells: list[int], values: list, _: Any) -> bool:
    listed = model.get("values")
    if listed is None:
        groups = [[place] for place in range(len(cells))]
    else:
        places = [place for place, value in enumerate(values) if value in listed]
        groups = [places] if model.get("combine", True) else [[place] for place in places]
    return models.deassociated(cells, groups, Fraction(model["alpha"]), model.get("rounding", "none"))


def _closeness(model: dict[str, Any], cells: list[int], values: list, column: OriginalColumn) -> bool:
    overall = Counter(column.texts)
    distance = models.ordered_distance if model.get("distance") == "ordered" else models.variational_distance
    return distance(cells, [overall[value] for value in values]) <= Fraction(model["t"])


_HOLDS = {"l-diversity": _diversity, "alpha-deassociation": _alpha, "t-closeness": _closeness}

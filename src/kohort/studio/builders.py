"""The forms of hierarchy builders: what a person types, as the value of `hierarchy:` in a spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class WrongForm(Exception):
    """Something typed that cannot be read; the message says what would be right."""


def _numbers(text: str) -> list[float]:
    try:
        found = [float(word) for word in text.replace(";", ",").split(",") if word.strip()]
    except ValueError:
        raise WrongForm("Type numbers with commas between them, such as 5, 10, 20.") from None
    if not found:
        raise WrongForm("Type at least one number, such as 5, 10, 20.")
    return [int(number) if number == int(number) else number for number in found]


def _whole(text: str) -> int:
    if not text.strip().isdigit():
        raise WrongForm("Type a whole number.")
    return int(text)


def _words(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise WrongForm("Type at least one level, such as month, quarter, year.")
    return found


BUILDERS: dict[str, Callable[[str], Any]] = {
    "none": lambda text: None,
    "flat": lambda text: "flat",
    "auto": lambda text: "auto",
    "intervals": lambda text: {"intervals": _numbers(text)},
    "quantiles": lambda text: {"quantiles": _whole(text)},
    "mask": lambda text: {"mask": text.strip() or "right"},
    "date": lambda text: {"date": _words(text)},
    "code": lambda text: {"code": text.strip()},
    "order": lambda text: {"order": "natural", "fanout": _whole(text)},
    "frequency": lambda text: {"frequency": _whole(text)},
}
"""What makes the value of `hierarchy:` from the parameter that was typed, by the kind of builder."""

ITEM_ORDERS = {
    "items-frequency": "frequency",
    "items-cooccurrence": "cooccurrence",
    "items-id": "id",
    "items-file": "file",
}
"""Orders of items whose neighbours make a group, by the kind of builder; the parameter is the fanout."""

_FOR_ITEMS = (*ITEM_ORDERS, "flat", "mask", "code")


def offered(*, items: bool = False) -> tuple[str, ...]:
    """The kinds of builders for a column, or for one that holds sets of items."""
    return _FOR_ITEMS if items else tuple(BUILDERS)


def written(kind: str, parameter: str) -> Any:
    """The value of `hierarchy:` for a builder and its parameter.

    >>> written("intervals", "5, 10"), written("mask", "")
    ({'intervals': [5, 10]}, {'mask': 'right'})
    """
    if kind in ITEM_ORDERS:
        return {"fanout": _whole(parameter), "order": ITEM_ORDERS[kind]}
    if kind not in BUILDERS:
        raise WrongForm("There is no such builder.")
    return BUILDERS[kind](parameter)


def kind_of(hierarchy: Any, *, items: bool = False) -> str:
    """The builder that a `hierarchy:` names; `tree` where it is written out.

    >>> kind_of({"mask": "right"}), kind_of({"order": "id", "fanout": 5}, items=True)
    ('mask', 'items-id')
    """
    if items and (hierarchy is None or (isinstance(hierarchy, dict) and "order" in hierarchy)):
        return _kind_of_order((hierarchy or {}).get("order", "frequency"))
    if hierarchy is None:
        return "none"
    if isinstance(hierarchy, str):
        return hierarchy if hierarchy in BUILDERS else "none"
    return next((kind for kind in (*BUILDERS, "tree", "groups") if kind in hierarchy), "none").replace(
        "groups", "tree"
    )


def _kind_of_order(order: Any) -> str:
    """The builder of an order of items; one that lists them is written out, like a tree."""
    known = {**{name: kind for kind, name in ITEM_ORDERS.items()}, "natural": "items-id"}
    return known.get(order, "tree") if isinstance(order, str) else "tree"


def parameter_of(hierarchy: Any) -> str:
    """The parameter of a builder as one would type it."""
    if not isinstance(hierarchy, dict) or kind_of(hierarchy) == "tree":
        return ""
    if "order" in hierarchy:
        fanout = hierarchy.get("fanout", 4)
        return ", ".join(map(str, fanout)) if isinstance(fanout, list) else str(fanout)
    value = hierarchy[kind_of(hierarchy)]
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

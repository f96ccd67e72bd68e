"""What a person types into forms, as parts of a spec: hierarchy builders and promises; and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kohort.errors import InputError


def _numbers(text: str) -> list[float]:
    try:
        found = [float(word) for word in text.replace(";", ",").split(",") if word.strip()]
    except ValueError:
        raise InputError("Type numbers with commas between them, such as 5, 10, 20.") from None
    if not found:
        raise InputError("Type at least one number, such as 5, 10, 20.")
    return [int(number) if number == int(number) else number for number in found]


def _whole(text: str) -> int:
    if not text.strip().isdigit():
        raise InputError("Type a whole number.")
    return int(text)


def _words(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise InputError("Type at least one level, such as month, quarter, year.")
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
        raise InputError("There is no such builder.")
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


# -- promises ---------------------------------------------------------------------------------------


KINDS = ("distinct", "frequency", "entropy")  # the recursive kind needs a c, which a spec may give
MODELS = {"diversity": "l", "alpha": "alpha", "closeness": "t"}
"""The promises about a sensitive column, and the parameter of each."""


def entry_of(privacy: dict[str, Any], model: str, column: str) -> dict[str, Any]:
    """What a model promises about a column; empty where it promises nothing."""
    found = privacy.get(model) or []
    entries = found if isinstance(found, list) else [found]
    return next((entry for entry in entries if entry.get("attribute") == column), {})


def privacy_of(form: dict[str, str], sensitive: list[str], before: dict[str, Any]) -> dict[str, Any]:
    """What a form promises; keys of the spec that the form does not have stay as they are."""
    k, m = (number_of(form, name, name, int) for name in ("k", "m"))
    if k is None:
        raise InputError("k is missing: type a whole number, at least 2.")
    if k < 2:
        raise InputError(
            "k = 1 promises nothing: everybody may stand alone. Type a whole number, at least 2."
        )
    found = {"k": k} | {key: value for key, value in before.items() if key not in ("k", "m", *MODELS)}
    if m is not None:
        found["m"] = m
    for model, parameter in MODELS.items():
        kept = []
        for place, column in enumerate(sensitive):
            value = number_of(form, f"{model}-{place}", parameter, float)
            if value is not None:
                entry = {**entry_of(before, model, column), "attribute": column, parameter: value}
                kept.append(_of_kind(entry, form.get(f"kind-{place}", "")) if model == "diversity" else entry)
        if kept:
            found[model] = kept[0] if len(kept) == 1 else kept
    return found


def _of_kind(entry: dict[str, Any], kind: str) -> dict[str, Any]:
    """A promise of diversity with the kind that was chosen, and a whole l where it is one."""
    known = kind in (*KINDS, entry.get("kind"))
    whole = int(entry["l"]) if entry["l"] == int(entry["l"]) else entry["l"]
    return entry | {"l": whole, "kind": kind if known else "distinct"}


def confidence_of(form: dict[str, str], before: dict[str, Any]) -> dict[str, Any]:
    """What a form promises of sensitive items, one in a line; nothing where none is named.

    >>> confidence_of({"sensitive-items": "test\\n", "limit": "0.2"}, {})
    {'confidence': {'sensitive': ['test'], 'limit': 0.2}}
    """
    named = [line.strip() for line in form.get("sensitive-items", "").splitlines() if line.strip()]
    limit = number_of(form, "limit", "The highest confidence", float)
    if not named and limit is None:
        return {}
    if not named or limit is None:
        raise InputError("Name the sensitive items and the highest confidence, or neither.")
    return {"confidence": {**before, "sensitive": list(dict.fromkeys(named)), "limit": limit}}


def number_of(form: dict[str, str], field: str, name: str, kind: Callable[[str], Any]) -> Any:
    """The number in a field of a form; None where it is empty."""
    text = form.get(field, "").strip()
    try:
        return kind(text.replace(",", ".")) if text else None
    except ValueError:
        raise InputError(f"{name} must be a number.") from None

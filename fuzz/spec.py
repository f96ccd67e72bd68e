"""A case as a release spec: the same wishes by the other door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz.case import Case

__all__ = ["has_spec", "spec_of"]

KEYS = {
    "l-diversity": "diversity",
    "alpha-deassociation": "alpha",
    "t-closeness": "closeness",
    "delta-disclosure": "disclosure",
    "beta-likeness": "likeness",
}


def has_spec(case: Case) -> bool:
    """Whether a spec can say all of it: no hierarchy that only Python has, no items."""
    sources = case.quasi.values()
    return case.items is None and not any(isinstance(s, dict) and "paths" in s for s in sources)


def spec_of(case: Case, sources: dict[str, Any], trees: dict[str, Path]) -> dict[str, Any]:
    """The spec.

    sources  per quasi-identifier what its hierarchy is, files by their paths
    trees    per sensitive column the file of its hierarchy
    """
    options = {name: value for name, value in case.options.items() if name not in ("orders", "on_missing")}
    schemes = options.pop("scheme") if isinstance(options.get("scheme"), dict) else {}
    attributes: dict[str, dict[str, Any]] = {
        **{name: {"role": "quasi-identifier", "hierarchy": source} for name, source in sources.items()},
        **{name: {"role": "sensitive"} for name in case.sensitive},
        **{name: {"role": "insensitive"} for name in case.insensitive},
        **{name: {"role": "identifier"} for name in case.identifiers},
    }
    for name, order in case.options.get("orders", {}).items():
        attributes[name]["order"] = order
    for name, path in trees.items():
        attributes[name]["hierarchy"] = str(path)
    for name in case.quasi:
        attributes[name] |= {"scheme": schemes[name]} if name in schemes else {}
        if "on_missing" in case.options:
            attributes[name]["on_missing"] = case.options["on_missing"]
    return {"attributes": attributes, "privacy": _privacy(case), **options}


def _privacy(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for model in case.privacy:
        parameters = {name: value for name, value in model.items() if name != "model"}
        if model["model"] == "k-anonymity":
            found["k"] = model["k"]
        else:
            found.setdefault(KEYS[model["model"]], []).append(parameters)
    return found

"""The public version of a report: the facts that show no value, named one by one.

What is left is computed from the release alone, or a mean or sum over the whole original. No count of records
is smaller than the smallest class. A fact that is new is not public until it is named here.
"""

from __future__ import annotations

from typing import Any

__all__ = ["public_certificate", "public_facts", "public_risk", "public_utility"]

_CERTIFICATE = (
    "version",
    "title",
    "owner",
    "holds",
    "records",
    "suppressed",
    "suppressed_as",
    "counterfeits",
    "classes",
    "smallest_class",
    "counted",
    "people",
    "smallest_class_people",
    "cautions",
    "cost",
    "loss",
    "unweighted_loss",
    "labels",
    "bound",
    "gap",
    "solver_bound",
    "solver_gap",
    "evidence",
    "guarantee",
    "algorithm",
    "parameters",
    "seed",
    "cut_by_time",
    "quasi_identifiers",
    "suppression",
    "order",
    "notes",
    "sha256",
    "commitment",
)
_TOGETHER = ("release", "again", "candidates", "counterfeits", "alone", "ratio")
_REPORT = ("kohort", "attributes", "guesses", "item_levels", "sensitive", "left_out")
_MODEL = ("model", "attribute", "promise", "asked", "measured", "holds")
_BIN = ("size", "records", "share")
_ATTACK = ("known", "known_items", "targets")
_RATES = ("maximum", "average", "over_threshold", "found_for_sure", "hit_rate", "interval")
_QUERIES = ("queries", "median_relative_error", "mean_relative_error", "p90_relative_error", "sentence")
_PAIRS = ("mean_before", "mean_after", "mean_change", "sentence")


def public_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of an internal report that everybody may see."""
    sizes = facts["class_sizes"]
    return {
        **_some(facts, _REPORT),
        **public_certificate(facts),
        "report": "public",
        "about": facts["about"] | {"original": None},
        "class_sizes": sizes and {**sizes, "bins": [_some(entry, _BIN) for entry in sizes["bins"]]},
        "risk": public_risk(facts["risk"]),
        "utility": public_utility(facts["utility"]),
    }


def public_certificate(certificate: dict[str, Any]) -> dict[str, Any]:
    """The facts of a certificate that name no value of the data."""
    chosen = _some(certificate, _CERTIFICATE)
    chosen["models"] = [_model(model) for model in certificate["models"]]
    chosen["together"] = certificate["together"] and _some(certificate["together"], _TOGETHER)
    chosen["checks"] = [_some(check, ("check", "holds")) for check in certificate["checks"]]
    if 0 < chosen["suppressed"] < (chosen["smallest_class"] or 1):
        chosen["suppressed"] = None  # shown as: fewer than the smallest class has
    return chosen


def _some(facts: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: facts[name] for name in names}


def _model(model: dict[str, Any]) -> dict[str, Any]:
    """A promise; where it is about chosen sensitive values, without naming them."""
    kept = _some(model, _MODEL)
    if model["parameters"].get("values") is not None:
        protected = f"the protected values of {model['attribute']!r}"
        kept["promise"] = f"in every class {protected} make up at most {model['asked']:g}"
    return kept


def public_risk(risk: dict[str, Any]) -> dict[str, Any]:
    """The risk of the published table, without that of the original."""
    found: dict[str, Any] = {"threshold": risk["threshold"], "counted": risk["counted"]}
    for name in ("prosecutor", "journalist", "marketer", "uniqueness"):
        found[name] = risk[name] and {"after": risk[name]["after"]}
    attack = risk["linkage"]
    found["order"] = risk["order"]
    found["linkage"] = attack and {**_some(attack, _ATTACK), "after": _some(attack["after"], _RATES)}
    return found


def public_utility(utility: dict[str, Any]) -> dict[str, Any]:
    """Utility over the whole table, without pairs of columns."""
    queries, pairs = utility["queries"], utility["association"]
    return {
        "queries": queries and _some(queries, _QUERIES),
        "itemsets": utility["itemsets"],
        "classification": utility["classification"],
        "association": pairs and _some(pairs, _PAIRS),
    }

"""The public version of a report: the facts that show no value and test no guess, named one by one.

What is left is computed from the release alone, or has two significant digits; utility, which is measured
against the original, is not told. No count of records is smaller than the smallest class. A fact that is new
is not public until it is named here.
"""

from __future__ import annotations

from typing import Any

from kohort.job.public import public_version, two_digits

_CERTIFICATE = (
    "version", "title", "owner", "holds", "records", "suppressed", "suppressed_as", "counterfeits",
    "classes", "smallest_class", "counted", "people", "smallest_class_people", "cautions", "cost",
    "loss", "unweighted_loss", "labels", "bound", "gap", "solver_bound", "solver_gap", "evidence",
    "guarantee", "algorithm", "parameters", "seed", "cut_by_time", "quasi_identifiers", "suppression",
    "order", "notes", "sha256", "commitment",
)  # fmt: skip
_TOGETHER = ("release", "again", "candidates", "counterfeits", "alone", "ratio")
_REPORT = ("kohort", "guesses", "sensitive")
_LEFT_OUT = (
    "What the release is still good for was measured against the original: the internal report says it."
)
_MODEL = ("model", "attribute", "promise", "asked", "measured", "holds")
_BIN = ("size", "records", "share")
NO_UTILITY: dict[str, None] = dict.fromkeys(("queries", "itemsets", "classification", "association"))
"""What is told of utility where nothing is."""


def public_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of an internal report that everybody may see."""
    sizes = facts["class_sizes"]
    return {
        **some(facts, _REPORT),
        "attributes": [two_digits(attribute | {"values": None}) for attribute in facts["attributes"]],
        "item_levels": two_digits(facts["item_levels"]),
        "left_out": [_LEFT_OUT],
        **public_certificate(public_version(facts)),
        "report": "public",
        "about": facts["about"] | {"original": None},
        "class_sizes": sizes and {**sizes, "bins": [some(entry, _BIN) for entry in sizes["bins"]]},
        "risk": public_risk(facts["risk"]),
        "utility": NO_UTILITY,
    }


def public_certificate(certificate: dict[str, Any]) -> dict[str, Any]:
    """The facts of a certificate that name no value of the data."""
    chosen = some(certificate, _CERTIFICATE)
    chosen["models"] = [_model(model) for model in certificate["models"]]
    chosen["together"] = certificate["together"] and some(certificate["together"], _TOGETHER)
    chosen["checks"] = [some(check, ("check", "holds")) for check in certificate["checks"]]
    if 0 < chosen["suppressed"] < (chosen["smallest_class"] or 1):
        chosen["suppressed"] = None  # shown as: fewer than the smallest class has
    return chosen


def some(facts: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: facts[name] for name in names}


def _model(model: dict[str, Any]) -> dict[str, Any]:
    """A promise; where it is about chosen sensitive values, without naming them."""
    kept = some(model, _MODEL)
    if model["parameters"].get("values") is not None:
        protected = f"the protected values of {model['attribute']!r}"
        kept["promise"] = f"in every class {protected} make up at most {model['asked']:g}"
    return kept


def public_risk(risk: dict[str, Any]) -> dict[str, Any]:
    """The risk of the published table, without that of the original."""
    found: dict[str, Any] = {"threshold": risk["threshold"], "counted": risk["counted"]}
    for name in ("prosecutor", "journalist", "marketer", "uniqueness"):
        found[name] = risk[name] and {"after": risk[name]["after"]}
    return found | {"order": None, "linkage": None}  # measured beside the original

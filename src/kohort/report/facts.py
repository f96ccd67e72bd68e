"""The facts of a report: those of the certificate, and what became of columns, classes and people.

Two versions. The internal one is for those who decide: it shows values and the riskiest classes. The public
one may go with the release: it holds no cell of the data, no figure of the original table but means and sums
over all of it, and no count of fewer records than the smallest class has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from kohort.algorithms import Progress
from kohort.errors import InputError
from kohort.pipeline.before_after import before_after
from kohort.pipeline.release import Release
from kohort.report.attributes import attribute_facts, distribution, item_levels
from kohort.report.classes import class_size_facts, guess_facts, riskiest_classes
from kohort.report.published import PublishedValues, published_values
from kohort.risk import assess_risk
from kohort.utility import measure_utility

__all__ = ["MOST_CHARTS", "Version", "check_version", "public_certificate", "report_facts"]

Version = Literal["internal", "public"]
MOST_CHARTS = 24  # columns whose distribution is drawn: those that lost most
_OF_EVERYBODY = (
    "version",
    "holds",
    "records",
    "suppressed",
    "classes",
    "smallest_class",
    "cost",
    "loss",
    "labels",
    "bound",
    "gap",
    "guarantee",
    "algorithm",
    "parameters",
    "seed",
    "quasi_identifiers",
    "suppression",
    "notes",
    "sha256",
)


def report_facts(
    release: Release,
    *,
    version: Version = "internal",
    sha256: Mapping[str, str | None] | None = None,
    making: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All that a report shows, as plain data. `making` may hold the `command` and the `spec`."""
    check_version(version)
    tell = progress or (lambda what, share: None)
    tell("report: classes", 0.0)
    sides, columns = before_after(release), published_values(release)
    certificate = release.facts(sha256=sha256)
    guesses = [guess_facts(sides, column) for column in sides.sensitive]
    facts: dict[str, Any] = {
        "kohort": "report",
        "report": version,
        "attributes": [attribute_facts(values) for values in columns],
        "class_sizes": class_size_facts(sides),
        "guesses": [found for found in guesses if found is not None],
        "item_levels": None if release.items is None else item_levels(release.items),
        "sensitive": [column.name for column in sides.sensitive],
    }
    tell("report: risk", 0.1)
    risk = assess_risk(release)
    tell("report: utility", 0.3)
    utility = measure_utility(release)
    tell("report: charts", 0.8)
    if version == "public":
        return (
            facts
            | public_certificate(release, sha256=sha256)
            | {"risk": _after_alone(risk), "utility": _in_sum(utility)}
        )
    return (
        certificate
        | facts
        | {
            "risk": risk,
            "utility": utility,
            "distributions": _distributions(columns, facts["attributes"]),
            "riskiest": riskiest_classes(sides),
            "making": dict(making or {}),
        }
    )


def check_version(version: str) -> None:
    if version not in get_args(Version):
        raise InputError(f"The version of a report is internal or public. Got {version!r}.")


def _distributions(columns: list[PublishedValues], attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the columns that lost most, as many as a page can hold."""
    loss = {attribute["name"]: attribute["loss"] for attribute in attributes}
    chosen = set(sorted(loss, key=lambda name: -loss[name])[:MOST_CHARTS])
    return {v.attribute.name: distribution(v) for v in columns if v.attribute.name in chosen}


def public_certificate(release: Release, *, sha256: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """Of the certificate, what shows no value; named one by one, so that nothing slips in."""
    certificate = release.facts(sha256=sha256)
    chosen = {key: certificate[key] for key in _OF_EVERYBODY}
    chosen["models"] = [_without_values(model) for model in certificate["models"]]
    chosen["checks"] = [{"check": c["check"], "holds": c["holds"]} for c in certificate["checks"]]
    if 0 < chosen["suppressed"] < (chosen["smallest_class"] or 1):
        chosen["suppressed"] = None  # said as: fewer than the smallest class has
    return chosen


def _without_values(model: dict[str, Any]) -> dict[str, Any]:
    """A promise about chosen sensitive values, without naming them."""
    kept = {key: model[key] for key in ("model", "attribute", "promise", "asked", "measured", "holds")}
    values = model["parameters"].get("values")
    if values is not None:
        kept["promise"] = (
            f"in every class the protected values of {model['attribute']!r} make up at most "
            f"{model['asked']:g}"
        )
    return kept


def _after_alone(risk: dict[str, Any]) -> dict[str, Any]:
    """The risk of the published table, without that of the original."""
    found: dict[str, Any] = {"threshold": risk["threshold"], "uniqueness": None}
    for name in ("prosecutor", "journalist", "marketer"):
        found[name] = None if risk[name] is None else {"after": risk[name]["after"]}
    if risk["uniqueness"] is not None:
        found["uniqueness"] = {"after": risk["uniqueness"]["after"]}
    rates = ("maximum", "average", "over_threshold", "found_for_sure", "hit_rate", "interval")
    attack = risk["linkage"]
    found["linkage"] = (
        None
        if attack is None
        else {
            **{key: attack[key] for key in ("known", "known_items", "targets")},
            "after": {key: attack["after"][key] for key in rates},
        }
    )
    return found


def _in_sum(utility: dict[str, Any]) -> dict[str, Any]:
    """Utility over the whole table, without columns or pairs of them."""
    queries, learnt, pairs = (utility[key] for key in ("queries", "classification", "association"))
    errors = ("queries", "median_relative_error", "mean_relative_error", "p90_relative_error", "sentence")
    return {
        "queries": None if queries is None else {key: queries[key] for key in errors},
        "classification": learnt,
        "association": None
        if pairs is None
        else {key: pairs[key] for key in ("mean_before", "mean_after", "mean_change", "sentence")},
    }

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
from kohort.pipeline.release import Release
from kohort.report.attributes import attribute_facts, distribution, item_levels
from kohort.report.classes import class_size_facts, guess_facts, riskiest_classes
from kohort.report.published import PublishedRecords

__all__ = ["MOST_CHARTS", "Version", "check_version", "report_facts"]

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
    records = PublishedRecords(release)
    certificate = release.facts(sha256=sha256)
    sensitive = release.roles.having("sensitive")
    guesses = [guess_facts(records, name) for name in sensitive if _has_values(release, name)]
    facts: dict[str, Any] = {
        "kohort": "report",
        "report": version,
        "attributes": [attribute_facts(values) for values in records.values],
        "class_sizes": class_size_facts(records),
        "guesses": [found for found in guesses if found is not None],
        "item_levels": None if release.items is None else item_levels(release.items),
        "sensitive": sensitive,
    }
    if version == "public":
        return facts | _for_everybody(certificate)
    tell("report: columns", 0.3)
    return (
        certificate
        | facts
        | {
            "distributions": _distributions(records, facts["attributes"]),
            "riskiest": riskiest_classes(records, [g["name"] for g in facts["guesses"]]),
            "making": dict(making or {}),
        }
    )


def check_version(version: str) -> None:
    if version not in get_args(Version):
        raise InputError(f"The version of a report is internal or public. Got {version!r}.")


def _has_values(release: Release, name: str) -> bool:
    """Whether a column can be coded: lists and structures cannot."""
    try:
        release.dataset.column(name)
    except InputError:
        return False
    return True


def _distributions(records: PublishedRecords, attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the columns that lost most, as many as a page can hold."""
    loss = {attribute["name"]: attribute["loss"] for attribute in attributes}
    chosen = set(sorted(loss, key=lambda name: -loss[name])[:MOST_CHARTS])
    return {v.attribute.name: distribution(v) for v in records.values if v.attribute.name in chosen}


def _for_everybody(certificate: dict[str, Any]) -> dict[str, Any]:
    """Of the certificate, what shows no value; named one by one, so that nothing slips in."""
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

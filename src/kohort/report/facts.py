"""The facts of a report: those of the certificate, and what became of columns, classes and people.

The internal version is for those who decide: it shows values and the riskiest classes. The public one, a part
of it, may go with the release.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from kohort.algorithms import Progress, Run
from kohort.algorithms.auto import obstacle
from kohort.pipeline.release import VerifiedRelease
from kohort.report.asked import Version, check_version
from kohort.report.attribute_facts import attribute_facts, distribution, item_levels
from kohort.report.class_facts import class_size_facts, guess_facts, riskiest_classes
from kohort.report.public_facts import public_facts
from kohort.report.published_values import PublishedValues, published_values
from kohort.risk import assess_risk
from kohort.utility import measure_utility

__all__ = ["MOST_CHARTS", "report_facts"]

MOST_CHARTS = 24  # columns whose distribution is drawn: those that lost most


def report_facts(
    release: VerifiedRelease,
    *,
    version: Version = "internal",
    sha256: Mapping[str, str | None] | None = None,
    salt: bytes | None = None,
    making: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    judged: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All that a report shows, as plain data.

    `making` may hold the `command` and the `spec`, and the names of two files: `data` and `release`. `judged`
    holds `risk` and `utility`, where somebody measured them already: they take the longest.

    The hash of the input is shown in the internal version only; see `VerifiedRelease.facts` for the `salt`.
    """
    check_version(version)
    making = {} if making is None else making
    run = Run(progress=progress)
    run.report("report: classes", 0.0)
    facts: dict[str, Any] = release.facts(sha256=sha256, salt=salt) | {
        "kohort": "report",
        "original_sha256": (sha256 or {}).get("input"),
        "report": "internal",
        **_table_facts(release),
        "making": {key: text for key, text in making.items() if key in ("command", "spec")},
        "about": {
            "original": making.get("data"),
            "release": making.get("release"),
            "date": datetime.date.today().isoformat(),
        },
        "improvable": obstacle(release.problem) is None,
    }
    run.report("report: risk", 0.1)
    facts["risk"] = assess_risk(release) if judged is None else judged["risk"]
    run.report("report: utility", 0.3)
    facts["utility"] = measure_utility(release) if judged is None else judged["utility"]
    facts["left_out"] = [*facts["risk"]["left_out"], *facts["utility"]["left_out"]]
    run.report("report: charts", 0.8)
    return facts if version == "internal" else public_facts(facts)


def _table_facts(release: VerifiedRelease) -> dict[str, Any]:
    """The facts about columns and classes."""
    sides, columns = release.sides, published_values(release.sides)
    attributes = [attribute_facts(values) for values in columns]
    return {
        "attributes": attributes,
        "class_sizes": class_size_facts(sides),
        "guesses": guess_facts(sides),
        "item_levels": None if release.items is None else item_levels(release.items),
        "sensitive": [column.name for column in sides.sensitive],
        "distributions": _distributions(columns, attributes),
        "riskiest": riskiest_classes(sides),
    }


def _distributions(columns: list[PublishedValues], attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """The distributions of the columns that lost most, as many as a page can hold."""
    loss = {attribute["name"]: attribute["loss"] for attribute in attributes}
    chosen = set(sorted(loss, key=lambda name: -loss[name])[:MOST_CHARTS])
    return {v.attribute.name: distribution(v) for v in columns if v.attribute.name in chosen}

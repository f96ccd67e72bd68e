"""The facts of a report: those of the certificate, and what became of columns, classes and people.

The internal version is for those who decide: it shows values and the riskiest classes. The public one, a part
of it, may go with the release.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.algorithms.auto import obstacle
from kohort.job.sides import BeforeAfter
from kohort.report.asked import Version, check_version
from kohort.report.columns import (
    PublishedValues,
    attribute_facts,
    distribution,
    item_levels,
    published_values,
)
from kohort.report.public_facts import public_facts
from kohort.risk import assess_risk
from kohort.risk.class_tally import BINS, class_tally
from kohort.utility import measure_utility

if TYPE_CHECKING:
    from kohort.release.release import Release

MOST_CHARTS = 24  # columns whose distribution is drawn: those that lost most


def report_facts(
    release: Release,
    *,
    version: Version = "internal",
    progress: Progress | None = None,
    judged: Mapping[str, Any] | None = None,
    **known: Any,
) -> dict[str, Any]:
    """All that a report shows, as plain data.

    `judged` holds `risk` and `utility`, where somebody measured them already: they take the longest. `known`
    are the keywords of `page_facts`.
    """
    check_version(version)
    run = Run(progress=progress)
    run.report("report: classes", 0.0)
    facts = page_facts(release, **known) | {"kohort": "report"} | _table_facts(release)
    run.report("report: risk", 0.1)
    facts["risk"] = assess_risk(release) if judged is None else judged["risk"]
    if version == "public":
        return public_facts(facts)
    run.report("report: utility", 0.3)
    facts["utility"] = measure_utility(release) if judged is None else judged["utility"]
    facts["left_out"] = [*facts["risk"]["left_out"], *facts["utility"]["left_out"]]
    run.report("report: charts", 0.8)
    return facts


def page_facts(
    release: Release,
    *,
    making: Mapping[str, str] = MappingProxyType({}),
    sha256: Mapping[str, str | None] = MappingProxyType({}),
    salt: bytes | None = None,
) -> dict[str, Any]:
    """What report and dossier begin with: the facts of the release, and how it was made.

    `making` may hold the `command` and the `spec`, and the names of two files: `data` and `release`. The hash
    of the input is shown in the internal version only; see `Release.facts` for the `salt`.
    """
    return release.facts(sha256=sha256, salt=salt) | {
        "report": "internal",
        "original_sha256": sha256.get("input"),
        "sensitive": [column.name for column in release.sides.sensitive],
        "making": {key: text for key, text in making.items() if key in ("command", "spec")},
        "about": {
            "original": making.get("data"),
            "release": making.get("release"),
            "date": datetime.date.today().isoformat(),
        },
        "improvable": obstacle(release.problem) is None,
    }


def _table_facts(release: Release) -> dict[str, Any]:
    sides, columns = release.sides, published_values(release.sides)
    attributes = [attribute_facts(values) for values in columns]
    return {
        "attributes": attributes,
        "class_sizes": _class_size_facts(sides),
        "guesses": guess_facts(sides),
        "item_levels": None if release.items is None else item_levels(release.items),
        "distributions": _distributions(columns, attributes),
        "riskiest": _riskiest_classes(sides),
    }


def _distributions(columns: list[PublishedValues], attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """The distributions of the columns that lost most, as many as a page can hold."""
    loss = {attribute["name"]: attribute["loss"] for attribute in attributes}
    chosen = set(sorted(loss, key=lambda name: -loss[name])[:MOST_CHARTS])
    return {v.attribute.name: distribution(v) for v in columns if v.attribute.name in chosen}


_FACTORS = (1, 1.5, 2, 3, 5, 10, 30, 100, 1000)  # bins of class sizes, in multiples of the smallest


def _class_size_facts(sides: BeforeAfter) -> dict[str, Any] | None:
    """How many records (or people) are in classes of which size; every bin holds whole classes."""
    counted = class_tally(sides, "after").sizes
    if not sides.attributes or not counted.classes:
        return None
    sizes, members = counted.size, counted.members
    smallest, largest = int(sizes[0]), int(sizes[-1])
    starts = sorted({int(np.ceil(smallest * factor)) for factor in _FACTORS})
    bin_of = np.searchsorted(starts, sizes, side="right") - 1
    bins = []
    for i in np.unique(bin_of):
        records = int(members[bin_of == i].sum())
        end = min(starts[i + 1] - 1 if i + 1 < len(starts) else largest, largest)
        bins.append(
            {
                "size": f"{starts[i]:,}" if starts[i] == end else f"{starts[i]:,}–{end:,}",
                "classes": int(counted.times[bin_of == i].sum()),
                "records": records,
                "share": float(records / members.sum()),
            }
        )
    return {
        "counted": sides.counted,
        "smallest": smallest,
        "median": counted.median,
        "largest": largest,
        "average": float(members.sum() / counted.classes),
        "bins": bins,
    }


def guess_facts(sides: BeforeAfter) -> list[dict[str, Any]]:
    """How well sensitive values can be guessed from the class alone: the guess is its most frequent value.

    The share of that value in a class is the confidence. The whole table, taken as one class, shows what
    anybody could guess without knowing the class. The facts hold no value.
    """
    tally = class_tally(sides, "after")
    return [
        {
            "name": column.name,
            "values": len(column.texts),
            "fewest_values": found.fewest_values,
            "highest": found.surest,
            "average": found.right / found.people,
            "table": sides.most_frequent(column, "after"),
            "certain_records": found.certain_people,
            "certain_classes": found.certain_classes,
            "bins": [
                {"from": i / BINS, "to": (i + 1) / BINS, "share": float(people / found.people)}
                for i, people in enumerate(found.bins)
            ],
        }
        for column, found in zip(sides.sensitive if tally.sizes.classes else (), tally.guesses)
    ]


def _riskiest_classes(sides: BeforeAfter) -> dict[str, Any] | None:
    """The classes that give most away: a sensitive value by a safe guess, then a person by a small class.

    Shows values: not for the public.
    """
    tally = class_tally(sides, "after")
    if not sides.attributes or not tally.sizes.classes:
        return None
    rows = [
        {
            "number": None if sides.in_parts else found.number,
            "values": [column.texts[code] for column, code in zip(sides.labels, found.codes)],
            sides.counted: found.size,
            "chance": 1 / found.size,
            "guess": found.guess if sides.sensitive else None,
        }
        for found in tally.riskiest
    ]
    return {"columns": [column.name for column in sides.labels], "classes": rows, "of": tally.sizes.classes}

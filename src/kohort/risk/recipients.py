"""The risk for each recipient of a release, by what they may know of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kohort.errors import counted, percent
from kohort.pipeline.approval import Recipient
from kohort.pipeline.before_after import BeforeAfter
from kohort.problem.models import RiskLimit
from kohort.risk.knowledge import KnownTable, Sets, sweep
from kohort.verification.promises import OF_CLASSES, Counts, Values, stated


def recipient_risks(
    sides: BeforeAfter, recipients: Sequence[Recipient], limits: Sequence[RiskLimit]
) -> list[dict[str, Any]]:
    """What each recipient could find with the original and with the release, and whether limits hold.

    limits  the limits on the risk that the spec promises
    """
    names = [attribute.name for attribute in sides.attributes]
    kept = ~sides.withheld
    persons = None if sides.persons is None else sides.persons[sides.rows[kept]]
    found = []
    for recipient in recipients:
        known = [names.index(name) for name in recipient.knows] if recipient.knows else range(len(names))
        before = sizes_by([sides.attributes[c].column.codes for c in known], sides.persons)
        after = sizes_by([sides.labels[c].codes[kept] for c in known], persons)
        facts = recipient.to_dict() | {
            "known": [names[c] for c in known],
            "before": _figures(before),
            "after": _figures(after),
            "limits": limit_verdicts(after, limits),
        }
        found.append(facts | {"sentence": _sentence(facts)})
    return found


def sizes_by(columns: Sequence[np.ndarray], persons: np.ndarray | None) -> np.ndarray:
    """Sizes of the classes of records that look alike in these columns, in people where they are known."""
    if not columns or not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    table = KnownTable.of(columns, persons)
    seen: list[np.ndarray] = []
    whole = tuple(range(len(columns)))
    sweep(table, Sets(len(columns), 0, (whole,)), lambda _, sizes: seen.append(sizes))
    if persons is None:  # a row is a class
        return table.counts
    return seen[0]


def _figures(sizes: np.ndarray) -> dict[str, Any]:
    """The highest and the average risk, and the smallest class."""
    if not len(sizes):
        return {"maximum": None, "average": None, "smallest_class": None}
    smallest = int(sizes.min())
    return {
        "maximum": 1 / smallest,
        "average": float(len(sizes) / sizes.sum()),
        "smallest_class": smallest,
    }


def limit_verdicts(sizes: np.ndarray, limits: Sequence[RiskLimit]) -> list[dict[str, Any]]:
    """For each limit what classes of these sizes attain, and whether it holds."""
    everybody = np.ones(len(sizes), dtype=bool)
    verdicts = []
    for promise in stated(limits):
        judged = OF_CLASSES[promise.name](promise, Counts(sizes), Values())
        measured = judged.measured(everybody)
        verdicts.append(
            {
                "promise": promise.words,
                "asked": float(judged.asked),
                "measured": None if measured is None else float(measured),
                "holds": bool(judged.holds.all()),
            }
        )
    return verdicts


def _sentence(facts: dict[str, Any]) -> str:
    after, before = facts["after"], facts["before"]
    known = "all quasi-identifiers" if facts["knows"] is None else ", ".join(map(repr, facts["known"]))
    if after["maximum"] is None:
        return f"{facts['name']} gets no record."
    stated = counted(len(facts["controls"]), "control")
    controls = (
        f"{stated} stated, which these figures do not count" if facts["controls"] else "No controls stated"
    )
    return (
        f"{facts['name']}, who may know {known} of people, finds somebody with a chance of at most "
        f"{percent(after['maximum'])}, {percent(after['average'])} on average; with the original it would be "
        f"{percent(before['maximum'])} and {percent(before['average'])}. {controls}."
    )

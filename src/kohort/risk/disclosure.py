"""Attribute disclosure: how sure the best guess of a sensitive value is for those who know the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.class_tally import GuessTally, class_tally

_MOST_VALUES = 20


def attribute_disclosure(sides: BeforeAfter, *, show_values: bool) -> list[dict[str, Any]]:
    """For each sensitive column the confidence of the best guess, by what was known before and after.

    One group-by per sensitive column and side.
    """
    before, after = class_tally(sides, "before").guesses, class_tally(sides, "after").guesses
    return [
        _disclosure(sides, column, was, now, show_values)
        for column, was, now in zip(sides.sensitive, before, after)
    ]


def _disclosure(
    sides: BeforeAfter, column: Column, before: GuessTally, after: GuessTally, show_values: bool
) -> dict[str, Any]:
    baseline = sides.most_frequent(column, "before")
    found: dict[str, Any] = {
        "attribute": column.name,
        "values": len(column.texts),
        "baseline": baseline,
        "before": _summary(before),
        "after": _summary(after),
        "by_value": _by_value(column, after, show_values),
    }
    found["sentence"] = (
        f"Anybody who knows the published class of a person guesses {column.name!r} right in "
        f"{percent(found['after']['average'])} of cases on average, and is never more than "
        f"{percent(found['after']['maximum'])} sure; with the original it was "
        f"{percent(found['before']['average'])}, and without either table it would be {percent(baseline)}."
    )
    return found


def _summary(guesses: GuessTally) -> dict[str, Any]:
    n = guesses.guessed
    if not n:
        return {"maximum": 0.0, "average": 0.0, "over_half": 0.0}
    return {"maximum": guesses.surest, "average": guesses.right / n, "over_half": guesses.over_half / n}


def _by_value(column: Column, guesses: GuessTally, show_values: bool) -> list[dict[str, Any]]:
    """The values that are guessed with most confidence, at most 20; named only where that is asked for."""
    order = np.lexsort((column.counts, -guesses.by_value))[:_MOST_VALUES]
    return [
        ({"value": column.texts[code]} if show_values else {})
        | {
            "share": float(column.counts[code] / len(column)),
            "confidence": float(guesses.by_value[code]),
        }
        for code in order
    ]

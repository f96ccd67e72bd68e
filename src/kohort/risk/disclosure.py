"""Attribute disclosure: how sure the best guess of a sensitive value is for those who know the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.data.counting import count_pairs
from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter

__all__ = ["attribute_disclosure"]

_MOST_VALUES = 20


def attribute_disclosure(sides: BeforeAfter, *, show_values: bool) -> list[dict[str, Any]]:
    """For each sensitive column the confidence of the best guess, by what was known before and after.

    One group-by per sensitive column and side.
    """
    return [_disclosure(sides, column, show_values) for column in sides.sensitive]


def _disclosure(sides: BeforeAfter, column: Column, show_values: bool) -> dict[str, Any]:
    kept = ~sides.withheld
    before = _best_guesses(sides.before.of_record, column.codes, len(column.texts))
    after = _best_guesses(sides.after.of_record[kept], column.codes[sides.rows[kept]], len(column.texts))
    baseline = float(column.counts.max() / len(column))
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


class _Guesses:
    """Each class's size and count of its most frequent value; each value's best confidence."""

    def __init__(self, class_of: np.ndarray, value: np.ndarray, count: np.ndarray, n_values: int) -> None:
        n_classes = int(class_of.max(initial=-1)) + 1
        self.sizes = np.bincount(class_of, weights=count, minlength=n_classes)
        self.top = np.zeros(n_classes)
        np.maximum.at(self.top, class_of, count)
        self.by_value = np.zeros(n_values)
        np.maximum.at(self.by_value, value, count / self.sizes[class_of] if len(count) else count)


def _best_guesses(class_of_record: np.ndarray, codes: np.ndarray, n_values: int) -> _Guesses:
    n_classes = int(class_of_record.max(initial=-1)) + 1
    return _Guesses(*count_pairs(class_of_record, codes, n_classes, n_values), n_values)


def _summary(guesses: _Guesses) -> dict[str, Any]:
    present = guesses.sizes > 0
    sizes, top = guesses.sizes[present], guesses.top[present]
    n = sizes.sum()
    if not n:
        return {"maximum": 0.0, "average": 0.0, "over_half": 0.0}
    return {
        "maximum": float((top / sizes).max()),
        "average": float(top.sum() / n),
        "over_half": float(sizes[2 * top > sizes].sum() / n),
    }


def _by_value(column: Column, guesses: _Guesses, show_values: bool) -> list[dict[str, Any]]:
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

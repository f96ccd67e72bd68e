"""Attribute disclosure: how sure the best guess of a sensitive value is for those who know the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter, Classes

__all__ = ["attribute_disclosure"]

_MOST_VALUES = 20


def attribute_disclosure(sides: BeforeAfter, *, show_values: bool) -> list[dict[str, Any]]:
    """For each sensitive column the confidence of the best guess, by what was known before and after.

    One group-by per sensitive column and side.
    """
    return [_disclosure(sides, column, show_values) for column in sides.sensitive]


def _disclosure(sides: BeforeAfter, column: Column, show_values: bool) -> dict[str, Any]:
    everything = np.arange(sides.n_records)
    before = _Guesses(*sides.value_counts(column, sides.before, everything), sides.sizes_before, column)
    records = np.where(sides.withheld, -1, sides.rows)
    after = _Guesses(*sides.value_counts(column, sides.after, records), sides.sizes_after, column)
    baseline = _baseline(sides, column)
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
    """Each class's size and count of its most frequent value; each value's best confidence.

    class_of, value, count  how many people of a class have a value
    sizes                   how many people each class has; of a class without values, nothing is guessed
    """

    def __init__(
        self, class_of: np.ndarray, value: np.ndarray, count: np.ndarray, sizes: np.ndarray, column: Column
    ) -> None:
        self.top = np.zeros(len(sizes))
        np.maximum.at(self.top, class_of, count)
        self.sizes = np.where(self.top > 0, sizes, 0)
        self.by_value = np.zeros(len(column.texts))
        np.maximum.at(self.by_value, value, count / sizes[class_of])


def _baseline(sides: BeforeAfter, column: Column) -> float:
    """How often the most frequent value of the whole table is right."""
    one_class = Classes(np.zeros((1, 0)), np.array([sides.n_records]), np.zeros(sides.n_records, dtype=int))
    _, _, count = sides.value_counts(column, one_class, np.arange(sides.n_records))
    everybody = sides.n_records if sides.persons is None else int(sides.persons.max()) + 1
    return float(count.max() / everybody)


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

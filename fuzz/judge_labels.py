"""Labels of hierarchies that were built: whether they mean what they say to a reader."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import Any

from by_definition.original_columns import OriginalColumn
from by_definition.published_columns import interval
from by_definition.verification import members
from fuzz.case import python_values

__all__ = ["meaning_complaints"]


def meaning_complaints(judged: Any) -> list[str]:
    """Ancestors of a value, in a hierarchy that was built, that do not say that they hold it."""
    found = []
    for name, source in judged.case.quasi.items():
        word = source if isinstance(source, str) else next(iter(source or {"": 0}))
        if word not in ("intervals", "quantiles", "mask", "date"):
            continue
        original = OriginalColumn(python_values(judged.case.columns[name]))  # no order but the natural one
        for path in judged.paths(name) or []:
            for label in path[1:-1]:
                if not _means(word, label, path[0], original):
                    found.append(f"meaning: {label!r} of {name!r} ({word}) stands above {path[0]!r}")
    return found


def _means(word: str, label: str, value: str, original: Any) -> bool:
    if word == "mask":
        return _masked(label, value)
    if word == "date":
        return _period(label, value)
    if (ends := interval(label, original.number)) is not None:
        return ends(value)
    number = original.number(value)
    if label.startswith(">= "):
        return number >= Fraction(label[3:])
    if label.startswith("< "):
        return number < Fraction(label[2:])
    return value in members(label) if label.startswith("{") else label == value


def _masked(label: str, value: str) -> bool:
    """What is left of the characters is at one end of the value, filled with zeros if it is a number."""
    if label.endswith("*"):
        kept = label.rstrip("*")
        return value.startswith(kept) or value.zfill(len(label)).startswith(kept) or value.rstrip("*") == kept
    kept = label.lstrip("*")
    return value.endswith(kept) or value.zfill(len(label)).endswith(kept)


def _period(label: str, value: str) -> bool:
    day = date.fromisoformat(value[:10])
    if match := re.fullmatch(r"(\d{4})-W(\d\d)", label):
        return day.isocalendar()[:2] == (int(match[1]), int(match[2]))
    if match := re.fullmatch(r"(\d{4})-Q(\d)", label):
        return (day.year, (day.month - 1) // 3 + 1) == (int(match[1]), int(match[2]))
    if match := re.fullmatch(r"(\d{4})-H(\d)", label):
        return (day.year, (day.month - 1) // 6 + 1) == (int(match[1]), int(match[2]))
    if match := re.fullmatch(r"(\d{4})s", label):
        return day.year // 10 * 10 == int(match[1])
    return day.isoformat().startswith(label)

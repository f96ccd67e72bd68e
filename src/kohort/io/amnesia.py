"""Hierarchy files of Amnesia: some lines about the hierarchy, then lines `parent has child child ...`."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from decimal import Decimal, InvalidOperation

from kohort.data.hierarchies.ranges import Range, Ranges
from kohort.errors import InputError

_OPENING = re.compile(r"\s*(distinct|range)[ \t]*\n((name|type|height)\b.*\n)+[ \t]*\n", re.IGNORECASE)
_NOTHING = {"nan", "null", "(null)"}
_EPOCH = date(1970, 1, 1).toordinal()


def is_amnesia(text: str) -> bool:
    """Whether a text is a hierarchy as Amnesia saves it."""
    return _OPENING.match(text.replace("\r\n", "\n")) is not None


def child_parent_rows(text: str, name: str) -> list[list[str]]:
    """Pairs of child and parent of a hierarchy over single values; a missing value is an empty text."""
    whole = _facts(text).get("type") == "int"
    rows = []
    for parent, children in _families(text, name):
        rows += [[_value(child, whole=whole), _value(parent, whole=whole)] for child in children]
    return rows


def ranges_of(text: str, name: str) -> Ranges | None:
    """The ranges of a hierarchy over ranges of numbers or dates; None where it is one over single values."""
    if not text.lstrip().lower().startswith("range"):
        return None
    days = _facts(text).get("type") == "date"
    parent_of: dict[Range, Range] = {}
    for parent, children in _families(text, name):
        around = _range(parent, name, days=days)
        for child in children:
            if not _is_nothing(child):
                parent_of[_range(child, name, days=days)] = around
    narrowest = [range_ for range_ in parent_of if range_ not in set(parent_of.values())]
    if not narrowest:
        raise InputError(f"Hierarchy file {name!r} has no ranges: lines such as `0,10 has 0,5 5,10`.")
    return Ranges(tuple(_path(range_, parent_of) for range_ in narrowest), "day" if days else "number", name)


def _facts(text: str) -> dict[str, str]:
    """What the opening lines say: name, type and height."""
    opening = _OPENING.match(text.replace("\r\n", "\n"))
    lines = opening[0].lower().split("\n")[1:] if opening else []
    return {line.split()[0]: line.split()[1] for line in lines if len(line.split()) > 1}


def _families(text: str, name: str) -> list[tuple[str, list[str]]]:
    """Each parent with its children, in the order of the file."""
    plain = text.replace("\r\n", "\n")
    opening = _OPENING.match(plain)
    assert opening is not None
    found = []
    for number, line in enumerate(
        plain[opening.end() :].split("\n"), start=plain.count("\n", 0, opening.end())
    ):
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or words[1] != "has":
            raise InputError(
                f"Hierarchy file {name!r}, line {number + 1}: expected `parent has child child ...`, "
                "with labels that have no spaces, as Amnesia writes them."
            )
        found.append((words[0], words[2:]))
    return found


def _value(label: str, *, whole: bool) -> str:
    """A label as the data has it: Amnesia writes whole numbers as 17.0, and NaN for a missing value."""
    if _is_nothing(label):
        return ""
    return label.removesuffix(".0") if whole else label


def _is_nothing(label: str) -> bool:
    return label.split(",")[0].lower() in _NOTHING


def _path(range_: Range, parent_of: dict[Range, Range]) -> tuple[Range, ...]:
    path = [range_]
    while path[-1] in parent_of and parent_of[path[-1]] not in path:
        path.append(parent_of[path[-1]])
    return tuple(path)


def _range(text: str, name: str, *, days: bool) -> Range:
    low, _, high = text.partition(",")
    try:
        if days:
            return Range(Decimal(_day(low, first=True)), Decimal(_day(high or low, first=False)))
        return Range(Decimal(low), Decimal(high))
    except (ValueError, InvalidOperation):
        wanted = "dates such as 1/2020,6/2020" if days else "two numbers such as 0,10"
        raise InputError(f"Hierarchy file {name!r}: a range must be {wanted}. Got {text!r}.") from None


def _day(text: str, *, first: bool) -> int:
    """The first or last day, counted from 1970, of a year, a month (6/2020) or a day (15/6/2020)."""
    *smaller, year = (int(part) for part in text.split("/"))
    month = smaller[-1] if smaller else (1 if first else 12)
    day = smaller[0] if len(smaller) > 1 else (1 if first else _last_day(year, month))
    return date(year, month, day).toordinal() - _EPOCH


def _last_day(year: int, month: int) -> int:
    return monthrange(year, month)[1]

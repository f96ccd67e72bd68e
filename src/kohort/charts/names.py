"""Names along an axis: long ones take two lines instead of being clipped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_LONGEST = 24  # characters of a line
_BREAKS = " _-./"


def in_lines(name: str) -> list[str]:
    """A name in one line or two, cut after a break between words where there is one; the rest is left out.

    >>> in_lines("age"), in_lines("postcode_of_the_main_residence")
    (['age'], ['postcode_of_the_main_', 'residence'])
    """
    if len(name) <= _LONGEST:
        return [name]
    cut = max((name.rfind(mark, _LONGEST // 2, _LONGEST) + 1 for mark in _BREAKS), default=0) or _LONGEST
    first, rest = name[:cut].rstrip(), name[cut:].lstrip()
    return [first, rest if len(rest) <= _LONGEST else f"{rest[: _LONGEST - 1]}…"]


def names_axis(names: Iterable[str]) -> dict[str, Any]:
    """The axis of these names, for Vega-Lite; the records keep the names as they are."""
    lines = {name: in_lines(name) for name in names}
    axis = {"ticks": False, "labelLimit": 0}
    if all(len(parts) == 1 for parts in lines.values()):
        return axis
    return axis | {"labelExpr": f"{json.dumps(lines)}[datum.label]", "labelLineHeight": 12}


def row_height(names: Iterable[str], *, least: int) -> int:
    """The height of a row of the chart, enough for the longest of the names."""
    return max([least, *(30 for name in names if len(in_lines(name)) > 1)])

"""What all charts share: colours, fonts and sizes, and how a spec becomes an SVG.

A chart is a Vega-Lite spec, a plain dict made from plain data. Colours are of Okabe and Ito's palette, which
colour-blind people can tell apart; whatever a colour means is also shown by shape, place or lightness.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from kohort.files.atomic import replacing
from kohort.files.checked import write_checked

BEFORE = "#E69F00"
AFTER = "#0072B2"
RULE = "#D55E00"
PERCENT = ".0%"
SHARES = {"format": PERCENT, "values": [0, 0.25, 0.5, 0.75, 1]}  # few enough not to touch each other
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_WIDTH = 380
_LINE = "#88888888"


def page_chart(height: int, values: Sequence[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    """A chart of these records within a page; it takes the page's text colour, in light and dark mode."""
    return {
        "$schema": _SCHEMA,
        "width": _WIDTH,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": None,
        "padding": {"left": 6, "right": 6, "top": 2, "bottom": 2},
        "data": {"values": list(values)},
        "config": _OF_PAGES,
        **parts,
    }


def picture(values: Sequence[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    """A chart of these records that stands alone, on white."""
    return {"$schema": _SCHEMA, "data": {"values": list(values)}, "config": _OF_PICTURES, **parts}


_TEXT = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11, "titleFontSize": 11}
_OF_PAGES: dict[str, Any] = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",  # the first is what they are measured by
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "titleFontWeight": "normal",
        "gridColor": _LINE,
        "gridWidth": 0.5,
        "domainColor": _LINE,
        "tickColor": _LINE,
        "labelLimit": 130,
        "titlePadding": 6,
    },
    "legend": {
        **_TEXT,
        "orient": "top",
        "title": None,
        "symbolType": "square",
        "symbolOpacity": 1,
        "offset": 4,
    },
    "text": {"color": "currentColor", "fontSize": 11},
}
_OF_PICTURES: dict[str, Any] = {
    "background": "white",
    "font": "sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 13, "gridColor": "#e6e6e6"},
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "symbolType": "stroke",
        "symbolSize": 400,
        "symbolStrokeWidth": 2,
        "labelLimit": 0,
    },
    "title": {"fontSize": 14, "anchor": "start"},
}


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


_TAG = re.compile(r"<[a-z][^<>]*>")
_PART_NAMES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')


def svg_of(spec: dict[str, Any], *, alternative: str | None = None) -> str:
    """Draw a chart as SVG, with a text alternative for those who cannot see it. Texts in it are escaped."""
    import vl_convert  # loads a JavaScript engine, so only where a chart is drawn

    svg = vl_convert.vegalite_to_svg(spec)
    if alternative is None:
        return svg
    svg = _TAG.sub(lambda tag: _PART_NAMES.sub("", tag[0]), svg)  # the alternative speaks for all parts
    return svg.replace("<svg ", f"<svg role='img' aria-label={quoteattr(alternative)} ", 1)


def write_svg(spec: dict[str, Any], path: str | Path) -> None:
    """Draw a chart into an SVG file, which appears whole or not at all."""
    with replacing(path) as draft:
        write_checked(draft, svg_of(spec))

"""Colours, fonts and sizes: of charts within a page, and of pictures that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

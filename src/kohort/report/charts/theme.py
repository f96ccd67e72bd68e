"""What all charts share: size, fonts and colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["AFTER", "BEFORE", "PERCENT", "RULE", "chart"]

BEFORE = "#E69F00"
AFTER = "#0072B2"
RULE = "#D55E00"
PERCENT = ".0%"
_WIDTH = 380
_LINE = "#88888888"


def chart(height: int, values: Sequence[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    """A Vega-Lite spec of this height over these records."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": _WIDTH,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": None,
        "padding": {"left": 6, "right": 6, "top": 2, "bottom": 2},
        "data": {"values": list(values)},
        "config": _CONFIG,
        **parts,
    }


_TEXT = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11, "titleFontSize": 11}
_CONFIG: dict[str, Any] = {
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

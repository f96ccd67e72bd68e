"""Charts of classes: their sizes, and how well a sensitive value can be guessed inside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, PERCENT, RULE, SHARES, names_axis, page_chart, row_height


def class_sizes_chart(facts: dict[str, Any]) -> dict[str, Any]:
    """A chart of the share of records in classes of each size."""
    x = {
        "field": "size",
        "type": "nominal",
        "sort": None,
        "title": "records in the class",
        "axis": {"labelAngle": 0, "ticks": False},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of records",
        "axis": {"format": PERCENT, "tickCount": 4},
    }
    return page_chart(
        190,
        facts["bins"],
        encoding={"x": x, "y": y},
        layer=[
            {"mark": {"type": "bar", "color": AFTER, "width": {"band": 0.7}}},
            {
                "mark": {"type": "text", "dy": -6},
                "encoding": {"text": {"field": "share", "format": PERCENT}},
            },
        ],
    )


def guesses_chart(facts: dict[str, Any]) -> dict[str, Any]:
    """A chart of records by the confidence of the best guess; a line marks that of the whole table."""
    line: dict[str, Any] = {
        "data": {"values": [{"table": facts["table"], "label": "whole table"}]},
        "encoding": {"x": {"field": "table", "type": "quantitative"}},
    }
    right = facts["table"] < 0.6
    beside = {"align": "left" if right else "right", "dx": 4 if right else -4}
    return page_chart(
        170,
        facts["bins"],
        layer=[
            _confidence_bars(),
            {**line, "mark": {"type": "rule", "color": RULE, "strokeDash": [5, 3], "strokeWidth": 2}},
            {
                **line,
                "mark": {"type": "text", "y": 0, "dy": -6, **beside},
                "encoding": {**line["encoding"], "text": {"field": "label"}},
            },
        ],
    )


def _confidence_bars() -> dict[str, Any]:
    return {
        "mark": {"type": "bar", "color": AFTER, "stroke": "white", "strokeWidth": 0.5},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "scale": {"domain": [0, 1]},
                "bin": "binned",
                "title": "confidence of the best guess",
                "axis": SHARES,
            },
            "x2": {"field": "to"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share of records",
                "axis": {"format": PERCENT, "tickCount": 4},
            },
        },
    }


def heat_chart(cells: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """A chart of cells with `column`, `size` (how many are known) and `chance`, as shades and texts."""
    height = row_height(names, least=24) * len(names) + 50
    x = {"field": "size", "type": "ordinal", "title": "columns known", "axis": {"labelAngle": 0}}
    y = {"field": "column", "type": "nominal", "sort": list(names), "title": None, "axis": names_axis(names)}
    shade = {
        "field": "chance",
        "type": "quantitative",
        "legend": None,
        "scale": {"domain": [0, 1], "range": ["#eef4fb", "#08306b"]},
    }
    written = {
        "text": {"field": "chance", "type": "quantitative", "format": ".0%"},
        "color": {"condition": {"test": "datum.chance > 0.45", "value": "#ffffff"}, "value": "#10202f"},
    }
    return page_chart(
        height,
        cells,
        encoding={"x": x, "y": y},
        layer=[
            {"mark": {"type": "rect", "stroke": "#ffffff"}, "encoding": {"color": shade}},
            {"mark": {"type": "text", "fontSize": 10}, "encoding": written},
        ],
    )

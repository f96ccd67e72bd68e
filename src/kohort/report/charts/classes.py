"""Charts of classes: their sizes, and how well a sensitive value can be guessed inside them."""

from __future__ import annotations

from typing import Any

from kohort.charts import AFTER, PERCENT, RULE, SHARES, page_chart

__all__ = ["class_sizes_chart", "guesses_chart"]


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

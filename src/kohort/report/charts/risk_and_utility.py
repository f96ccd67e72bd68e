"""Charts of risk and utility: an attack with its interval, pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, BEFORE, RULE, SHARES, page_chart

__all__ = ["attack_chart", "pairs_chart"]


def attack_chart(rows: Sequence[dict[str, Any]], allowed: float) -> dict[str, Any]:
    """A chart of success rates as dots on their intervals, and a line at the rate that k allows."""
    y = {"field": "side", "type": "nominal", "sort": None, "title": None, "axis": {"ticks": False}}
    x = {"type": "quantitative", "scale": {"domain": [0, 1]}, "title": "people found", "axis": SHARES}
    scale = {"domain": ["original", "release"], "range": [BEFORE, AFTER]}
    colour = {"field": "side", "scale": scale, "legend": None}
    return page_chart(
        34 * len(rows) + 60,
        rows,
        encoding={"y": y, "color": colour},
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 3},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90},
                "encoding": {"x": {**x, "field": "rate"}},
            },
            {
                "mark": {"type": "rule", "strokeDash": [5, 3], "strokeWidth": 2, "color": RULE},
                "encoding": {
                    "x": {"datum": allowed},
                    "color": {"value": RULE},
                    "y": {"value": 0},
                    "y2": {"value": "height"},
                },
            },
        ],
    )


def pairs_chart(pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A chart of the association of pairs of columns, before against after; the line means no change."""
    values = [{"before": pair["before"], "after": pair["after"]} for pair in pairs]
    top = max([0.1, *(max(value.values()) for value in values)])
    axis = {"type": "quantitative", "scale": {"domain": [0, top], "nice": True}}
    x, y = ({**axis, "field": side, "title": side} for side in ("before", "after"))
    return page_chart(
        220,
        values,
        layer=[
            {
                "data": {"values": [{"before": 0, "after": 0}, {"before": top, "after": top}]},
                "mark": {"type": "line", "color": RULE, "strokeDash": [5, 3]},
                "encoding": {"x": x, "y": y},
            },
            {
                "mark": {"type": "point", "color": AFTER, "filled": True, "opacity": 0.6},
                "encoding": {"x": x, "y": y},
            },
        ],
    )

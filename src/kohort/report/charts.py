"""The charts of the report: facts in, Vega-Lite specs out; the same spec serves report, notebook and web."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, BEFORE, PERCENT, RULE, SHARES, names_axis, page_chart, row_height
from kohort.report.columns import STEPS


def bars_chart(figures: Sequence[tuple[str, float]], *, title: str, shares: bool = True) -> dict[str, Any]:
    """A chart with a horizontal bar per name; figures are written as shares, or as they are."""
    axis = {"format": PERCENT if shares else ".1f", "tickCount": 4}
    scale = {"domain": [0, max(1.0, *(figure for _, figure in figures))]}
    names = [name for name, _ in figures]
    return page_chart(
        row_height(names, least=22) * len(figures) + 45,
        [{"name": name, "figure": figure} for name, figure in figures],
        encoding={
            "y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": names_axis(names)},
            "x": {"field": "figure", "type": "quantitative", "scale": scale, "axis": axis, "title": title},
        },
        layer=[
            {"mark": {"type": "bar", "color": AFTER, "height": {"band": 0.6}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "figure", "format": ".1%" if shares else ".2f"}},
            },
        ],
    )


_ROW = 22
_SHADES = ["#DCEAF4", "#A9CDE5", "#6BAED6", "#3A87BD", "#08518C", "#3B3B3B"]  # light to dark, also in grey


def steps_chart(shares: Sequence[tuple[str, dict[str, float]]]) -> dict[str, Any]:
    """A chart with a bar per column: the share of its cells at each step from the value to `*`."""
    values = [
        {"column": name, "step": step, "order": STEPS.index(step), "share": share}
        for name, steps in shares
        for step, share in steps.items()
        if share > 0
    ]
    names = [name for name, _ in shares]
    used = [step for step in STEPS if any(value["step"] == step for value in values)]
    return page_chart(
        row_height(names, least=_ROW) * len(shares) + 80,
        values,
        mark={"type": "bar", "stroke": "#888888", "strokeWidth": 0.4},
        encoding={
            "y": {
                "field": "column",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": names_axis(names),
            },
            "x": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 1]},
                "axis": SHARES,
                "title": "share of records",
            },
            "color": {
                "field": "step",
                "scale": {"domain": used, "range": [_SHADES[STEPS.index(step)] for step in used]},
                "legend": {"columns": 3, "columnPadding": 16},
            },
            "order": {"field": "order", "type": "quantitative"},
        },
    )


_COLOURS = {"before": BEFORE, "after": AFTER}
_WIDTHS = {"before": 0.9, "after": 0.45}  # shares of the space of a bar
_OPACITIES = {"before": 0.55, "after": 1.0}


def distribution_chart(rows: Sequence[dict[str, Any]], *, ordered: bool) -> dict[str, Any]:
    """A chart of records per value: vertical bars where values have an order, else horizontal ones."""
    count = {"title": "records", "axis": {"tickCount": 4, "tickMinStep": 1, "format": ",d"}}
    names = [row["value"] for row in rows]
    height = 150 if ordered else row_height(names, least=20) * len(rows) + 55
    return page_chart(height, rows, layer=_layers(names, count, upright=ordered, sides=("before", "after")))


def rates_chart(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A chart of rates between 0 and 1, a horizontal bar each; rows may lack `before`."""
    rate = {"title": None, "axis": SHARES, "scale": {"domain": [0, 1]}}
    sides = tuple(side for side in _COLOURS if side in rows[0])
    names = [row["value"] for row in rows]
    height = row_height(names, least=24) * len(rows) + 45
    return page_chart(height, rows, layer=_layers(names, rate, upright=False, sides=sides))


def _layers(
    names: Sequence[str], figure: dict[str, Any], *, upright: bool, sides: tuple[str, ...]
) -> list[dict[str, Any]]:
    below = {
        "ticks": False,
        "labelOverlap": True,
        "labelAngle": 0,
        "labelPadding": 8,
    }  # clear of the 0 beside
    axis = below if upright else names_axis(names)
    name = {"field": "value", "type": "nominal", "sort": None, "title": None, "axis": axis}
    scale = {"domain": list(sides), "range": [_COLOURS[side] for side in sides]}
    layers = []
    for side in sides:
        counted = {**figure, "field": side, "type": "quantitative"}
        place = {"x": name, "y": counted} if upright else {"y": name, "x": counted}
        size = {"width" if upright else "height": {"band": _WIDTHS[side]}}
        layers.append(
            {
                "mark": {"type": "bar", "opacity": _OPACITIES[side], **size},
                "encoding": {**place, "color": {"datum": side, "scale": scale}},
            }
        )
    return layers


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
            {"mark": {"type": "text", "dy": -6}, "encoding": {"text": {"field": "share", "format": PERCENT}}},
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

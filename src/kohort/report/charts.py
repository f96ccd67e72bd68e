"""The charts of the report: facts in, Vega-Lite specs out; the same spec serves report, notebook and web."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, BEFORE, PERCENT, RULE, SHARES, names_axis, page_chart, row_height
from kohort.report.columns import STEPS

_DASHED = {"color": RULE, "strokeDash": [5, 3]}
_OF_RECORDS = {"title": "share of records", "axis": {"format": PERCENT, "tickCount": 4}}
_ZERO_TO_ONE = {"domain": [0, 1]}


def _names(field: str, names: Sequence[str]) -> dict[str, Any]:
    """An axis of names, in the order in which they are given."""
    return {"field": field, "type": "nominal", "sort": None, "title": None, "axis": names_axis(names)}


def _amount(field: str, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", **more}


def bars_chart(figures: Sequence[tuple[str, float]], *, title: str, shares: bool = True) -> dict[str, Any]:
    """A chart with a horizontal bar per name; figures are written as shares, or as they are."""
    axis = {"format": PERCENT if shares else ".1f", "tickCount": 4}
    scale = {"domain": [0, max(1.0, *(figure for _, figure in figures))]}
    names = [name for name, _ in figures]
    text = {"field": "figure", "format": ".1%" if shares else ".2f"}
    return page_chart(
        row_height(names, least=22) * len(figures) + 45,
        [{"name": name, "figure": figure} for name, figure in figures],
        encoding={"y": _names("name", names), "x": _amount("figure", scale=scale, axis=axis, title=title)},
        layer=[
            {"mark": {"type": "bar", "color": AFTER, "height": {"band": 0.6}}},
            {"mark": {"type": "text", "align": "left", "dx": 4}, "encoding": {"text": text}},
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
    shades = {"domain": used, "range": [_SHADES[STEPS.index(step)] for step in used]}
    return page_chart(
        row_height(names, least=_ROW) * len(shares) + 80,
        values,
        mark={"type": "bar", "stroke": "#888888", "strokeWidth": 0.4},
        encoding={
            "y": _names("column", names),
            "x": _amount("share", scale=_ZERO_TO_ONE, axis=SHARES, title="share of records"),
            "color": {"field": "step", "scale": shades, "legend": {"columns": 3, "columnPadding": 16}},
            "order": _amount("order"),
        },
    )


_COLOURS = {"before": BEFORE, "after": AFTER}
_WIDTHS = {"before": 0.9, "after": 0.45}  # shares of the space of a bar
_OPACITIES = {"before": 0.55, "after": 1.0}


def distribution_chart(rows: Sequence[dict[str, Any]], *, ordered: bool) -> dict[str, Any]:
    """A chart of records per value: vertical bars where values have an order, else horizontal ones."""
    count = {"title": "records", "axis": {"tickCount": 4, "tickMinStep": 1, "format": ",d"}}
    height = 150 if ordered else row_height([row["value"] for row in rows], least=20) * len(rows) + 55
    return _sides_chart(height, rows, count, upright=ordered)


def rates_chart(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A chart of rates between 0 and 1, a horizontal bar each; rows may lack `before`."""
    height = row_height([row["value"] for row in rows], least=24) * len(rows) + 45
    return _sides_chart(height, rows, {"title": None, "axis": SHARES, "scale": _ZERO_TO_ONE}, upright=False)


def _sides_chart(
    height: int, rows: Sequence[dict[str, Any]], figure: dict[str, Any], *, upright: bool
) -> dict[str, Any]:
    """A chart with a wide bar per row for what was, if that is known, and a narrow one for what is now."""
    name = _names("value", [row["value"] for row in rows])
    if upright:  # clear of the 0 beside
        name["axis"] = {"ticks": False, "labelOverlap": True, "labelAngle": 0, "labelPadding": 8}
    sides = [side for side in _COLOURS if side in rows[0]]
    scale = {"domain": sides, "range": [_COLOURS[side] for side in sides]}
    layers = []
    for side in sides:
        counted = _amount(side, **figure)
        place = {"x": name, "y": counted} if upright else {"y": name, "x": counted}
        size = {"width" if upright else "height": {"band": _WIDTHS[side]}}
        mark = {"type": "bar", "opacity": _OPACITIES[side], **size}
        layers.append({"mark": mark, "encoding": {**place, "color": {"datum": side, "scale": scale}}})
    return page_chart(height, rows, layer=layers)


def attack_chart(rows: Sequence[dict[str, Any]], allowed: float) -> dict[str, Any]:
    """A chart of success rates as dots on their intervals, and a line at the rate that k allows."""
    y = {"field": "side", "type": "nominal", "sort": None, "title": None, "axis": {"ticks": False}}
    x = {"type": "quantitative", "scale": _ZERO_TO_ONE, "title": "people found", "axis": SHARES}
    scale = {"domain": ["original", "release"], "range": [BEFORE, AFTER]}
    line = {"x": {"datum": allowed}, "color": {"value": RULE}, "y": {"value": 0}, "y2": {"value": "height"}}
    between = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return page_chart(
        34 * len(rows) + 60,
        rows,
        encoding={"y": y, "color": {"field": "side", "scale": scale, "legend": None}},
        layer=[
            {"mark": {"type": "rule", "strokeWidth": 3}, "encoding": between},
            {
                "mark": {"type": "point", "filled": True, "size": 90},
                "encoding": {"x": {**x, "field": "rate"}},
            },
            {"mark": {"type": "rule", "strokeWidth": 2, **_DASHED}, "encoding": line},
        ],
    )


def pairs_chart(pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A chart of the association of pairs of columns, before against after; the line means no change."""
    values = [{"before": pair["before"], "after": pair["after"]} for pair in pairs]
    top = max([0.1, *(max(value.values()) for value in values)])
    scale = {"domain": [0, top], "nice": True}
    both = {axis: _amount(side, scale=scale, title=side) for axis, side in (("x", "before"), ("y", "after"))}
    ends = {"data": {"values": [{"before": end, "after": end} for end in (0, top)]}}
    dot = {"type": "point", "color": AFTER, "filled": True, "opacity": 0.6}
    return page_chart(
        220,
        values,
        layer=[
            {**ends, "mark": {"type": "line", **_DASHED}, "encoding": both},
            {"mark": dot, "encoding": both},
        ],
    )


def class_sizes_chart(facts: dict[str, Any]) -> dict[str, Any]:
    """A chart of the share of records in classes of each size."""
    axis = {"labelAngle": 0, "ticks": False}
    x = {"field": "size", "type": "nominal", "sort": None, "title": "records in the class", "axis": axis}
    return page_chart(
        190,
        facts["bins"],
        encoding={"x": x, "y": _amount("share", **_OF_RECORDS)},
        layer=[
            {"mark": {"type": "bar", "color": AFTER, "width": {"band": 0.7}}},
            {"mark": {"type": "text", "dy": -6}, "encoding": {"text": {"field": "share", "format": PERCENT}}},
        ],
    )


def guesses_chart(facts: dict[str, Any]) -> dict[str, Any]:
    """A chart of records by the confidence of the best guess; a line marks that of the whole table."""
    data, x = {"values": [{"table": facts["table"], "label": "whole table"}]}, {"x": _amount("table")}
    right = facts["table"] < 0.6
    label = {
        "type": "text",
        "y": 0,
        "dy": -6,
        "align": "left" if right else "right",
        "dx": 4 if right else -4,
    }
    bins = {"scale": _ZERO_TO_ONE, "bin": "binned", "title": "confidence of the best guess", "axis": SHARES}
    bars = {
        "mark": {"type": "bar", "color": AFTER, "stroke": "white", "strokeWidth": 0.5},
        "encoding": {
            "x": _amount("from", **bins),
            "x2": {"field": "to"},
            "y": _amount("share", **_OF_RECORDS),
        },
    }
    return page_chart(
        170,
        facts["bins"],
        layer=[
            bars,
            {"data": data, "encoding": x, "mark": {"type": "rule", "strokeWidth": 2, **_DASHED}},
            {"data": data, "mark": label, "encoding": {**x, "text": {"field": "label"}}},
        ],
    )


def heat_chart(cells: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """A chart of cells with `column`, `size` (how many are known) and `chance`, as shades and texts."""
    x = {"field": "size", "type": "ordinal", "title": "columns known", "axis": {"labelAngle": 0}}
    shades = {"domain": [0, 1], "range": ["#eef4fb", "#08306b"]}
    written = {
        "text": _amount("chance", format=".0%"),
        "color": {"condition": {"test": "datum.chance > 0.45", "value": "#ffffff"}, "value": "#10202f"},
    }
    rect = {"color": _amount("chance", legend=None, scale=shades)}
    return page_chart(
        row_height(names, least=24) * len(names) + 50,
        cells,
        encoding={"x": x, "y": _names("column", names) | {"sort": list(names)}},
        layer=[
            {"mark": {"type": "rect", "stroke": "#ffffff"}, "encoding": rect},
            {"mark": {"type": "text", "fontSize": 10}, "encoding": written},
        ],
    )

"""Charts of figures before and after: a wide pale bar and a narrow dark one, on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, BEFORE, SHARES, names_axis, page_chart, row_height

__all__ = ["distribution_chart", "rates_chart"]

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

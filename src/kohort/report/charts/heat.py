"""A heat map: rows of columns, shaded by the chance of being found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import names_axis, page_chart, row_height

__all__ = ["heat_chart"]


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

"""The chart of named figures between 0 and 1: bars with their figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, PERCENT, names_axis, page_chart, row_height

__all__ = ["bars_chart"]


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

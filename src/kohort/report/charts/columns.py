"""The chart of columns: how far each was generalized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import SHARES, names_axis, page_chart, row_height
from kohort.report.attribute_facts import STEPS

__all__ = ["steps_chart"]

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

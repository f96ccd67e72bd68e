"""Line charts of an experiment: records to a CSV file, panels of lines to an SVG file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kohort import charts

Record = dict[str, Any]


class Panel(NamedTuple):
    """One chart: a line per series of `records`, over x. The axis of y begins at 0 if `from_zero` says so."""

    title: str
    records: Sequence[Record]
    x: str
    y: str
    series: str
    from_zero: bool = True


def write_csv(records: Sequence[Record], path: Path) -> None:
    """All records, with the fields of the first as columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def write_svg(panels: Sequence[Panel], path: Path, *, columns: int = 2) -> None:
    """The panels side by side, drawn as all charts of Kohort are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    charts.write_svg(charts.picture([], columns=columns, concat=[_lines(panel) for panel in panels]), path)


def _lines(panel: Panel) -> dict[str, Any]:
    """A line per series, which its colour and its dashes tell apart."""
    series = {"field": panel.series, "type": "nominal", "title": None}
    return {
        "data": {"values": list(panel.records)},
        "title": panel.title,
        "width": 300,
        "height": 220,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": panel.x, "type": "quantitative", "scale": {"zero": False}},
            "y": {"field": panel.y, "type": "quantitative", "scale": {"zero": panel.from_zero}},
            "color": series,
            "strokeDash": series,
        },
    }

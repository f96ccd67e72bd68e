"""Line charts of an experiment: records to a CSV file, panels of lines to an SVG file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

Record = dict[str, Any]


class Panel(NamedTuple):
    """One chart: a line per series of `records`, over x."""

    title: str
    records: Sequence[Record]
    x: str
    y: str
    series: str


def write_csv(records: Sequence[Record], path: Path) -> None:
    """All records, with the fields of the first as columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def write_svg(panels: Sequence[Panel], path: Path, *, columns: int = 2) -> None:
    """The panels side by side, with the altair and vl-convert-python of kohort[experiments]."""
    import altair as alt

    path.parent.mkdir(parents=True, exist_ok=True)
    charts = [
        alt.Chart(alt.Data(values=list(panel.records)), title=panel.title, width=300, height=220)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{panel.x}:Q", scale=alt.Scale(zero=False)),
            y=alt.Y(f"{panel.y}:Q"),
            color=alt.Color(f"{panel.series}:N", title=None),
            strokeDash=alt.StrokeDash(f"{panel.series}:N", title=None),
        )
        for panel in panels
    ]
    alt.concat(*charts, columns=columns).save(str(path))

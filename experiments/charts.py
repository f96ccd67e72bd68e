"""Line charts from rows of figures: a CSV file and an SVG picture side by side."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["line_chart", "write_csv"]


def line_chart(
    rows: Sequence[Mapping[str, object]], *, x: str, y: str, series: str, title: str, path: str | Path
) -> None:
    """Write the rows to PATH.csv and draw y over x, a line for each value of `series`, to PATH.svg."""
    import altair as alt

    path = Path(path)
    write_csv(rows, path.with_suffix(".csv"))
    lines = (
        alt.Chart(alt.Data(values=[dict(row) for row in rows]), title=title, width=420, height=280)
        .mark_line(point=True)
        .encode(
            x=alt.X(field=x, type="ordinal", title=x, axis=alt.Axis(labelAngle=0)),
            y=alt.Y(field=y, type="quantitative", title=y, scale=alt.Scale(zero=False)),
            color=alt.Color(field=series, type="nominal", title=series),
        )
    )
    lines.save(str(path.with_suffix(".svg")))


def write_csv(rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """Rows of figures as they are, in the columns of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

"""Comparisons and frontiers as a person sees them: a row per release, and charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.charts import AFTER, RULE, picture
from kohort.comparison.grid import Row
from kohort.display import Display, Figures
from kohort.errors import counted, percent

_ASKED = ("algorithm", "cost", "k", "l", "alpha", "t")
_FOUND = ("loss", "gap", "solver_gap", "highest_risk", "best_guess", "query_error", "seconds")
_NAMES = ("algorithm", "cost")
_SHARES = ("gap", "solver_gap", "highest_risk", "best_guess", "query_error")


def comparison_display(rows: Sequence[Row]) -> Display:
    """The figures of every release that could be made, and the reasons for the others."""
    done = sum(row["status"] == "done" for row in rows)
    failed = len(rows) - done
    beside = f"; {failed:,} could not be made" if failed else ""
    return Display(f"Comparison of {counted(done, 'release')}{beside}", _parts(rows, _ASKED))


def frontier_display(points: Sequence[Row], failed: Sequence[Row], parameter: str, sentence: str) -> Display:
    """The figures of every step, and what they suggest."""
    title = f"Risk and loss for {counted(len(points), 'value')} of {parameter}"
    return Display(title, [*_parts([*points, *failed], (parameter,)), sentence])


def _parts(rows: Sequence[Row], asked: Sequence[str]) -> list[str | Figures]:
    if len({row["cost"] for row in rows}) == 1:
        asked = [name for name in asked if name != "cost"]  # it says nothing
    done = [row for row in rows if row["status"] == "done"]
    reasons = [_reason(row, asked) for row in rows if row["status"] != "done"]
    if not done:
        return [*reasons]
    used = [name for name in (*asked, *_FOUND) if any(row.get(name) is not None for row in done)]
    texts = [[_text(name, row.get(name)) for name in used] for row in done]
    return [Figures([name.replace("_", " ") for name in used], texts, left=_NAMES), *reasons]


def _reason(row: Row, asked: Sequence[str]) -> str:
    what = [str(row[name]) if name in _NAMES else f"{name} = {row[name]}" for name in asked if row[name]]
    return f"Not made ({', '.join(what)}): {row['reason']}"


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in _SHARES:
        return percent(value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


Chart = dict[str, Any]


def comparison_chart(rows: Sequence[Row]) -> Chart:
    """A chart of loss against k and against time, with a line per algorithm (and cost, if several)."""
    done = [row for row in rows if row["status"] == "done"]
    several = len({row["cost"] for row in done}) > 1
    records = [
        {
            "series": f"{row['algorithm']}, {row['cost']}" if several else row["algorithm"],
            "k": row["k"],
            "loss": row["loss"],
            "seconds": max(row["cpu_seconds"], 0.01),
        }
        for row in done
    ]
    lossless = any(row["loss"] <= 0 for row in done)  # what a logarithmic axis cannot show
    loss = {
        "field": "loss",
        "type": "quantitative",
        "title": "information loss" if lossless else "information loss (logarithmic)",
        "scale": {"type": "linear"} if lossless else {"type": "log", "nice": False},
    }
    ks = sorted({row["k"] for row in done if row["k"] is not None})
    return picture(
        records,
        description="Information loss of each algorithm against k, and against the seconds it took.",
        hconcat=[
            _lines("Loss against k", "k", "k", {"values": ks}, loss),
            _lines(
                "Loss against time, one point for each k", "seconds", "CPU seconds", {"tickCount": 5}, loss
            ),
        ],
    )


def frontier_chart(points: Sequence[Row], parameter: str, risk: str, risk_title: str, knee: Any) -> Chart:
    """A chart of risk against loss with a point per value of the parameter; the knee is highlighted."""
    records = [
        {
            "risk": row[risk],
            "loss": row["loss"],
            "label": f"{parameter} = {row[parameter]:g}",
            "knee": row[parameter] == knee,
            "order": place,
        }
        for place, row in enumerate(points)
    ]
    position = {
        "x": {"field": "risk", "type": "quantitative", "title": risk_title, "axis": {"format": "%"}},
        "y": {"field": "loss", "type": "quantitative", "title": "information loss"},
    }
    is_knee = {"test": "datum.knee", "value": RULE}
    return picture(
        records,
        description=f"Risk against information loss for each {parameter}.",
        width=460,
        height=320,
        title="Risk against loss" + (f": the knee is at {parameter} = {knee:g}" if knee is not None else ""),
        encoding=position,
        layer=[
            {
                "mark": {"type": "line", "color": AFTER},
                "encoding": {"order": {"field": "order", "type": "quantitative"}},
            },
            {
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {
                    "color": {"condition": is_knee, "value": AFTER},
                    "shape": {"condition": is_knee | {"value": "diamond"}, "value": "circle"},
                    "size": {"condition": is_knee | {"value": 220}, "value": 70},
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 10, "dy": -8, "fontSize": 12},
                "encoding": {"text": {"field": "label"}},
            },
        ],
    )


def _lines(title: str, x: str, x_title: str, axis: Chart, loss: Chart) -> Chart:
    series = {"field": "series", "type": "nominal", "title": None}
    scale = {"type": "log", "nice": False}
    return {
        "title": title,
        "width": 380,
        "height": 320,
        "mark": {"type": "line", "point": {"filled": True, "size": 60}},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "scale": scale, "title": x_title, "axis": axis},
            "y": loss,
            "order": {"field": "k", "type": "quantitative"},
            "color": series | {"scale": {"scheme": "tableau20"}},
            "strokeDash": series,
        },
    }

"""The frontier of risk and loss: sweep one parameter, find the knee, and say in words what it means.

The knee is found as in Kneedle (Satopää, Albrecht, Irwin and Raghavan, 2011): both axes from 0 to 1, the
point that lies farthest below the straight line from the one end to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.algorithms import Progress
from kohort.charts import write_svg
from kohort.comparison.compare import Settings, run_cells
from kohort.comparison.display import frontier_chart, frontier_display
from kohort.comparison.grid import Row, cells
from kohort.errors import InputError, percent
from kohort.problem.promises import RiskLimit
from kohort.statement import Statement

_VALUES_OF_K = (2, 3, 5, 10, 20, 50, 100)
_RISKS = {
    "highest_risk": "chance that the person most at risk is found",
    "best_guess": "confidence of the best guess of a sensitive value",
}


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Risk and loss for each value of a parameter, and the knee between them.

    points  the rows of the releases that could be made, in the order of the sweep
    failed  the rows of the others, with their reasons
    limits  the limits on the risk that the spec promises; the sweep is made without them
    """

    parameter: str
    risk: str
    points: list[Row]
    failed: list[Row]
    limits: tuple[RiskLimit, ...] = ()

    @property
    def knee(self) -> float | None:
        """The value of the parameter at the knee; None if there is no knee."""
        place = knee_of([p[self.risk] for p in self.points], [p["loss"] for p in self.points])
        return None if place is None else self.points[place][self.parameter]

    @property
    def sentence(self) -> str:
        """Sentences that say what the sweep suggests, and which k a limit on the risk needs."""
        return " ".join([*(limit.why_this_k() for limit in self.limits), self._about_the_knee])

    @property
    def _about_the_knee(self) -> str:
        if len(self.points) < 3:
            return f"A knee needs at least three releases, and {len(self.points)} could be made."
        if self.knee is None:
            return (
                f"There is no knee between the {len(self.points)} releases: each step costs about as much as "
                f"the one before. Choose {self.parameter} by the highest risk that you can accept."
            )
        at = next(p for p in self.points if p[self.parameter] == self.knee)
        first, last = self.points[0], self.points[-1]
        return (
            f"The knee is at {self._name(at)}. From {self._name(first)} to there, the {_RISKS[self.risk]} "
            f"falls from {percent(first[self.risk])} to {percent(at[self.risk])}, and the loss goes from "
            f"{first['loss']:.3f} to {at['loss']:.3f}. Going on to {self._name(last)} takes the risk to "
            f"{percent(last[self.risk])} and the loss to {last['loss']:.3f}: less safety for each bit of "
            "detail that is given up."
        )

    def _name(self, point: Row) -> str:
        return f"{self.parameter} = {point[self.parameter]:g}"

    def __repr__(self) -> str:
        return frontier_display(self.points, self.failed, self.parameter, self.sentence).text()

    def _repr_html_(self) -> str:
        return frontier_display(self.points, self.failed, self.parameter, self.sentence).html()

    def facts(self) -> dict[str, Any]:
        """The frontier as plain data."""
        return {
            "kohort": "frontier",
            "parameter": self.parameter,
            "risk": self.risk,
            "points": self.points,
            "failed": self.failed,
            "knee": self.knee,
            "rule": "farthest below the line between both ends, risk and loss from 0 to 1 (Kneedle)",
            "limits": [limit.to_dict() | {"k": limit.least_class} for limit in self.limits],
            "sentence": self.sentence,
        }

    def plot(self, path: str | Path) -> None:
        """A chart of risk against loss, as SVG."""
        write_svg(frontier_chart(self.points, self.parameter, self.risk, _RISKS[self.risk], self.knee), path)


def trace_frontier(
    table: pa.Table,
    spec: Statement,
    settings: Settings,
    *,
    algorithm: str | None = None,
    progress: Progress | None = None,
    **swept: Sequence[Any] | None,
) -> Frontier:
    """Sweep one parameter, the others as in the spec; k by default."""
    given = {name: values for name, values in swept.items() if values}
    if len(given) > 1:
        raise InputError(f"One parameter is swept at a time, not {' and '.join(given)}.")
    limits = tuple(model for model in spec.models if isinstance(model, RiskLimit))
    usual = sorted({*_VALUES_OF_K, *(limit.least_class for limit in limits)})
    [(parameter, values)] = given.items() or [("k", [k for k in usual if k <= table.num_rows])]
    if parameter == "k":  # a limit would change every k that is below the one it needs
        spec = spec.promising(promise for promise in spec.promises if promise not in limits)
    grid = cells(spec, algorithms=[algorithm or spec.algorithm_name], costs=None, **{parameter: values})
    grid.sort(key=lambda cell: getattr(cell, parameter), reverse=parameter in ("alpha", "t"))
    rows = run_cells(grid, table, spec, settings, progress)
    risk = "highest_risk" if parameter == "k" else "best_guess"
    points = [row for row in rows if row["status"] == "done" and row[risk] is not None]
    return Frontier(parameter, risk, points, [row for row in rows if row not in points], limits)


def knee_of(risk: Sequence[float], loss: Sequence[float]) -> int | None:
    """The place of the knee of a falling risk and a rising loss; None where no point is below the line.

    >>> knee_of([0.5, 0.2, 0.1, 0.05], [0.0, 0.1, 0.5, 1.0])
    1
    """
    spread = max(risk, default=0) - min(risk, default=0), max(loss, default=0) - min(loss, default=0)
    if len(risk) < 3 or min(spread) <= 0:
        return None
    below = [1 - (r - min(risk)) / spread[0] - (x - min(loss)) / spread[1] for r, x in zip(risk, loss)]
    place = max(range(len(below)), key=below.__getitem__)
    return place if below[place] > 1e-9 else None

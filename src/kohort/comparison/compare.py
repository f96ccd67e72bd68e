"""Run the grid of a comparison, one release after another, each in a process of its own."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import TIMEOUT_MAX, Timer
from typing import Annotated, Any

import pyarrow as pa

from kohort.algorithms import Progress
from kohort.charts import write_svg
from kohort.comparison.display import comparison_chart, comparison_display
from kohort.comparison.grid import (
    COLUMNS,
    Cell,
    Row,
    cells,
    fingerprint,
    read_rows,
    with_stricter,
    write_rows,
)
from kohort.comparison.worker import Job
from kohort.io.read_spec import with_files
from kohort.kernels.compile_time import compile_ahead
from kohort.parameters import Seconds, Seed, Within, check_parameters
from kohort.statement import Statement
from kohort.version import __version__

_FINAL = ("done", "refused", "infeasible")  # what is not tried again
_COMPILED = 0.1  # seconds
_GRACE = 60.0  # seconds beyond the time limit until a run is stopped that does not heed it


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The figures of many releases. `rows` are plain data; a release that could not be made has a reason."""

    rows: list[Row]

    @property
    def table(self) -> pa.Table:
        """All figures as a PyArrow table."""
        return pa.table({name: [row.get(name) for row in self.rows] for name in COLUMNS})

    def plot(self, path: str | Path) -> None:
        """Charts of loss against k and of loss against time, as SVG."""
        write_svg(comparison_chart(self.rows), path)

    def __repr__(self) -> str:
        return comparison_display(self.rows).text()

    def _repr_html_(self) -> str:
        return comparison_display(self.rows).html()


@dataclass(frozen=True)
class Settings:
    """How the releases of a comparison are made and measured.

    beside      the folder that hierarchy files of the spec are relative to
    out         the CSV file that is written after each release, and read to go on where it stopped
    queries     COUNT queries for the query error
    seed        the seed of the queries and of the people looked up
    time_limit  seconds for each release
    """

    beside: str | Path = "."
    out: Path | None = None
    queries: Annotated[int, Within(0, 1_000_000_000)] = 1000
    seed: Seed = 0
    time_limit: Seconds | None = None

    def __post_init__(self) -> None:
        check_parameters(self, say="{name!r}")


def compare_releases(
    table: pa.Table,
    spec: Statement,
    settings: Settings,
    *,
    algorithms: Sequence[str] | None = None,
    costs: Sequence[str] | None = None,
    progress: Progress | None = None,
    **swept: Sequence[Any] | None,
) -> Comparison:
    """Make and measure a release for every cell of the grid."""
    grid = cells(spec, algorithms=algorithms, costs=costs, **swept)
    return Comparison(run_cells(grid, table, spec, settings, progress))


def run_cells(
    grid: Sequence[Cell], table: pa.Table, spec: Statement, settings: Settings, progress: Progress | None
) -> list[Row]:
    """A row per cell; those that `out` has already are not run again, and it is written after each one."""
    out = settings.out
    resolved = with_files(spec, beside=settings.beside)  # every release is made by the same hierarchies
    job = fingerprint(table, spec, resolved, queries=settings.queries, seed=settings.seed)
    rows = read_rows(out, job) if out is not None and out.exists() else []
    limited = resolved.overridden(time_limit=settings.time_limit)
    report = progress or (lambda what, share: None)
    compile_ahead(list(dict.fromkeys(cell.algorithm for cell in grid)))
    for number, cell in enumerate(grid):
        place = next((i for i, row in enumerate(rows) if _is_of(row, cell)), None)
        if place is not None and rows[place]["status"] in _FINAL:
            continue

        def tell(share: float, number: int = number, cell: Cell = cell) -> None:
            report(f"{number + 1} of {len(grid)}: {cell}", (number + share) / len(grid))

        tell(0.0)
        asked = Job(table, cell.spec(limited), settings.queries, settings.seed)
        figures = _figures(asked, settings.time_limit, tell)
        row = dict.fromkeys(COLUMNS) | asdict(cell) | figures | {"version": __version__, "job": job}
        rows = [*rows, row] if place is None else [*rows[:place], row, *rows[place + 1 :]]
        if out is not None:
            write_rows(rows, out)
    rows = with_stricter(rows)
    if out is not None:
        write_rows(rows, out)
    return [next(row for row in rows if _is_of(row, cell)) for cell in grid]


def _is_of(row: Row, cell: Cell) -> bool:
    return all(row[name] == value for name, value in asdict(cell).items())


def _figures(job: Job, time_limit: float | None, tell: Callable[[float], None]) -> dict[str, Any]:
    """The figures of one release, made again if kernels had to be compiled: that costs time and memory."""
    figures = _run(job, time_limit, tell)
    if figures.pop("compiling", 0.0) > _COMPILED:
        figures = _run(job, time_limit, tell)
        figures.pop("compiling", None)
    return figures


def _run(job: Job, time_limit: float | None, tell: Callable[[float], None]) -> dict[str, Any]:
    """The figures that a worker returns; those of a worker that dies say so."""
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
    }
    limit = TIMEOUT_MAX if time_limit is None else time_limit + _GRACE
    with subprocess.Popen([sys.executable, "-m", "kohort.comparison.worker"], **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        overtime = Timer(limit, process.kill)
        try:
            overtime.start()
            with suppress(BrokenPipeError), process.stdin:  # a worker that dies early says nothing
                pickle.dump(job, process.stdin)
            for line in map(json.loads, process.stdout):
                if "status" in line:
                    return line
                tell(line["progress"])
            process.wait()
        finally:
            overtime.cancel()
            process.kill()  # a worker does not outlive a comparison that is stopped
    if process.returncode == -9 and time_limit is not None:
        return {"status": "stopped", "reason": f"It did not end within {limit:g} seconds."}
    reason = f"The process ended with {process.returncode}; there may be too little memory."
    return {"status": "failed", "reason": reason}

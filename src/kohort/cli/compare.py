"""kohort compare and kohort frontier: many releases of one table side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.options import Data, SpecFile
from kohort.cli.plain_help import bundle, option
from kohort.cli.sources import file_of

if TYPE_CHECKING:
    from rich.table import Table

    from kohort.cli.console import Output
    from kohort.comparison import Settings


_Swept: Any = bundle(
    l=option(str, "Values of l, such as 2,3, for the spec's diversity.", name="l"),
    alpha=option(str, "Values of alpha, such as 0.2,0.5, instead of the spec's."),
    t=option(str, "Values of t, such as 0.1,0.2, for the spec's closeness.", name="t"),
)


class Sweep(_Swept):
    """The parameters of privacy models that are swept besides k."""

    def values(self, k: str | None) -> dict[str, Any]:
        """The values of each parameter, k among them."""
        return {"k": _numbers(k, int), **{name: _numbers(text) for name, text in asdict(self).items()}}


def _values_of_k(help: str, default: str) -> Any:
    return Annotated[str | None, typer.Option("--k", "-k", help=help, show_default=default)]


_Compared: Any = bundle(
    k=(_values_of_k("Values of k, such as 5,10,50.", "the spec's"), None),
    algorithms=option(str, "Names, separated by commas.", show_default="all"),
    costs=option(str, "Costs to minimise, separated by commas.", show_default="the spec's"),
)
_Traced: Any = bundle(
    k=(_values_of_k("Values of k to sweep.", "2,3,5,10,20,50,100"), None),
    algorithm=option(str, "The algorithm to use instead of the spec's."),
)


class Compared(_Compared):
    """What is compared."""


class Traced(_Traced):
    """What is swept."""


_Measured: Any = bundle(
    plot=option(Path, "Also draw the figures (SVG): loss against k and time, or risk against loss."),
    queries=option(int, "How many COUNT queries to ask for the query error.", 1000),
    seed=option(int, "The seed of the queries and of the people looked up.", 0),
    time_limit=option(float, "Seconds allowed for each release."),
)


class Measuring(_Measured):
    """How the releases are measured."""

    def settings(self, spec: Path, out: Path | None) -> Settings:
        from kohort.comparison import Settings

        return Settings(spec.parent, out, self.queries, self.seed, self.time_limit)


@command
def compare(
    data: Data,
    spec: SpecFile,
    out: Annotated[
        Path,
        typer.Option(help="Where to write the table of all figures (CSV); an interrupted run is continued."),
    ],
    *,
    compared: Compared,
    sweep: Sweep,
    measuring: Measuring,
    reading: Reading,
    printing: Printing,
) -> None:
    """Compare algorithms: loss, gap, risk, query error, seconds and memory of each, for each k.

    Each release is made in a process of its own. One that is impossible is a row with the reason. Stopped and
    called again, it goes on where it stopped.

    Example: **kohort compare people.csv --spec spec.yaml --k 5,10 --algorithms mondrian,forest --out t.csv**
    """
    from kohort.comparison import compare_releases

    output, swept = printing.output(), sweep.values(compared.k)
    make = partial(
        compare_releases, algorithms=_words(compared.algorithms), costs=_words(compared.costs), **swept
    )
    found = _made(output, make, data, spec, out, measuring, reading)
    output.result({"kohort": "comparison", "rows": found.rows})
    output.show(_figures(found.rows, [name for name, values in swept.items() if name == "k" or values]))
    for row in found.rows:
        if row["status"] != "done":
            output.say(f"{row['algorithm']}, k = {row['k']}: {row['status']}. {row['reason']}")
    output.written(out, measuring.plot)


@command
def frontier(
    data: Data,
    spec: SpecFile,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write the table of all figures (CSV); an interrupted run is continued."),
    ] = None,
    traced: Traced,
    sweep: Sweep,
    measuring: Measuring,
    reading: Reading,
    printing: Printing,
) -> None:
    """Sweep k (or l, alpha or t) and show where the knee between risk and loss is, to help choose it.

    Example: **kohort frontier people.csv --spec spec.yaml --k 2,5,10,20,50 --plot frontier.svg**
    """
    from kohort.comparison import trace_frontier

    output = printing.output()
    make = partial(trace_frontier, algorithm=traced.algorithm, **sweep.values(traced.k))
    found = _made(output, make, data, spec, out, measuring, reading)
    output.result(found.facts())
    output.show(_figures(found.points, [found.parameter]))
    for row in found.failed:
        output.say(f"{found.parameter} = {row[found.parameter]}: {row['status']}. {row['reason']}")
    output.say(found.sentence)
    output.written(out, measuring.plot)


def _made(
    output: Output,
    make: Callable[..., Any],
    data: str,
    spec: Path,
    out: Path | None,
    measuring: Measuring,
    reading: Reading,
) -> Any:
    """The releases that are to be measured, made by a function of `kohort.comparison`, and drawn."""
    from kohort.files.atomic import Outputs
    from kohort.io.data_files import read_data
    from kohort.io.read_spec import files_of, read_spec

    read, named = read_spec(spec), reading.source(data)
    reads = [file_of(named), spec, *files_of(read, beside=spec.parent)]
    Outputs([path for path in (out, measuring.plot) if path is not None], reads=reads).check()
    settings = measuring.settings(spec, out)
    with output.progress() as progress:
        source = read_data(named, read.shape, **reading.options())
        output.notes(source)
        found = make(source.table, read, settings, progress=progress)
    if measuring.plot is not None:
        found.plot(measuring.plot)
    return found


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str | None, kind: Callable[[str], Any] = float) -> list[Any] | None:
    from kohort.errors import InputError

    try:
        return None if text is None else [kind(word) for word in _words(text) or []]
    except ValueError:
        whole = "whole numbers, such as 5,10,50" if kind is int else "numbers, such as 0.2,0.5"
        raise InputError(f"{text!r} is not a list of {whole}.") from None


def _figures(rows: list[dict[str, Any]], swept: list[str]) -> Table:
    """The releases that could be made; the cost is shown where there are several."""
    from rich.table import Table

    done = [row for row in rows if row["status"] == "done"]
    names = [*(["cost"] if len({row["cost"] for row in done}) > 1 else []), *swept]
    table = Table()
    table.add_column("algorithm", no_wrap=True)
    for heading in [*names, "loss", "gap", "solver gap", "highest risk", "query error", "CPU s", "memory"]:
        table.add_column(heading, justify="right")
    for row in done:
        figures = [
            *("" if row[name] is None else str(row[name]) for name in names),
            f"{row['loss']:.4f}",
            _share(row["gap"]),
            _share(row["solver_gap"]),
            _share(row["highest_risk"]),
            _share(row["query_error"]),
            f"{row['cpu_seconds']:.1f}",
            "" if row["memory_mb"] is None else f"{row['memory_mb']:.0f} MB",
        ]
        table.add_row(row["made_by"], *figures)
    return table


def _share(value: float | None) -> str:
    return "" if value is None else f"{round(value, 6) + 0:.1%}"  # no -0.0%

"""kohort compare and kohort frontier: many releases of one table side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rich.table import Column, Table

from kohort.cli.commands import Compare, Frontier
from kohort.cli.console import Output, table
from kohort.cli.sources import file_of, source_named, words_of
from kohort.comparison import Settings, compare_releases, trace_frontier
from kohort.errors import InputError
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_data
from kohort.io.read_spec import files_of, read_spec

Swept = dict[str, Any]


def compare(asked: Compare, output: Output) -> None:
    swept = _swept(asked)
    names: dict[str, Any] = {"algorithms": words_of(asked.algorithms), "costs": words_of(asked.costs)}
    found = _made(output, partial(compare_releases, **names), asked, swept)
    output.result({"kohort": "comparison", "rows": found.rows})
    output.show(_figures(found.rows, [name for name, values in swept.items() if name == "k" or values]))
    for row in found.rows:
        if row["status"] != "done":
            output.say(f"{row['algorithm']}, k = {row['k']}: {row['status']}. {row['reason']}")
    output.written(asked.out, asked.plot)


def frontier(asked: Frontier, output: Output) -> None:
    found = _made(output, partial(trace_frontier, algorithm=asked.algorithm), asked, _swept(asked))
    output.result(found.facts())
    output.show(_figures(found.points, [found.parameter]))
    for row in found.failed:
        output.say(f"{found.parameter} = {row[found.parameter]}: {row['status']}. {row['reason']}")
    output.say(found.sentence)
    output.written(asked.out, asked.plot)


def _made(output: Output, make: Callable[..., Any], asked: Compare | Frontier, swept: Swept) -> Any:
    """The releases that are to be measured, made by a function of `kohort.comparison`, and drawn."""
    read, named, beside = read_spec(asked.spec), source_named(asked.data, asked), asked.spec.parent
    reads = [file_of(named), asked.spec, *files_of(read, beside=beside)]
    Outputs([*filter(None, (asked.out, asked.plot))], reads=reads).check()
    settings = Settings(beside, asked.out, asked.queries, asked.seed, asked.time_limit)
    with output.progress() as progress:
        source = read_data(named, read.shape, **asked.reading)
        output.notes(source)
        found = make(source.table, read, settings, progress=progress, **swept)
    if asked.plot:
        found.plot(asked.plot)
    return found


def _swept(asked: Compare | Frontier) -> Swept:
    """The values of each parameter that is swept; None where it is left out."""
    return {name: _numbers(name, getattr(asked, name)) for name in ("k", "l", "alpha", "t")}


def _numbers(name: str, text: str | None) -> list[Any] | None:
    kind, such = (
        (int, "whole numbers, such as 5,10,50") if name == "k" else (float, "numbers, such as 0.2,0.5")
    )
    try:
        return None if text is None else [kind(word) for word in words_of(text) or ()]
    except ValueError:
        raise InputError(f"{text!r} is not a list of {such}.") from None


def _figures(rows: list[dict[str, Any]], swept: list[str]) -> Table:
    """The releases that could be made; the cost is shown where there are several."""
    done = [row for row in rows if row["status"] == "done"]
    names = [*(["cost"] if len({row["cost"] for row in done}) > 1 else []), *swept]
    shares = ("gap", "solver_gap", "highest_risk", "query_error")
    figures = [*names, "loss", *(name.replace("_", " ") for name in shares), "CPU s", "memory"]
    cells = [
        (
            row["made_by"],
            *("" if row[name] is None else str(row[name]) for name in names),
            f"{row['loss']:.4f}",
            *("" if row[name] is None else f"{round(row[name], 6) + 0:.1%}" for name in shares),  # no -0.0%
            f"{row['cpu_seconds']:.1f}",
            "" if row["memory_mb"] is None else f"{row['memory_mb']:.0f} MB",
        )
        for row in done
    ]
    return table([Column("algorithm", no_wrap=True), *figures], cells, figures=figures)

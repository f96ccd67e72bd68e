"""kohort algorithms: what each does, its guarantee, the models and costs it supports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kohort.cli.options import Json

__all__ = ["algorithms"]


def algorithms(json: Json = False) -> None:
    """List the algorithms: what each does and what it promises.

    Example: **kohort algorithms --json**
    """
    from rich.table import Column, Table

    from kohort.cli.console import Output
    from kohort.problem.costs import COSTS
    from kohort.problem.models import MODELS

    output, rows = Output(as_json=json), _rows()
    output.result(rows)
    table = Table(Column("algorithm", no_wrap=True), "what it does", "guarantee", show_lines=True)
    for heading in ("models", "costs"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        lists = (_listed(row["models"], MODELS), _listed(row["costs"], COSTS))
        table.add_row(row["name"], row["summary"], row["guarantee"], *lists)
    output.show(table)


def _rows() -> list[dict[str, Any]]:
    """The facts about every algorithm, by its name."""
    from kohort.algorithms import EVERY_ALGORITHM, parameters_of

    return [
        {
            "name": name,
            "summary": algorithm.summary,
            "paper": algorithm.paper,
            "guarantee": algorithm.promise,
            "models": list(algorithm.models),
            "costs": list(algorithm.costs),
            "parameters": parameters_of(algorithm()),
        }
        for name, algorithm in EVERY_ALGORITHM.items()
    ]


def _listed(names: Sequence[str], known: Collection[str]) -> str:
    """The names, one a line; `all` where it is all of them, which would leave no room for the rest."""
    return "all" if set(names) == set(known) else "\n".join(names)

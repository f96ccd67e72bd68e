"""kohort algorithms: what each does, its guarantee, the models and costs it supports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from kohort.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table


def algorithms(json: Json = False) -> None:
    """List the algorithms: what each does, what it guarantees, which models and costs it supports.

    Example: **kohort algorithms --json**
    """
    from kohort.cli.console import Output

    output, rows = Output(as_json=json), _rows()
    output.result(rows)
    output.show(_table(rows))


def _rows() -> list[dict[str, Any]]:
    """The facts about every algorithm, by its name."""
    from kohort.algorithms import EVERY_ALGORITHM

    return [
        {
            "name": name,
            "summary": algorithm.summary,
            "paper": algorithm.paper,
            "guarantee": algorithm.promise,
            "models": list(algorithm.models),
            "costs": list(algorithm.costs),
            "parameters": _parameters(algorithm),
        }
        for name, algorithm in EVERY_ALGORITHM.items()
    ]


def _parameters(algorithm: Any) -> dict[str, dict[str, Any]]:
    """The type, in words, and the default of every parameter, by its name."""
    from kohort.algorithms import parameters_of
    from kohort.parameters import annotations_of, wanted

    defaults = parameters_of(algorithm())
    return {
        name: {"type": wanted(annotation), "default": defaults[name]}
        for name, annotation in annotations_of(algorithm).items()
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    """A table that fits a terminal of 80 columns."""
    from rich.table import Table

    from kohort.problem.costs import COSTS
    from kohort.problem.models import MODELS

    table = Table("algorithm", "what it does", show_lines=True)
    table.columns[0].no_wrap = True
    for row in rows:
        lines = [
            row["summary"],
            f"guarantee: {row['guarantee']}",
            f"models: {_listed(row['models'], MODELS)}",
            f"costs: {_listed(row['costs'], COSTS)}",
        ]
        table.add_row(row["name"], "\n".join(lines))
    return table


def _listed(names: Sequence[str], known: Collection[str]) -> str:
    """The names in a line; `all` where it is all of them."""
    return "all" if set(names) == set(known) else ", ".join(names)

"""kohort algorithms: what each does, its guarantee, the models and costs it supports."""

from __future__ import annotations

from typing import Any

from kohort.cli.options import Json

__all__ = ["algorithms"]


def algorithms(json: Json = False) -> None:
    """List the algorithms: what each does and what it promises.

    Example: **kohort algorithms --json**
    """
    from rich.table import Table

    from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS, parameters_of
    from kohort.cli.console import Output

    output = Output(as_json=json)
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "summary": algorithm.summary,
            "paper": algorithm.paper,
            "guarantee": algorithm.promise,
            "models": list(algorithm.models),
            "costs": list(algorithm.costs),
            "parameters": parameters_of(algorithm()),
        }
        for name, algorithm in (ALGORITHMS | ITEMS_ALGORITHMS).items()
    ]
    output.result(rows)
    table = Table("algorithm", "what it does", "guarantee", show_lines=True)
    for heading in ("models", "costs"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        lists = ("\n".join(row["models"]), "\n".join(row["costs"]))
        table.add_row(row["name"], row["summary"], row["guarantee"], *lists)
    output.show(table)

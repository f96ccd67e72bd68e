"""kohort models: what each promise stops, what it leaves open, a usual value and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table

ADULT_LOSS: dict[str, dict[str, float]] = {
    "k-anonymity": {"mondrian": 0.03, "improve": 0.025, "full-domain": 0.588},
    "risk-limit": {"mondrian": 0.055, "improve": 0.044},
    "l-diversity": {"mondrian": 0.219, "improve": 0.085},
    "alpha-deassociation": {"mondrian": 0.072, "improve": 0.035},
    "t-closeness": {"mondrian": 0.832, "improve": 0.453},
    "delta-disclosure": {"mondrian": 0.877, "improve": 0.877},
    "beta-likeness": {"mondrian": 0.565, "improve": 0.31},
    "known-columns": {"mondrian": 0.03, "improve": 0.026, "full-domain": 0.522},
    "k-map": {"mondrian": 0.03, "improve": 0.025, "full-domain": 0.547},
    "delta-presence": {"full-domain": 0.522},
    "population-uniqueness": {"full-domain": 0.03},
    "differential-privacy": {"safe-pub": 0.712},
}
"""The loss of a release of Adult under each model at a usual value, by algorithm.

Measured by `python -m experiments.promises`; docs/which-promise.md has the same figures, and says how.
"""


def models(json: Json = False) -> None:
    """List the privacy models: what each stops, what it does not, a usual value, its cost on Adult.

    Example: **kohort models --json**
    """
    from kohort.cli.console import Output

    output, rows = Output(as_json=json), _rows()
    output.result(rows)
    output.show(_table(rows))


def _rows() -> list[dict[str, Any]]:
    """The facts about every model, by its name."""
    from kohort.algorithms import EVERY_ALGORITHM
    from kohort.problem.models import ITEM_MODELS, MODELS, Model

    everything: dict[str, Any] = {**MODELS, **ITEM_MODELS}
    return [
        {
            "name": name,
            "key": model.spec_key,
            "stops": model.stops,
            "does_not_stop": model.leaves,
            "usual": model.typical,
            "algorithms": [n for n, algorithm in EVERY_ALGORITHM.items() if name in algorithm.models],
            "by_k": name not in ITEM_MODELS and model.of_table and model.enough_k is not Model.enough_k,
            "united": not (name in ITEM_MODELS or model.of_table or model.by_sampling),
            "loss_on_adult": ADULT_LOSS.get(name, {}),
        }
        for name, model in everything.items()
    ]


def _table(rows: list[dict[str, Any]]) -> Table:
    """A table that fits a terminal of 80 columns."""
    from rich.table import Table

    table = Table("model", "what it promises", show_lines=True)
    table.columns[0].no_wrap = True
    for row in rows:
        lines = [
            f"stops: {row['stops']}",
            f"does not stop: {row['does_not_stop']}",
            f"usual value: {row['usual']} (privacy: {row['key']})",
            f"kept by: {', '.join(row['algorithms'])}{_united(row)}",
        ]
        if row["loss_on_adult"]:
            found = ", ".join(f"{loss:.3f} by {name}" for name, loss in row["loss_on_adult"].items())
            lines.append(f"loss on Adult: {found}")
        table.add_row(row["name"], "\n".join(lines))
    return table


def _united(row: dict[str, Any]) -> str:
    """How other algorithms keep the model, too."""
    if row["by_k"]:
        return "; others search for a k that is enough"
    return "; others that make groups unite them" if row["united"] else ""

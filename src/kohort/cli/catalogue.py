"""Commands that need no table: kohort algorithms, kohort models, kohort compile and kohort key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, command
from kohort.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table


def algorithms(json: Json = False) -> None:
    """List the algorithms: what each does, what it guarantees, which models and costs it supports.

    Example: **kohort algorithms --json**
    """
    from kohort.cli.console import Output

    output, rows = Output(as_json=json), _algorithm_rows()
    output.result(rows)
    output.show(_algorithm_table(rows))


def _algorithm_rows() -> list[dict[str, Any]]:
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


def _algorithm_table(rows: list[dict[str, Any]]) -> Table:
    """A table that fits a terminal of 80 columns."""
    from rich.table import Table

    from kohort.problem.costs import COSTS
    from kohort.problem.promises import MODELS

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

    output, rows = Output(as_json=json), _model_rows()
    output.result(rows)
    output.show(_model_table(rows))


def _model_rows() -> list[dict[str, Any]]:
    """The facts about every model, by its name."""
    from kohort.algorithms import EVERY_ALGORITHM
    from kohort.problem.promises import ITEM_MODELS, MODELS, Model

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


def _model_table(rows: list[dict[str, Any]]) -> Table:
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


@command
def compile(
    algorithms: Annotated[
        list[str] | None, typer.Argument(help="Names of algorithms; without any: all of them.")
    ] = None,
    *,
    printing: Printing,
) -> None:
    """Compile the inner loops of algorithms for this processor, on all cores.

    The first command that needs an algorithm does the same for that one. Compiled code is kept for later
    commands, until Kohort, numba, Python or the processor changes.

    Example: **kohort compile mondrian improve**
    """
    from kohort.algorithms import algorithm_named
    from kohort.compiling import compile_algorithms
    from kohort.compiling.calls import recorded_algorithms

    output = printing.output()
    names = list(dict.fromkeys(algorithms or recorded_algorithms()))
    for name in names:
        algorithm_named(name)
    with output.progress() as progress:
        compiled = compile_algorithms(names, progress)
    output.result({"algorithms": names, "compiled": compiled})
    output.say(f"{compiled} kernels compiled; {', '.join(names)} can start at once.")


def key(
    private: Annotated[
        Path,
        typer.Argument(
            help="Where to write the private key, which signs. Keep it secret.", show_default=False
        ),
    ],
    public: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the public key, for those who check signatures.", show_default="PRIVATE.pub"
        ),
    ] = None,
) -> None:
    """Make keys to sign certificates with (Ed25519, PEM, as openssl makes them).

    The private key is for your eyes only. KOHORT_SIGN_PASSWORD, if it is set, becomes its password.

    Example: **kohort key office.pem**
    """
    from kohort.files.atomic import Outputs
    from kohort.files.checked import write_checked
    from kohort.io.private_files import make_keys

    public = Path(f"{private}.pub") if public is None else public
    outputs = Outputs([private, public], new=[private, public], private=[private])
    outputs.check()
    secret, open_ = make_keys()
    with outputs.drafts() as draft_of:
        write_checked(draft_of[private], secret)
        write_checked(draft_of[public], open_)
    typer.echo(f"Written: {private} (keep it secret) and {public} (give it to those who check).")

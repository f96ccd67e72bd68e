"""kohort ledger: what the releases of a ledger promised, and of how many people they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, command
from kohort.cli.options import KeyFile
from kohort.cli.plain_help import Command, Group
from kohort.errors import counted

if TYPE_CHECKING:
    from rich.table import Table

ledger = typer.Typer(
    cls=Group,
    help="Look into a ledger, which ties releases of the same people together.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@command
def show(
    file: Annotated[Path, typer.Argument(help="The ledger.", show_default=False)],
    *,
    key_file: KeyFile = None,
    printing: Printing,
) -> None:
    """Show the releases of a ledger: when, of how many people, what each promised. No cell of the data.

    The key is needed to check that nobody changed the file.

    Example: **kohort ledger show patients.ledger --key-file secret.key**
    """

    from kohort.cli.sources import secret_key
    from kohort.io.ledger_file import read_ledger

    output = printing.output()
    found = read_ledger(file, secret_key(key_file))
    facts = {
        "kohort": "ledger",
        "person": found.person,
        "people": len(found.people),
        "releases": [dict(entry.facts) for entry in found.entries],
    }
    output.result(facts)
    output.say(f"{len(found.entries):,} releases of {len(found.people):,} people, known by {found.person!r}.")
    output.show(_table(facts["releases"]))


def _table(releases: Any) -> Table:
    """A table that fits a terminal of 80 columns: the words in one column, the figures beside them."""
    from rich.table import Table

    table = Table("", "release", box=None, show_edge=False, padding=(0, 1))
    for name in ("records", "new", "kept", "gone", "candidates"):
        table.add_column(name, justify="right", no_wrap=True)
    for facts in releases:
        people = facts.get("people", {})
        false = facts.get("counterfeits", 0)
        words = [facts["date"], facts["title"], facts["again"], *map(_promise, facts["models"])]
        words += [counted(false, "counterfeit")] if false else []
        table.add_row(
            str(facts["number"]),
            "; ".join(word for word in words if word),
            f"{facts['published']:,}",
            *(f"{people.get(name, 0):,}" for name in ("new", "kept", "gone")),
            f"{facts.get('candidates', 0):,}",
        )
    return table


def _promise(model: dict[str, Any]) -> str:
    named = [f"{name} {model[name]}" for name in ("k", "l", "alpha") if name in model]
    about = f" of {model['attribute']}" if model.get("attribute") else ""
    return ", ".join(named) + about


ledger.command(cls=Command)(show)

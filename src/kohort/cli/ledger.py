"""kohort ledger: what the releases of a ledger promised, and what an attack on all of them achieves."""

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

    from kohort.cli.bundles import Reading
    from kohort.cli.console import Output
    from kohort.cli.risk import Tied
    from kohort.io.databases import DatabaseTable
    from kohort.statement import Statement


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


def show_risk(output: Output, tied: Tied) -> None:
    """Attack the releases of a ledger together, and say what came of it."""
    from kohort.errors import InputError
    from kohort.io.ledger_file import read_ledger
    from kohort.risk import attack_ledger

    found = read_ledger(tied.ledger, tied.key)
    if not found.entries:
        raise InputError(f"The ledger {str(tied.ledger)!r} has no release yet.")
    facts = attack_ledger(found)
    output.result(facts)
    output.show(_attacks_table({"releases": facts}))
    _say(output, facts)


def show_next_risk(
    output: Output,
    data: Path | DatabaseTable,
    spec: Statement,
    beside: Path,
    tied: Tied,
    reading: Reading,
) -> None:
    """Attack the ledger with a next release: before, made as if there were no others; after, by the spec."""
    from kohort.io.data_files import read_data
    from kohort.io.ledger_file import open_ledger
    from kohort.io.read_spec import with_files
    from kohort.job.tie import TiedRelease
    from kohort.release.job import make_release
    from kohort.risk import attack_ledger

    ledger = open_ledger(tied.ledger, tied.key, spec.roles.only("person"))
    file = read_data(data, spec.shape, **reading.options())
    facts: dict[str, Any] = {"kohort": "risk of releases together"}
    with output.progress(time_limit=spec.time_limit) as progress:
        for side, way in _sides(spec.again).items():
            request = with_files(spec, beside=beside, key=tied.key, ledger=ledger, again=way)
            release = make_release(file.dataset, request, progress=progress, compared=True)
            assert isinstance(release.tied, TiedRelease)
            facts[side] = attack_ledger(release.tied.ledger)
    output.result(facts)
    shown = {"made afresh": facts.get("before"), "by the spec": facts["after"]}
    output.show(_attacks_table({name: side for name, side in shown.items() if side is not None}))
    _say(output, facts["after"])


def _sides(again: str) -> dict[str, str]:
    """How the next release is made; of m-invariance, whose ledger has no places, not afresh."""
    return {"after": again} if again == "m-invariance" else {"before": "fresh", "after": again}


def _attacks_table(sides: dict[str, dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table("attack", "on", "fewest candidates", "below k", "alone", "value certain")
    for name in next(iter(sides.values()))["attacks"]:
        for side, facts in sides.items():
            found = facts["attacks"][name]
            shown = [found[figure] for figure in ("fewest", "below_k", "alone", "certain")]
            cells = ["-" if value is None else f"{value:,}" for value in shown]
            table.add_row(name.replace("_", " "), side, *cells)
    return table


def _say(output: Output, facts: dict[str, Any]) -> None:

    for sentence in facts["sentences"]:
        output.say(f"- {sentence}")

"""kohort ledger: what the releases of a ledger promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Column

from kohort.cli.commands import ShowLedger
from kohort.cli.console import Output, table
from kohort.cli.sources import secret_key
from kohort.errors import counted
from kohort.io.ledger_file import read_ledger


def show(asked: ShowLedger, output: Output) -> None:
    found = read_ledger(asked.file, secret_key(asked.key_file))
    releases = [dict(entry.facts) for entry in found.entries]
    facts = {"person": found.person, "people": len(found.people), "releases": releases}
    output.result({"kohort": "ledger", **facts})
    output.say(f"{len(found.entries):,} releases of {len(found.people):,} people, known by {found.person!r}.")
    figures = [
        Column(name, justify="right", no_wrap=True)
        for name in ("records", "new", "kept", "gone", "candidates")
    ]
    output.show(table(["", "release", *figures], _rows(releases), box=None, show_edge=False, padding=(0, 1)))


def _rows(releases: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The releases, for a terminal of 80 columns: the words in one column, the figures beside them."""
    for facts in releases:
        people, false = facts.get("people", {}), facts.get("counterfeits", 0)
        words = [facts["date"], facts["title"], facts["again"], *map(_promise, facts["models"])]
        words += [counted(false, "counterfeit")] if false else []
        figures = [facts["published"], *(people.get(name, 0) for name in ("new", "kept", "gone"))]
        figures.append(facts.get("candidates", 0))
        yield [str(facts["number"]), "; ".join(word for word in words if word), *(f"{n:,}" for n in figures)]


def _promise(model: dict[str, Any]) -> str:
    named = [f"{name} {model[name]}" for name in ("k", "l", "alpha") if name in model]
    about = f" of {model['attribute']}" if model.get("attribute") else ""
    return ", ".join(named) + about

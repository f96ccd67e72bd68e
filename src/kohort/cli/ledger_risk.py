"""What an attack on the releases of a ledger achieves, also with a next one, by the spec or made afresh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from kohort.cli.bundles import Reading
    from kohort.cli.console import Output
    from kohort.io.databases import DatabaseTable
    from kohort.io.spec import Spec


def show_risk(output: Output, ledger: Path, key_file: Path | None) -> None:
    """Attack the releases of a ledger together, and say what came of it."""
    from kohort.cli.sources import secret_key
    from kohort.errors import InputError
    from kohort.io.ledger_file import read_ledger
    from kohort.risk import attack_ledger

    found = read_ledger(ledger, secret_key(key_file))
    if not found.entries:
        raise InputError(f"The ledger {str(ledger)!r} has no release yet.")
    facts = attack_ledger(found)
    output.result(facts)
    output.show(_table({"releases": facts}))
    _say(output, facts)


def show_next_risk(
    output: Output,
    data: Path | DatabaseTable,
    spec: Spec,
    beside: Path,
    ledger: Path,
    key_file: Path | None,
    reading: Reading,
) -> None:
    """Attack the ledger with a next release: before, made as if there were no others; after, by the spec."""
    from kohort.cli.sources import secret_key
    from kohort.io.data_files import read_data
    from kohort.io.ledger_file import open_ledger
    from kohort.release.job import make_release
    from kohort.risk import attack_ledger

    key = secret_key(key_file)
    tied = open_ledger(ledger, key, spec.person)
    file = read_data(data, spec.shape, **reading.options())
    facts: dict[str, Any] = {"kohort": "risk of releases together"}
    with output.progress(time_limit=spec.time_limit) as progress:
        for side, way in _sides(spec.again).items():
            request = spec.overridden(again=way).request(beside=beside, key=key, ledger=tied)
            release = make_release(file.dataset, request, progress=progress, compared=True)
            assert release.tied is not None
            facts[side] = attack_ledger(release.tied.ledger)
    output.result(facts)
    shown = {"made afresh": facts.get("before"), "by the spec": facts["after"]}
    output.show(_table({name: side for name, side in shown.items() if side is not None}))
    _say(output, facts["after"])


def _sides(again: str) -> dict[str, str]:
    """How the next release is made; of m-invariance, whose ledger has no places, not afresh."""
    return {"after": again} if again == "m-invariance" else {"before": "fresh", "after": again}


def _table(sides: dict[str, dict[str, Any]]) -> Table:
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

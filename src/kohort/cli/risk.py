"""kohort risk: how likely people are found in a table, as it is and as it would be published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.options import EventsFile, KeyFile, LedgerFile, header_option
from kohort.cli.plain_help import bundle, option
from kohort.cli.sources import secret_key

if TYPE_CHECKING:
    from rich.table import Table


POPULATION = {
    "population": option(Path, "A table of the population, with the same quasi-identifiers."),
    "population_header": (Annotated[bool | None, header_option("population-header", "that table")], None),
    "sampling_fraction": option(float, "The share of the population that the table holds."),
}


class InPopulation:
    """What is known of the population that a table is of: `population` and the options beside it."""

    population: Path | None
    population_header: bool | None
    sampling_fraction: float | None

    def options(self) -> dict[str, Any]:
        """The options as keywords of `Release.risk` and `Release.dossier`; the table is read."""
        from kohort.io.tables import read_table

        people = None
        if self.population is not None:
            header = self.population_header
            people = read_table(self.population, header=header, header_option="population-header").table
        return {"population": people, "sampling_fraction": self.sampling_fraction}


_Attack: Any = bundle(
    known=option(
        str, "The quasi-identifiers that the adversary knows, separated by commas.", show_default="all"
    ),
    **POPULATION,
    threshold=option(
        float, "A record whose chance of being found is above this is at risk.", show_default="1/k, else 0.2"
    ),
    targets=option(int, "How many people the adversary looks up.", 1000),
)


class Adversary(_Attack, InPopulation):
    """What the adversary knows, and how the risk is judged."""

    def options(self) -> dict[str, Any]:
        known = None if self.known is None else [name.strip() for name in self.known.split(",")]
        return {**super().options(), "known": known, "threshold": self.threshold, "targets": self.targets}


_Measured: Any = bundle(
    utility=option(bool, "Also measure how useful the release still is.", False, name="utility"),
    k=(Annotated[int | None, typer.Option("--k", "-k", help="The k to use instead of the spec's.")], None),
    seed=option(int, "The seed for choosing people to look up, and queries.", 0),
)
_Tied: Any = bundle(ledger=(LedgerFile, None), key_file=(KeyFile, None))


class Measured(_Measured):
    """What is measured, and by which k and seed."""


class Tied(_Tied):
    """The ledger that is attacked, and its key."""

    @property
    def key(self) -> bytes | None:
        return secret_key(self.key_file)


@command
def risk(
    data: Annotated[
        str | None,
        typer.Argument(
            help="A table, or the URL of a database, with --table or --query; may be left out with --ledger.",
            show_default=False,
        ),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            help="The spec: the role of each column and what is promised (YAML).", show_default=False
        ),
    ] = None,
    *,
    events: EventsFile = None,
    adversary: Adversary,
    measured: Measured,
    tied: Tied,
    reading: Reading,
    printing: Printing,
) -> None:
    """Estimate how likely people are found in a table, before and after it is anonymized by a spec.

    With a ledger, its releases are attacked together: intersected, subtracted and followed. With a table
    as well, also the next release of it: made afresh, as if there were no others, and by the spec.

    Example: **kohort risk people.csv --spec spec.yaml --sampling-fraction 0.01**
    """
    from kohort.cli.anonymize import release_file
    from kohort.cli.ledger import show_next_risk, show_risk
    from kohort.errors import InputError
    from kohort.io.read_spec import read_spec, with_files
    from kohort.release.origin import Origin

    output = printing.output()
    if data is None or spec is None:
        if tied.ledger is None or data is not None or spec is not None:
            raise InputError("Name a table and its spec (--spec), or a ledger alone (--ledger).")
        show_risk(output, tied)
        return
    read = read_spec(spec, k=measured.k)
    if tied.ledger is not None:
        show_next_risk(output, reading.source(data), read, spec.parent, tied, reading)
        return
    with output.progress(time_limit=read.time_limit) as progress:
        attack = adversary.options()
        request = with_files(read, beside=spec.parent)
        origin = Origin(shape=read.shape)
        release = release_file(
            reading.source(data), request, progress, events=events, origin=origin, reading=reading
        )
        facts = release.risk(**attack, seed=measured.seed, progress=progress)
        if measured.utility:
            facts |= {"utility": release.utility(seed=measured.seed, progress=progress)}
    output.result(facts)
    output.notes(release.origin.sources[0])
    output.show(_figures(facts))
    for sentence in _sentences(facts):
        output.say(f"- {sentence}")


def _figures(facts: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table("adversary", "measure")
    for heading in ("before", "after"):
        table.add_column(heading, justify="right")
    for name in ("prosecutor", "journalist", "marketer", "linkage"):
        found = facts[name]
        for measure in () if found is None else ("maximum", "average", "over_threshold"):
            if measure in found["after"]:
                shown = [f"{found[side][measure]:.2%}" for side in ("before", "after")]
                table.add_row(name, measure.replace("_", " "), *shown)
    return table


def _sentences(facts: dict[str, Any]) -> list[str]:
    """Sentences that say what each part means."""
    parts = [part for part in facts.values() if isinstance(part, dict)]
    parts += facts["attribute_disclosure"]
    measured = facts.get("utility", {})
    parts += [
        measured.get(name)
        for name in ("queries", "item_queries", "itemsets", "classification", "association")
    ]
    return [part["sentence"] for part in parts if part is not None and "sentence" in part]

"""kohort risk: how likely people are found in a table, as it is and as it would be published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.options import Data, Delimiter, Encoding, Header, Json, Quiet, Sheet, header_option

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

__all__ = ["risk"]


def risk(
    data: Data,
    spec: Annotated[Path, typer.Option(help="What each column is and what is promised (YAML).")],
    known: Annotated[
        str | None, typer.Option(help="Quasi-identifiers the adversary knows.", show_default="all")
    ] = None,
    population: Annotated[
        Path | None, typer.Option(help="A table of the population, with the same quasi-identifiers.")
    ] = None,
    population_header: Annotated[bool | None, header_option("population-header", "that table")] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option(help="The share of the population that the table holds.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Above it a record is at risk.", show_default="1/k, else 0.2")
    ] = None,
    targets: Annotated[int, typer.Option(help="People whom the adversary looks up.")] = 1000,
    utility: Annotated[bool, typer.Option("--utility", help="Also measure what it is good for.")] = False,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Instead of the spec's k.")] = None,
    seed: Annotated[int, typer.Option(help="Of the people looked up, and of queries.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    header: Header = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Judge the release that a spec makes of a table: who is found, before and after. Nothing is written.

    Example: **kohort risk people.csv --spec spec.yaml --sampling-fraction 0.01**
    """
    from rich.text import Text

    from kohort.cli.anonymize import release_file
    from kohort.cli.console import Output
    from kohort.io.spec import read_spec
    from kohort.publication import Origin

    output = Output(as_json=json, quiet=quiet)
    read = read_spec(spec).overridden(k=k)
    reading: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "header": header,
    }
    with output.progress() as progress:
        everybody = None if population is None else _people(population, population_header)
        request = read.request(beside=spec.parent)
        release = release_file(data, request, progress, origin=Origin(shape=read.shape), **reading)
        facts = release.risk(
            known=None if known is None else [name.strip() for name in known.split(",")],
            population=everybody,
            sampling_fraction=sampling_fraction,
            threshold=threshold,
            targets=targets,
            seed=seed,
            progress=progress,
        )
        if utility:
            facts |= {"utility": release.utility(seed=seed, progress=progress)}
    output.result(facts)
    output.notes(release.origin.file)
    output.show(_figures(facts))
    for sentence in _sentences(facts):
        output.show(Text(f"- {sentence}"))


def _people(population: Path, header: bool | None) -> pa.Table:
    from kohort.io.tables import read_table

    return read_table(population, header=header, header_option="population-header").table


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
    """What each part means, in words."""
    parts = [part for part in facts.values() if isinstance(part, dict)]
    parts += facts["attribute_disclosure"]
    measured = facts.get("utility", {})
    parts += [measured.get(name) for name in ("queries", "item_queries", "classification", "association")]
    return [part["sentence"] for part in parts if part is not None and "sentence" in part]

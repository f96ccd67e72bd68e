"""kohort hierarchy check: what is wrong with a hierarchy, by itself and against the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import ColumnReading, Printing, command
from kohort.cli.hierarchy_column import ColumnOption, DataOption, File, Headings, Kind, optional_column
from kohort.cli.sources import file_of

if TYPE_CHECKING:
    from kohort.data.check_hierarchy import Findings


@command
def check(
    file: File,
    *,
    data: DataOption = None,
    column: ColumnOption = None,
    offending: Annotated[
        Path | None,
        typer.Option(
            help="Write the values that cause each problem to this file. It holds values of the data."
        ),
    ] = None,
    kind: Kind = "auto",
    header: Headings = False,
    reading: ColumnReading,
    printing: Printing,
) -> None:
    """Check a hierarchy, alone or against data, and list everything that is wrong: exit 0 in order, 2 if not.

    Example: **kohort hierarchy check age.csv --data people.csv --column age --offending wrong.csv**
    """

    from kohort.files.outputs import Outputs
    from kohort.io.hierarchies import read_hierarchy

    output = printing.output()
    named = None if data is None else reading.source(data)
    outputs = Outputs([] if offending is None else [offending], reads=[file, file_of(named)])
    outputs.check()
    coded = optional_column(output, named, column, reading.options())
    read = read_hierarchy(file, kind=kind, header=header)
    findings = read.findings if coded is None else read.against(coded)
    if offending is not None:
        with outputs.drafts() as draft_of:
            _write_offending(findings, draft_of[offending])
    output.result(_facts(findings))
    output.say_whole("\n".join(_sentences(findings)))
    if offending is not None:
        output.say(f"The values that cause this are in {offending}.")
    if findings.errors:
        raise typer.Exit(2)


def _sentences(findings: Findings) -> list[str]:
    verdict = (
        "The hierarchy cannot be used as it is." if findings.errors else "The hierarchy can be used as it is."
    )
    return [verdict, *(line for line in findings.message().splitlines() if line != verdict)]


def _write_offending(findings: Findings, path: Path) -> None:
    import pyarrow as pa

    from kohort.io.tables import write_table

    rows = [(problem, value) for problem, values in findings.offending().items() for value in values]
    columns = {
        "problem": pa.array([problem for problem, _ in rows], pa.string()),
        "value": pa.array([value for _, value in rows], pa.string()),
    }
    write_table(pa.table(columns), path)


def _facts(findings: Findings) -> dict[str, Any]:
    """Everything found, in counts: no label and no value."""
    from dataclasses import asdict

    counts = {
        name: len(found) if isinstance(found, tuple) else found for name, found in asdict(findings).items()
    }
    return {"in_order": not findings.errors, **counts, "message": _sentences(findings)}

"""kohort hierarchy: build the hierarchy of a column, draw one, check one against the data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import ColumnReading, Printing, Reading, command
from kohort.cli.options import Data
from kohort.cli.plain_help import Command, Group, bundle, option
from kohort.cli.sources import command_to_copy, file_of

if TYPE_CHECKING:
    import numpy as np

    from kohort.cli.console import Output
    from kohort.data.column import Column
    from kohort.data.hierarchies import Builder
    from kohort.data.hierarchies.checks import Findings
    from kohort.data.hierarchy import Hierarchy
    from kohort.io.databases import DatabaseTable
    from kohort.io.hierarchies import HierarchyFile


File = Annotated[
    Path,
    typer.Argument(
        help="A hierarchy file: one line per value, followed by its ancestors; pairs; or a YAML tree.",
        show_default=False,
    ),
]
_Given: Any = bundle(
    data=option(
        str,
        "A table with values of the hierarchy: a file, or a database with --table or --query.",
        name="data",
    ),
    column=option(str, "The column of that table."),
    kind=option(str, "The layout of the hierarchy file: leaf-first, pairs, tree, or auto.", "auto"),
    header=option(bool, "The first line of the hierarchy file holds headings.", False, name="header"),
)


class Given(_Given):
    """How a hierarchy file is read, and the column that it is compared with."""

    def read(self, file: Path) -> HierarchyFile:
        from kohort.io.hierarchies import read_hierarchy

        return read_hierarchy(file, kind=self.kind, header=self.header)

    def source(self, reading: ColumnReading) -> Path | DatabaseTable | None:
        """The table with the values, where there is one."""
        return None if self.data is None else reading.source(self.data)

    def coded(self, output: Output, reading: ColumnReading) -> Column | None:
        """The column, or None where neither a table nor a column is given."""
        from kohort.errors import InputError

        named = self.source(reading)
        if named is None and self.column is None:
            return None
        if named is None or self.column is None:
            raise InputError(
                "--data and --column go together: give a table and the name of one of its columns."
            )
        return read_column(output, named, self.column, reading.options())


def read_column(output: Output, data: Path | DatabaseTable, name: str, reading: dict[str, Any]) -> Column:
    """The column of a table; notes about reading it are shown."""
    from kohort.io.data_files import read_data
    from kohort.tables.memory import MemoryTable

    source = read_data(data, **reading)
    output.notes(source)
    return MemoryTable(source.table).column(name)


_WAYS = ("auto", "intervals", "quantiles", "mask", "code", "date", "order", "frequency", "flat")


_Ways: Any = bundle(
    auto=option(bool, "Choose the kind of hierarchy by the values (the default).", False, name="auto"),
    intervals=option(str, "Intervals of numbers with these widths, such as 5,10,20."),
    origin=option(str, "A number at which an interval begins."),
    top=option(str, "Numbers from this one upwards become one interval."),
    bottom=option(str, "Numbers below this one become one interval."),
    quantiles=option(
        int, "Split numbers into N parts of about equally many records, and each part into N again."
    ),
    depth=option(int, "How many times quantiles are split."),
    mask=option(str, "Mask codes character by character, from the right or the left."),
    char=option(str, "The character used for masking."),
    code=option(str, "Codes with levels in them: icd10, us-zip, country and others."),
    date=option(str, "Group dates into these periods, such as month,quarter,year."),
    order=option(
        str, "Group neighbours in this order: natural, frequency, file, or a list of the values: a,b,c."
    ),
    fanout=option(str, "How many neighbours form a group, level by level, such as 4 or 4,2."),
    frequency=option(int, "Group the rarest values first, N at a time."),
    flat=option(bool, "Publish either the value itself or *.", False, name="flat"),
)


class Building(_Ways):
    """How a hierarchy is built: one of the ways, and what goes with it."""

    def asked(self) -> dict[str, Any]:
        """The options that are given, as a spec writes them."""
        said: dict[str, Any] = {n: v for n, v in asdict(self).items() if v is not None and v is not False}
        for name in ("intervals", "origin", "top", "bottom", "fanout"):
            if name in said:
                said[name] = _numbers(f"--{name}", said[name], several=name in ("intervals", "fanout"))
        if "date" in said:
            said["date"] = _words(said["date"])
        if "," in said.get("order", ""):
            said["order"] = _words(said["order"])
        if "fanout" in said:
            said.setdefault("order", "natural")
        return said


@command
def build(
    data: Data,
    column: Annotated[str, typer.Argument(help="The column.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="The hierarchy file to write: one line per value, the value first.")
    ],
    *,
    building: Building,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it already exists.")] = False,
    reading: Reading,
    printing: Printing,
) -> None:
    """Build a hierarchy over the values of a column and write it, to be read, edited and named in a spec.

    Example: **kohort hierarchy build people.csv age --intervals 5,10,20 --top 90 --out age.csv**
    """
    from kohort.data.hierarchies.checks import check as check_hierarchy
    from kohort.files.atomic import Outputs
    from kohort.io.hierarchies import write_hierarchy

    output = printing.output()
    named = reading.source(data)
    outputs = Outputs([out], [] if force else [out], reads=[file_of(named)])
    outputs.check()
    asked = building.asked()
    coded = read_column(output, named, column, reading.options())
    builder, why = _builder(asked, coded)
    tree = builder.build(coded)
    check_hierarchy(tree, coded).raise_if_broken(column, expected=getattr(builder, "expected", None))
    with outputs.drafts() as draft_of:
        write_hierarchy(tree, draft_of[out])
    size = {"leaves": len(tree.leaves), "height": tree.height}
    output.result({"file": str(out), "column": column, "hierarchy": builder.to_spec(), "why": why, **size})
    output.say_whole(_written(tree, out, why))


def _numbers(option: str, text: str, *, several: bool) -> list[int | float] | int | float:
    """One number, or several with commas between them where the option takes a list."""
    numbers = [_number(option, part) for part in (text.split(",") if several else [text])]
    return numbers if len(numbers) > 1 else numbers[0]


def _number(option: str, text: str) -> int | float:
    """The number as it is written: 90 stays a whole number."""
    from kohort.errors import InputError

    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option} takes numbers. Got {text!r}.") from None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _builder(asked: dict[str, Any], column: Column) -> tuple[Builder, str | None]:
    """The builder that the options describe; where the values decide, also why it was chosen."""
    from kohort.data.hierarchies.build_hierarchy import Auto, FileSource, from_spec
    from kohort.errors import InputError

    ways = [way for way in _WAYS if way in asked]
    if len(ways) > 1 or (asked and not ways):
        got = ", ".join(f"--{name}" for name in ways or asked)
        raise InputError(f"Choose one way to build the hierarchy: --{', --'.join(_WAYS)}. Got {got}.")
    described = from_spec(asked or "auto")
    assert described is not None and not isinstance(described, FileSource)  # no option names a file
    if not isinstance(described, Auto):
        return described, None
    return described.choose(column).builder, described.describe(column)


def _written(tree: Hierarchy, out: Path, why: str | None) -> str:
    from kohort.errors import counted

    leaves, height = counted(len(tree.leaves), "leaf", "leaves"), counted(tree.height, "level")
    lines = [
        *([] if why is None else [why]),
        f"Written: {out}, {leaves} and {height} above them.",
        f"See it: {command_to_copy('hierarchy', 'show', out)}",
        f"Use it: write 'hierarchy: {out}' in the spec, if that is in the same folder.",
    ]
    return "\n".join(lines)


@command
def check(
    file: File,
    *,
    given: Given,
    offending: Annotated[
        Path | None,
        typer.Option(
            help="Write the values that cause each problem to this file. It holds values of the data."
        ),
    ] = None,
    reading: ColumnReading,
    printing: Printing,
) -> None:
    """Check a hierarchy, alone or against data, and list everything that is wrong: exit 0 in order, 2 if not.

    Example: **kohort hierarchy check age.csv --data people.csv --column age --offending wrong.csv**
    """
    from kohort.files.atomic import Outputs

    output = printing.output()
    outputs = Outputs([] if offending is None else [offending], reads=[file, file_of(given.source(reading))])
    outputs.check()
    coded, read = given.coded(output, reading), given.read(file)
    findings = read.findings if coded is None else read.against(coded)
    if offending is not None:
        with outputs.drafts() as draft_of:
            _write_offending(findings, draft_of[offending])
    output.result(_facts(findings))
    output.say_whole("\n".join(_sentences(findings)))
    if offending is not None:
        output.say_whole(f"The values that cause this are in {offending}.")
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


@command
def show(
    file: File,
    *,
    given: Given,
    depth: Annotated[
        int | None, typer.Option(min=0, help="How many levels below the root to draw.", show_default="all")
    ] = None,
    children: Annotated[int, typer.Option(min=2, help="How many children of a node to draw at most.")] = 12,
    reading: ColumnReading,
    printing: Printing,
) -> None:
    """Draw a hierarchy as a tree, with the leaves below each node and, given data, the records.

    Example: **kohort hierarchy show age.csv --data people.csv --column age --depth 2**
    """
    from kohort.data.hierarchy import tree_lines
    from kohort.errors import InputError, counted

    output = printing.output()
    coded, read = given.coded(output, reading), given.read(file)
    tree = read.hierarchy if coded is None else read.over(coded)
    if tree is None:
        raise InputError(f"{file} cannot be drawn.\n{read.findings.message()}")
    counts = None if coded is None else _records_per_leaf(tree, coded)
    output.result(_nodes(tree, counts, depth))
    output.console.soft_wrap = True  # a branch is not to be folded
    for line in tree_lines(tree, counts, max_children=children, max_depth=depth):
        output.say(line)
    if coded is not None and (missing := read.against(coded)).missing:
        output.note(
            f"{counted(len(missing.missing), 'value is', 'values are')} not in the hierarchy "
            f"({counted(missing.missing_records, 'record')}). See kohort hierarchy check."
        )


def _records_per_leaf(tree: Hierarchy, column: Column) -> np.ndarray:
    import numpy as np

    counts = np.zeros(len(tree.leaves), dtype=np.int64)
    for text, count in zip(column.texts, column.counts.tolist()):
        if text in tree.leaf_of:
            counts[tree.leaf_of[text]] = count
    return counts


def _nodes(tree: Hierarchy, counts: np.ndarray | None, max_depth: int | None) -> dict[str, Any]:
    """The tree for machines: its nodes in depth-first order, each with the number of its parent."""
    depths: list[int] = []
    nodes = []
    for node, (label, parent) in enumerate(zip(tree.label, tree.parent.tolist())):
        lo, hi = int(tree.lo[node]), int(tree.hi[node])
        depths.append(0 if parent < 0 else depths[parent] + 1)
        found = {"node": node, "label": label, "parent": parent, "depth": depths[node], "leaves": hi - lo + 1}
        if counts is not None:
            found["records"] = int(counts[lo : hi + 1].sum())
        if max_depth is None or depths[node] <= max_depth:
            nodes.append(found)
    return {"leaves": len(tree.leaves), "height": tree.height, "nodes": nodes}


hierarchy = typer.Typer(
    cls=Group,
    help="Build, draw and check hierarchies: what the values of a column may be generalized to.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for function in (build, show, check):
    hierarchy.command(cls=Command)(function)

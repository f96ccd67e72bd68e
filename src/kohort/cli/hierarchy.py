"""kohort hierarchy: build the hierarchy of a column, draw one, check one against the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.files import command_to_copy
from kohort.cli.options import Data, Delimiter, Encoding, Header, Json, Quiet, Sheet, header_option

if TYPE_CHECKING:
    import numpy as np

    from kohort.cli.console import Output
    from kohort.data.build_hierarchy import Builder
    from kohort.data.check_hierarchy import Findings
    from kohort.data.column import Column
    from kohort.data.hierarchy import Hierarchy

__all__ = ["hierarchy"]

hierarchy = typer.Typer(
    help="Build, draw and check hierarchies: what the values of a column may be generalized to.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

_WAYS = ("auto", "intervals", "quantiles", "mask", "date", "order", "frequency", "flat")

File = Annotated[
    Path,
    typer.Argument(
        help="A hierarchy: a line per value, the value first, then its ancestors; pairs; or a YAML tree.",
        show_default=False,
    ),
]
DataOption = Annotated[Path | None, typer.Option("--data", help="The table whose values it is for.")]
ColumnOption = Annotated[str | None, typer.Option("--column", help="The column of that table.")]
Kind = Annotated[str, typer.Option(help="How it is written: leaf-first, pairs, tree, or auto.")]
Headings = Annotated[bool, typer.Option("--header", help="Its first line holds headings.")]
DataHeader = Annotated[bool | None, header_option("data-header", "the table")]


# -- build -----------------------------------------------------------------------------------------


@hierarchy.command()
def build(
    data: Data,
    column: Annotated[str, typer.Argument(help="The column.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The hierarchy to write: a line per value, the value first.")],
    auto: Annotated[bool, typer.Option("--auto", help="Let the values decide (the default).")] = False,
    intervals: Annotated[str | None, typer.Option(help="Numbers by these widths: 5,10,20.")] = None,
    origin: Annotated[str | None, typer.Option(help="Where the intervals count from.")] = None,
    top: Annotated[str | None, typer.Option(help="Numbers from here on are one interval.")] = None,
    bottom: Annotated[str | None, typer.Option(help="Numbers below this are one interval.")] = None,
    quantiles: Annotated[
        int | None, typer.Option(help="Numbers in so many equal parts, again and again.")
    ] = None,
    depth: Annotated[int | None, typer.Option(help="How often quantiles are cut.")] = None,
    mask: Annotated[str | None, typer.Option(help="Codes, masked from the right or the left.")] = None,
    char: Annotated[str | None, typer.Option(help="The character that masks.")] = None,
    date: Annotated[str | None, typer.Option(help="Dates by these periods: month,quarter,year.")] = None,
    order: Annotated[
        str | None,
        typer.Option(help="Neighbours in this order: natural, frequency, file, or the values: a,b,c."),
    ] = None,
    fanout: Annotated[
        str | None, typer.Option(help="How many neighbours make a node, such as 4 or 4,2.")
    ] = None,
    frequency: Annotated[int | None, typer.Option(help="Rare values first, so many at a time.")] = None,
    flat: Annotated[bool, typer.Option("--flat", help="The value or *.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    header: Header = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build a hierarchy over the values of a column and write it, to be read, edited and named in a spec.

    Example: **kohort hierarchy build people.csv age --intervals 5,10,20 --top 90 --out age.csv**
    """
    from rich.text import Text

    from kohort.cli.console import Output
    from kohort.data.check_hierarchy import check as check_hierarchy
    from kohort.files.outputs import Outputs
    from kohort.io.hierarchies import write_hierarchy

    output = Output(as_json=json, quiet=quiet)
    outputs = Outputs([out], [] if force else [out], reads=[data])
    outputs.check()
    asked = {
        "intervals": _numbers("--intervals", intervals),
        "origin": _number("--origin", origin),
        "top": _number("--top", top),
        "bottom": _number("--bottom", bottom),
        "quantiles": quantiles,
        "depth": depth,
        "mask": mask,
        "char": char,
        "date": _words(date),
        "order": order if order is None or "," not in order else _words(order),
        "fanout": _numbers("--fanout", fanout),
        "frequency": frequency,
        "flat": flat or None,
        "auto": auto or None,
    }
    reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header": header}
    coded = _column(output, data, column, **reading)
    builder, why = _builder({name: value for name, value in asked.items() if value is not None}, coded)
    tree = builder.build(coded)
    check_hierarchy(tree, coded).raise_if_broken(column)
    with outputs.drafts() as draft_of:
        write_hierarchy(tree, draft_of[out])
    size = {"leaves": len(tree.leaves), "height": tree.height}
    output.result({"file": str(out), "column": column, "hierarchy": builder.to_spec(), "why": why, **size})
    output.console.soft_wrap = True  # a command is to be copied whole
    output.show(Text(_built(tree, out, why)))


def _numbers(option: str, text: str | None) -> list[int | float] | int | float | None:
    """One number, or several with commas between them."""
    if text is None:
        return None
    numbers = [_number(option, part) for part in text.split(",")]
    return numbers if len(numbers) > 1 else numbers[0]  # type: ignore[return-value]


def _number(option: str, text: str | None) -> int | float | None:
    """The number as it is written: 90 stays a whole number."""
    if text is None:
        return None
    from kohort.errors import InputError

    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option} takes numbers. Got {text!r}.") from None


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


def _builder(asked: dict[str, Any], column: Column) -> tuple[Builder, str | None]:
    """The builder that the options describe; where the values decide, also why it was chosen."""
    from kohort.data.build_hierarchy import Auto, FileSource, from_spec
    from kohort.errors import InputError

    if "fanout" in asked:
        asked.setdefault("order", "natural")
    ways = [way for way in _WAYS if way in asked]
    if len(ways) > 1 or (asked and not ways):
        got = ", ".join(f"--{name}" for name in ways or asked)
        raise InputError(f"Say one way to build it: --{', --'.join(_WAYS)}. Got {got}.")
    described = from_spec(asked or "auto")
    assert described is not None and not isinstance(described, FileSource)  # no option names a file
    if not isinstance(described, Auto):
        return described, None
    return described.choose(column).builder, described.describe(column)


def _built(tree: Hierarchy, out: Path, why: str | None) -> str:
    from kohort.cli.console import plural

    lines = [] if why is None else [why]
    leaves, height = plural(len(tree.leaves), "leaf", "leaves"), plural(tree.height, "level")
    lines.append(f"Written: {out}, {leaves} and {height} above them.")
    lines.append(f"See it: {command_to_copy('hierarchy', 'show', out)}")
    return "\n".join(
        [*lines, f"Use it: write 'hierarchy: {out}' in the spec, if that is in the same folder."]
    )


# -- show ------------------------------------------------------------------------------------------


@hierarchy.command()
def show(
    file: File,
    data: DataOption = None,
    column: ColumnOption = None,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Levels below the root to draw.", show_default="all")
    ] = None,
    children: Annotated[
        int, typer.Option(min=2, help="Of more children than this, the first are drawn.")
    ] = 12,
    kind: Kind = "auto",
    header: Headings = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    data_header: DataHeader = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a hierarchy as a tree, with the leaves below each node and, given data, the records.

    Example: **kohort hierarchy show age.csv --data people.csv --column age --depth 2**
    """
    from rich.text import Text

    from kohort.cli.console import Output
    from kohort.data.draw_hierarchy import tree_lines
    from kohort.errors import InputError
    from kohort.io.hierarchies import read_hierarchy

    output = Output(as_json=json, quiet=quiet)
    reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header": data_header}
    coded = _optional_column(output, data, column, **reading)
    read = read_hierarchy(file, kind=kind, header=header)
    if read.hierarchy is None:
        raise InputError(f"{file} cannot be drawn.\n{read.findings.message()}")
    counts = None if coded is None else _records_per_leaf(read.hierarchy, coded)
    output.result(_nodes(read.hierarchy, counts, depth))
    output.console.soft_wrap = True  # a branch is not to be folded
    for line in tree_lines(read.hierarchy, counts, max_children=children, max_depth=depth):
        output.show(Text(line))
    if coded is not None and (missing := read.against(coded)).missing:
        output.note(
            f"{len(missing.missing):,} values ({missing.missing_records:,} records) are not in it. "
            "See kohort hierarchy check."
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


# -- check -----------------------------------------------------------------------------------------


@hierarchy.command()
def check(
    file: File,
    data: DataOption = None,
    column: ColumnOption = None,
    offending: Annotated[
        Path | None, typer.Option(help="Write the values behind each problem to this file. They are data.")
    ] = None,
    kind: Kind = "auto",
    header: Headings = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    data_header: DataHeader = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a hierarchy, alone or against data, and tell everything wrong at once: exit 0 in order, 2 if not.

    Example: **kohort hierarchy check age.csv --data people.csv --column age --offending wrong.csv**
    """
    from rich.text import Text

    from kohort.cli.console import Output
    from kohort.files.outputs import Outputs
    from kohort.io.hierarchies import read_hierarchy

    output = Output(as_json=json, quiet=quiet)
    outputs = Outputs([] if offending is None else [offending], reads=[file, data])
    outputs.check()
    reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header": data_header}
    coded = _optional_column(output, data, column, **reading)
    read = read_hierarchy(file, kind=kind, header=header)
    findings = read.findings if coded is None else read.against(coded)
    if offending is not None:
        with outputs.drafts() as draft_of:
            _write_offending(findings, draft_of[offending])
    output.result(_facts(findings))
    output.console.soft_wrap = True
    output.show(Text("\n".join(_told(findings))))
    if offending is not None:
        output.show(Text(f"The values behind it are in {offending}."))
    if findings.errors:
        raise typer.Exit(2)


def _told(findings: Findings) -> list[str]:
    verdict = "The hierarchy cannot be used as it is." if findings.errors else "The hierarchy is in order."
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
    return {"in_order": not findings.errors, **counts, "message": _told(findings)}


# -- data ------------------------------------------------------------------------------------------


def _column(output: Output, data: Path, name: str, **reading: Any) -> Column:
    from kohort.data.dataset import Dataset
    from kohort.io.tables import read_table

    source = read_table(data, **reading)
    output.notes(source)
    return Dataset(source.table).column(name)


def _optional_column(output: Output, data: Path | None, name: str | None, **reading: Any) -> Column | None:
    from kohort.errors import InputError

    if data is None and name is None:
        return None
    if data is None or name is None:
        raise InputError("--data and --column go together: a table, and which of its columns.")
    return _column(output, data, name, header_option="data-header", **reading)

"""kohort hierarchy build: a hierarchy over the values of a column, as a file to read and edit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.hierarchy_column import read_column
from kohort.cli.options import Data
from kohort.cli.sources import command_to_copy, file_of

if TYPE_CHECKING:
    from kohort.data.build_hierarchy import Builder
    from kohort.data.column import Column
    from kohort.data.hierarchy import Hierarchy

_WAYS = ("auto", "intervals", "quantiles", "mask", "code", "date", "order", "frequency", "flat")


@dataclass(frozen=True)
class Building:
    """How a hierarchy is built: one of the ways, and what goes with it."""

    auto: Annotated[
        bool, typer.Option("--auto", help="Choose the kind of hierarchy by the values (the default).")
    ] = False
    intervals: Annotated[
        str | None, typer.Option(help="Intervals of numbers with these widths, such as 5,10,20.")
    ] = None
    origin: Annotated[str | None, typer.Option(help="A number at which an interval begins.")] = None
    top: Annotated[str | None, typer.Option(help="Numbers from this one upwards become one interval.")] = None
    bottom: Annotated[str | None, typer.Option(help="Numbers below this one become one interval.")] = None
    quantiles: Annotated[
        int | None,
        typer.Option(
            help="Split numbers into N parts of about equally many records, and each part into N again."
        ),
    ] = None
    depth: Annotated[int | None, typer.Option(help="How many times quantiles are split.")] = None
    mask: Annotated[
        str | None, typer.Option(help="Mask codes character by character, from the right or the left.")
    ] = None
    char: Annotated[str | None, typer.Option(help="The character used for masking.")] = None
    code: Annotated[
        str | None, typer.Option(help="Codes with levels in them: icd10, us-zip, country and others.")
    ] = None
    date: Annotated[
        str | None, typer.Option(help="Group dates into these periods, such as month,quarter,year.")
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            help="Group neighbours in this order: natural, frequency, file, or a list of the values: a,b,c."
        ),
    ] = None
    fanout: Annotated[
        str | None, typer.Option(help="How many neighbours form a group, level by level, such as 4 or 4,2.")
    ] = None
    frequency: Annotated[int | None, typer.Option(help="Group the rarest values first, N at a time.")] = None
    flat: Annotated[bool, typer.Option("--flat", help="Publish either the value itself or *.")] = False

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

    from kohort.data.check_hierarchy import check as check_hierarchy
    from kohort.files.outputs import Outputs
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
    from kohort.data.build_hierarchy import Auto, FileSource, from_spec
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

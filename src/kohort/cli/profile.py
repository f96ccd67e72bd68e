"""kohort profile and kohort init: what a table holds, and a starting spec for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.options import Data
from kohort.cli.sources import command_to_copy, file_of, shown
from kohort.errors import counted, percent

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

    from kohort.cli.console import Output
    from kohort.files.atomic import Outputs
    from kohort.io.databases import DatabaseTable
    from kohort.profiling.profile import BasketProfile, ColumnProfile, Combination, Profile
    from kohort.statement.items import BasketShape


@dataclass(frozen=True)
class FoundBaskets:
    """How a file holds its baskets, and what is in them."""

    shape: BasketShape
    profile: BasketProfile

    def sentences(self) -> list[str]:
        """Sentences that say what was found."""
        found = self.profile
        return [
            f"The file holds one basket per line: {counted(found.records, 'basket')} with "
            f"{counted(found.items, 'different item')}; a basket has {found.mean_size:.1f} items on average, "
            f"and {found.largest:,} at most.",
            f"{counted(found.rare_items, 'item is', 'items are')} in a single basket only. Somebody who "
            f"knows one item of a basket finds {percent(found.unique_share)} of all baskets for certain.",
        ]


def basket_profile(data: Path | DatabaseTable, **reading: Any) -> FoundBaskets | None:
    """The baskets of a file that holds one a line; None for a table, and where it was said how to read it."""
    if not isinstance(data, Path):
        return None
    from kohort.data.baskets import code_baskets
    from kohort.io.data_files import read_data, recognized_baskets
    from kohort.io.source_file import Files
    from kohort.profiling.profile import profile_baskets
    from kohort.statement.items import BASKETS

    Files.at(data)  # refused where it cannot be read
    if any(value is not None for value in reading.values()):
        return None
    shape = recognized_baskets(data)
    if shape is None:
        return None
    table = read_data(data, shape).table
    return FoundBaskets(shape, profile_baskets(code_baskets(BASKETS, table[BASKETS])))


_WORST_SHOWN = 3  # combinations of each size


@command
def profile(
    data: Data,
    *,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Also show each column's most common value.")
    ] = False,
    reading: Reading,
    printing: Printing,
) -> None:
    """Look at a table before publishing it: its columns, suggested roles, and how many people stand out.

    No value of the table is shown unless you ask for it. A file with one basket per line is recognized.

    Example: **kohort profile people.csv**
    """
    from kohort.io.data_files import read_data
    from kohort.profiling.profile import profile as profile_table

    output, named = printing.output(), reading.source(data)
    baskets = basket_profile(named, **reading.options())
    if baskets is not None:
        output.result({"baskets": baskets.profile.to_dict()})
        output.say_whole("\n".join(baskets.sentences()))
        output.say_whole(f"Next: {command_to_copy('init', data, '--out', 'spec.yaml')}")
        return
    with output.progress() as progress:
        progress("reading", 0.0)
        source = read_data(named, **reading.options())
        table = source.table
        progress("counting", 0.5)
        found = profile_table(table)
    output.result(found.to_dict(show_values=show_values))
    output.notes(source)
    output.show(_columns(found, show_values=show_values))
    output.show(_roles(found))
    output.show(_risk(found))
    output.say_whole(
        f"Next: {command_to_copy('init', shown(named), '--out', 'spec.yaml', **reading.typed())}"
    )


def _columns(found: Profile, *, show_values: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"{counted(found.records, 'record')}, {counted(len(found.columns), 'column')}",
        title_justify="left",
    )
    table.add_column("column", overflow="fold")
    table.add_column("type")
    for heading in ("distinct", "missing", "unique"):
        table.add_column(heading, justify="right")
    if show_values:
        table.add_column("most common", overflow="fold")
    for column in found.columns:
        figures = (f"{column.distinct:,}", f"{column.nulls:,}", f"{column.unique_share:.1%}")
        values = [Text(_most_common(column))] if show_values else []
        table.add_row(Text(column.name), column.kind, *figures, *values)
    return table


def _most_common(column: ColumnProfile) -> str:
    return "" if column.most_common is None else f"{column.most_common} ({column.most_common_share:.1%})"


def _roles(found: Profile) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Suggested roles", title_justify="left")
    table.add_column("column", overflow="fold")
    table.add_column("role", no_wrap=True)
    table.add_column("why")
    for column in found.columns:
        table.add_row(Text(column.name), column.role, Text(column.reason))
    return table


def _risk(found: Profile) -> Panel:
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    parts: list[Any] = [Text(sentence) for sentence in _sentences(found)]
    worst = _worst_of_each_size(found.combinations.worst)
    if worst:
        parts += [Text(), _worst(worst)]
    return Panel(
        Group(*parts),
        title="How many people stand out in this table",
        border_style="red" if found.unique_share else "yellow",
        expand=False,
    )


def _sentences(found: Profile) -> list[str]:
    if not found.quasi_identifiers:
        return ["No column looks like something that others know about a person. Check the roles above."]
    unique = round(found.unique_share * found.records)
    risk = f"{found.highest_risk:.1%} at worst, {found.average_risk:.1%} on average"
    sentences = [
        f"Likely quasi-identifiers: {', '.join(found.quasi_identifiers)}.",
        f"{unique:,} of {found.records:,} records ({found.unique_share:.1%}) are the only ones with their "
        "combination of values in these columns.",
        f"Classes of records that look alike: {found.classes:,}; the smallest has "
        f"{counted(found.smallest_class, 'record')}.",
        f"Prosecutor risk: {risk}: the chance that someone who knows these columns of a person in the table "
        "finds the person's record.",
    ]
    if found.savings is not None:
        sentences.append(found.savings.sentence(len(found.quasi_identifiers)))
    if found.unique_share:
        sentences.append(f"What each adds to the unique records, given the others: {_additions(found)}.")
    if found.combinations.sampled:
        looked_at = f"{found.combinations.records:,} records drawn at random"
        sentences.append(
            f"The combinations below were counted in {looked_at}, which overstates how many records they "
            "single out."
        )
    return sentences


def _additions(found: Profile) -> str:
    """The quasi-identifiers with the share of records that each makes unique, the largest first."""
    added = [(column.singles_out or 0.0, column.name) for column in found.columns if column.singles_out]
    return ", ".join(f"{name} {share:.1%}" for share, name in sorted(added, reverse=True))


def _worst(combinations: list[Combination]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("columns together", box=None, pad_edge=False)
    table.add_column("records they single out", justify="right")
    for combination in combinations:
        table.add_row(Text(" + ".join(combination.columns)), f"{combination.unique_share:.1%}")
    return table


def _worst_of_each_size(worst: tuple[Combination, ...]) -> list[Combination]:
    """The worst combinations of one, two and three columns, a few each, that single anybody out."""
    sizes = sorted({len(combination.columns) for combination in worst if combination.unique_share})
    return [
        combination
        for size in sizes
        for combination in [c for c in worst if len(c.columns) == size and c.unique_share][:_WORST_SHOWN]
    ]


@command
def init(
    data: Data,
    out: Annotated[Path, typer.Option(help="The spec file to write (YAML).")],
    *,
    k: Annotated[int, typer.Option("--k", "-k", help="How many records must look alike, at least.")] = 10,
    force: Annotated[bool, typer.Option("--force", help="Replace the spec if it already exists.")] = False,
    reading: Reading,
    printing: Printing,
) -> None:
    """Write a starting spec: a role for every column and why, hierarchies, and the other options as comments.

    It works as it is, but it is a suggestion: read it before you publish. A file with one basket per line, a
    transaction of different items, is recognized and gets a spec for items.

    Example: **kohort init people.csv --out spec.yaml --k 10**
    """
    from kohort.files.atomic import Outputs
    from kohort.files.checked import write_checked
    from kohort.io.data_files import read_data
    from kohort.io.write_spec import spec_text
    from kohort.profiling.profile import profile

    output, named = printing.output(), reading.source(data)
    words = ("anonymize", shown(named), "--spec", out, "--out", "release.csv")
    command = command_to_copy(*words, **reading.typed())
    outputs = Outputs([out], [] if force else [out], reads=[file_of(named)])
    outputs.check()
    baskets = basket_profile(named, **reading.options())
    if baskets is not None:
        _init_baskets(output, baskets, Path(data), out, k, outputs)
        return
    with output.progress() as progress:
        progress("reading", 0.0)
        source = read_data(named, **reading.options())
        table = source.table
        _refuse_k(k, table.num_rows)
        progress("counting", 0.5)
        found = profile(table)
    with outputs.drafts() as draft_of:
        write_checked(draft_of[out], spec_text(found, data=str(named), command=command, k=k))
    output.result(_facts(found, out, k))
    output.notes(source)
    if found.savings is not None:
        output.note(found.savings.sentence(len(found.quasi_identifiers)))
    if not found.quasi_identifiers:
        output.note("No column looks like a quasi-identifier. Give that role to one before you anonymize.")
    output.say_whole(_next_steps(found, out, command))


def _init_baskets(
    output: Output, baskets: FoundBaskets, data: Path, out: Path, k: int, outputs: Outputs
) -> None:

    from kohort.files.checked import write_checked
    from kohort.io.source_file import plain_suffix
    from kohort.io.write_spec import items_spec_text

    found = baskets.profile
    _refuse_k(k, found.records)
    command = command_to_copy("anonymize", data, "--spec", out, "--out", f"release{plain_suffix(data)}")
    with outputs.drafts() as draft_of:
        text = items_spec_text(found, baskets.shape, data=str(data), command=command, k=k)
        write_checked(draft_of[out], text)
    output.result({"spec": str(out), "k": k, "records": found.records, "items": found.to_dict()})
    output.say_whole(
        f"Written: {out}. The file holds one basket per line: {counted(found.records, 'basket')} with "
        f"{found.items:,} different items.\nNext: read it, then\n  {command}"
    )


def _refuse_k(k: int, records: int) -> None:
    from kohort.errors import InfeasibleError
    from kohort.problem.promises import KAnonymity

    KAnonymity(k)
    if k > records:
        raise InfeasibleError(
            f"k = {k} is impossible: the table has {counted(records, 'record')}, so k can be at most "
            f"{records}."
        )


def _facts(found: Profile, out: Path, k: int) -> dict:
    from kohort.io.write_spec import suggested_attribute

    attributes = {
        column.name: suggested_attribute(column) | {"reason": column.reason} for column in found.columns
    }
    return {"spec": str(out), "k": k, "records": found.records, "attributes": attributes}


def _next_steps(found: Profile, out: Path, command: str) -> str:
    words = {
        "identifier": "dropped",
        "person": "the person",
        "household": "the household",
        "weight": "the weight",
        "items": "dropped (lists)",
        "quasi-identifier": "generalized",
        "sensitive": "kept, sensitive",
        "insensitive": "kept",
    }
    fates = [
        f"  {word + ':':17}{', '.join(names)}"
        for role, word in words.items()
        if (names := [column.name for column in found.columns if column.role == role])
    ]
    return "\n".join(
        [
            f"Written: {out}. It suggests that these columns be",
            *fates,
            "Next: read it and correct the roles, then",
            f"  {command}",
        ]
    )

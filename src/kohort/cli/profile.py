"""kohort profile: what the columns of a table are, and how many people they single out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.baskets import basket_profile
from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.options import Data
from kohort.cli.sources import command_to_copy, shown
from kohort.errors import counted

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

    from kohort.data.profile import ColumnProfile, Combination, Profile

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

    from kohort.data.profile import profile as profile_table
    from kohort.io.data_files import read_data

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

"""kohort profile and kohort init: what a table holds, and a starting spec for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from kohort.cli.commands import Init, Profile
from kohort.cli.console import Output, table
from kohort.cli.sources import command_to_copy, file_of, shown, source_named
from kohort.data.baskets import code_baskets
from kohort.errors import InfeasibleError, counted, percent
from kohort.files.atomic import Outputs
from kohort.files.checked import write_checked
from kohort.io.data_files import read_data, recognized_baskets
from kohort.io.databases import DatabaseTable
from kohort.io.source_file import Files, plain_suffix
from kohort.io.write_spec import items_spec_text, spec_text, suggested_attribute
from kohort.problem.promises import KAnonymity
from kohort.profiling.profile import BasketProfile, profile_baskets
from kohort.profiling.profile import Profile as Found
from kohort.profiling.profile import profile as profile_table
from kohort.profiling.uniqueness import Combination
from kohort.statement.items import BASKETS, BasketShape

_WORST_SHOWN = 3  # combinations of each size


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


def _baskets(data: Path | DatabaseTable, reading: dict[str, Any]) -> FoundBaskets | None:
    """The baskets of a file that holds one a line; None for a table, and where it was said how to read it."""
    if not isinstance(data, Path):
        return None
    Files.at(data)  # refused where it cannot be read
    shape = None if any(value is not None for value in reading.values()) else recognized_baskets(data)
    if shape is None:
        return None
    baskets = read_data(data, shape).table[BASKETS]
    return FoundBaskets(shape, profile_baskets(code_baskets(BASKETS, baskets)))


def profile(asked: Profile, output: Output) -> None:
    named = source_named(asked.data, asked)
    if baskets := _baskets(named, asked.reading):
        output.result({"baskets": baskets.profile.to_dict()})
        output.say_whole("\n".join(baskets.sentences()))
        output.say_whole(f"Next: {command_to_copy('init', asked.data, '--out', 'spec.yaml')}")
        return
    with output.progress() as progress:
        progress("reading", 0.0)
        source = read_data(named, **asked.reading)
        progress("counting", 0.5)
        found = profile_table(source.table)
    output.result(found.to_dict(show_values=asked.show_values))
    output.notes(source)
    output.show(_columns(found, show_values=asked.show_values))
    roles = [(column.name, column.role, column.reason) for column in found.columns]
    headings: list[str | Column] = [Column("column", overflow="fold"), Column("role", no_wrap=True), "why"]
    output.show(table(headings, roles, title="Suggested roles", title_justify="left"))
    output.show(_risk(found))
    next_command = command_to_copy("init", shown(named), "--out", "spec.yaml", **asked.typed)
    output.say_whole(f"Next: {next_command}")


def _columns(found: Found, *, show_values: bool) -> Table:
    figures = ["distinct", "missing", "unique"]
    rows = [
        [column.name, column.kind, f"{column.distinct:,}", f"{column.nulls:,}", f"{column.unique_share:.1%}"]
        for column in found.columns
    ]
    headings: list[str | Column] = [Column("column", overflow="fold"), "type", *figures]
    if show_values:
        headings.append(Column("most common", overflow="fold"))
        for row, column in zip(rows, found.columns):
            share = f"{column.most_common} ({column.most_common_share:.1%})"
            row.append("" if column.most_common is None else share)
    title = f"{counted(found.records, 'record')}, {counted(len(found.columns), 'column')}"
    return table(headings, rows, figures=figures, title=title, title_justify="left")


def _risk(found: Found) -> Panel:
    parts: list[Any] = [Text(sentence) for sentence in _sentences(found)]
    if worst := _worst_of_each_size(found.combinations.worst):
        heading = "records they single out"
        rows = [(" + ".join(each.columns), f"{each.unique_share:.1%}") for each in worst]
        shown = table(["columns together", heading], rows, figures=[heading], box=None, pad_edge=False)
        parts += [Text(), shown]
    return Panel(
        Group(*parts),
        title="How many people stand out in this table",
        border_style="red" if found.unique_share else "yellow",
        expand=False,
    )


def _sentences(found: Found) -> list[str]:
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
    if found.savings:
        sentences.append(found.savings.sentence(len(found.quasi_identifiers)))
    if found.unique_share:
        added = sorted(((c.singles_out, c.name) for c in found.columns if c.singles_out), reverse=True)
        of_each = ", ".join(f"{name} {share:.1%}" for share, name in added)
        sentences.append(f"What each adds to the unique records, given the others: {of_each}.")
    if found.combinations.sampled:
        looked_at = f"{found.combinations.records:,} records drawn at random"
        sentences.append(
            f"The combinations below were counted in {looked_at}, which overstates how many records they "
            "single out."
        )
    return sentences


def _worst_of_each_size(worst: tuple[Combination, ...]) -> list[Combination]:
    """The worst combinations of one, two and three columns, a few each, that single anybody out."""
    sizes = sorted({len(combination.columns) for combination in worst if combination.unique_share})
    return [
        combination
        for size in sizes
        for combination in [c for c in worst if len(c.columns) == size and c.unique_share][:_WORST_SHOWN]
    ]


def init(asked: Init, output: Output) -> None:
    named, out, k = source_named(asked.data, asked), asked.out, asked.k
    outputs = Outputs([out], [] if asked.force else [out], reads=[file_of(named)])
    outputs.check()
    if baskets := _baskets(named, asked.reading):
        _init_baskets(output, baskets, asked, outputs)
        return
    with output.progress() as progress:
        progress("reading", 0.0)
        source = read_data(named, **asked.reading)
        _refuse_k(k, source.table.num_rows)
        progress("counting", 0.5)
        found = profile_table(source.table)
    words = ("anonymize", shown(named), "--spec", out, "--out", "release.csv")
    command = command_to_copy(*words, **asked.typed)
    with outputs.drafts() as draft_of:
        write_checked(draft_of[out], spec_text(found, data=str(named), command=command, k=k))
    of = {column.name: suggested_attribute(column) | {"reason": column.reason} for column in found.columns}
    output.result({"spec": str(out), "k": k, "records": found.records, "attributes": of})
    output.notes(source)
    if found.savings:
        output.note(found.savings.sentence(len(found.quasi_identifiers)))
    if not found.quasi_identifiers:
        output.note("No column looks like a quasi-identifier. Give that role to one before you anonymize.")
    fates = [
        f"  {word + ':':17}{', '.join(names)}"
        for role, word in _FATES.items()
        if (names := [column.name for column in found.columns if column.role == role])
    ]
    lines = [f"Written: {out}. It suggests that these columns be", *fates]
    output.say_whole("\n".join([*lines, "Next: read it and correct the roles, then", f"  {command}"]))


_FATES = {
    "identifier": "dropped",
    "person": "the person",
    "household": "the household",
    "weight": "the weight",
    "items": "dropped (lists)",
    "quasi-identifier": "generalized",
    "sensitive": "kept, sensitive",
    "insensitive": "kept",
}


def _init_baskets(output: Output, baskets: FoundBaskets, asked: Init, outputs: Outputs) -> None:
    found, out, k, data = baskets.profile, asked.out, asked.k, Path(asked.data)
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
    KAnonymity(k)
    if k > records:
        raise InfeasibleError(
            f"k = {k} is impossible: the table has {counted(records, 'record')}, so k can be at most "
            f"{records}."
        )

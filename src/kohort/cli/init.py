"""kohort init: a starting spec for a table, for the publisher to read and correct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kohort.cli.baskets import FoundBaskets, basket_profile
from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.options import Data
from kohort.cli.sources import command_to_copy, file_of, shown
from kohort.errors import counted

if TYPE_CHECKING:
    from kohort.cli.console import Output
    from kohort.data.profile import Profile
    from kohort.files.outputs import Outputs


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

    from kohort.data.profile import profile
    from kohort.files.checked import write_checked
    from kohort.files.outputs import Outputs
    from kohort.io.data_files import read_data
    from kohort.io.write_spec import spec_text

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
    from kohort.io.compressed import plain_suffix
    from kohort.io.write_items_spec import items_spec_text

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
    from kohort.problem.models import KAnonymity

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

"""kohort apply: publish another table as a release was published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kohort.cli.bundles import Printing, Reading, command
from kohort.cli.options import Data, KeyFile
from kohort.cli.sources import file_of
from kohort.errors import counted


@command
def apply(
    maps: Annotated[
        Path,
        typer.Argument(
            help="The maps of a release, written by 'kohort anonymize --maps'.", show_default=False
        ),
    ],
    data: Data,
    out: Annotated[Path, typer.Option(help="The recoded table; its ending names the format.")],
    *,
    unseen: Annotated[
        str,
        typer.Option(
            help="What to do with values that are not in the maps: error, or suppress (publish them as *)."
        ),
    ] = "error",
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="Also verify the result: the models of the release, with this k."),
    ] = None,
    key_file: KeyFile = None,
    reading: Reading,
    printing: Printing,
) -> None:
    """Recode another table by the maps of a release.

    The same table gives the same release. Of other tables nothing is promised, unless you ask for a k: then
    the result is verified, and not written if it fails.

    Example: **kohort apply maps.json new-people.csv --out new-release.csv --unseen suppress --k 10**
    """

    from kohort.cli.sources import secret_key
    from kohort.data.dataset import Dataset
    from kohort.files.outputs import Outputs
    from kohort.io.data_files import read_data
    from kohort.io.maps import read_maps
    from kohort.io.tables import format_of
    from kohort.pipeline.apply import apply_maps
    from kohort.release.targets import write_verified
    from kohort.report.terminal import verdict_panel

    output, named = printing.output(), reading.source(data)
    outputs = Outputs([out], reads=[maps, file_of(named), key_file])
    outputs.check()
    format_of(out)
    read = read_maps(maps)
    source = read_data(named, **reading.options())
    applied = apply_maps(read, Dataset(source.table), unseen=unseen, k=k, key=secret_key(key_file))
    with outputs.drafts() as draft_of:
        delimiter = None if ".tsv" in out.suffixes else source.delimiter
        written = write_verified(
            applied.arrow, draft_of[out], None, delimiter=delimiter, formulas=read.request.formulas
        )
        facts = applied.facts(sha256={"input": source.sha256, "output": written})
    output.result(facts)
    output.notes(source)
    for note in facts["notes"]:
        output.note(note)
    if facts["verdict"] is not None:
        output.show(verdict_panel(facts["verdict"]))
    output.say(f"Written: {out}, {_extent(applied.arrow.num_rows, facts)}.")


def _extent(written: int, facts: dict[str, Any]) -> str:
    """How many records were written, of how many, and how many are withheld."""
    of = "" if written == facts["records"] else f"{written:,} of "
    return f"{of}{counted(facts['records'], 'record')}, {facts['suppressed']:,} withheld"

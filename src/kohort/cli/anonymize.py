"""kohort anonymize: a table in, a verified release out; kohort apply: another table, published alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Job, Printing, Reading, command
from kohort.cli.options import Data, EventsFile, KeyFile, LedgerFile, SpecFile
from kohort.cli.plain_help import Declared, bundle, option
from kohort.cli.sources import command_to_copy, file_of, secret_key, shown
from kohort.errors import counted
from kohort.release.artefacts import ARTEFACTS

if TYPE_CHECKING:
    from kohort.algorithms import Progress
    from kohort.cli.console import Output
    from kohort.io.databases import DatabaseTable
    from kohort.release.artefacts import ReleaseFiles
    from kohort.release.origin import Origin
    from kohort.release.release import Release
    from kohort.release.targets import Target
    from kohort.statement import Statement


_TABLES = {
    "out_table": option(
        str,
        "The table of the release, where --out is the URL of a database; one of this name is replaced.",
    ),
    "events_out": option(Path, "The published events; with --events, --out has the people."),
    "events_out_table": option(
        str, "The table of the published events, where --out is the URL of a database."
    ),
}


def _artefact_options() -> Iterator[tuple[str, Declared]]:
    """The options of all that can be written with a release."""
    for artefact in ARTEFACTS:
        yield artefact.name, option(Path, artefact.help)
        for _, kind, default, words in artefact.said():
            if words.beside:  # left out, it can be told from what is said
                yield words.keyword, option(kind, words.help, show_default=default or True)
            else:
                named = {"name": words.keyword} if kind is bool else {}
                yield words.keyword, option(kind, words.help, default, **named)


_Written: Any = bundle(**_TABLES, **dict(_artefact_options()))


class Writing(_Written):
    """What is written: the tables, and what goes with them."""

    GROUP = "What is written with the release"

    def files(self, out: str, ledger: Path | None, *, on_spark: bool) -> ReleaseFiles:
        """All files that are to be written; keys and salts are read before the long work."""
        from kohort.release.artefacts import ReleaseFiles, wanted

        said = {field.name: getattr(self, field.name) for field in fields(self)}
        artefacts = wanted({name: value for name, value in said.items() if name not in _TABLES}, ledger)
        return ReleaseFiles(self._target(out, on_spark=on_spark), artefacts)

    def _target(self, out: str, *, on_spark: bool) -> Target:
        from kohort.cli.sources import target_named
        from kohort.errors import InputError

        if on_spark:
            from kohort.release.on_spark import ClusterTarget

            return ClusterTarget(_location(out))
        from kohort.release.targets import target_of

        events = self.events_out
        if self.events_out_table is not None:
            if events is not None:
                raise InputError("--events-out is a file and --events-out-table a table: give one of them.")
            events = target_named(out, self.events_out_table)
        return target_of(target_named(out, self.out_table), events)


@command(
    everyday=("spec", "out", "k", "certificate", "report", "time_limit"),
    others="Events, earlier releases and secrets",
)
def anonymize(
    data: Data,
    spec: SpecFile,
    out: Annotated[
        str,
        typer.Option(
            help="The release; its ending names the format. Or the URL of a database, with --out-table."
        ),
    ],
    *,
    events: EventsFile = None,
    writing: Writing,
    job: Job,
    key_file: KeyFile = None,
    ledger: LedgerFile = None,
    reading: Reading,
    printing: Printing,
) -> None:
    """Anonymize a table: solve, verify, write.

    Nothing is written unless the release passes its own verification.

    Example: **kohort anonymize people.csv --spec spec.yaml --out release.csv --certificate release.json**
    """
    from kohort.io.read_spec import files_of, read_spec_file, with_files
    from kohort.release.artefacts import ledger_for
    from kohort.release.origin import Origin

    output, on_spark = printing.output(), job.engine == "spark"
    second = {
        "events": events,
        "events-out": writing.events_out,
        "events-out-table": writing.events_out_table,
        "ledger": ledger,
        "out-table": writing.out_table,
    }
    if on_spark:
        _refuse_on_spark(second | reading.typed())
    source = _location(data) if on_spark else reading.source(data)
    files = writing.files(out, ledger, on_spark=on_spark)
    written = read_spec_file(spec, **job.changes())
    read = written.statement
    key = secret_key(key_file)
    tied = ledger_for(ledger, key, read.roles.only("person"))
    request = with_files(read, beside=spec.parent, key=key, ledger=tied, **job.outside())
    named = None if isinstance(source, str) else source
    reads = [named, events, spec, key_file, *files_of(read, beside=spec.parent)]
    typed = {name: path and str(path) for name, path in second.items()} | job.typed() | reading.typed()
    target = files.target.written[0]
    command = command_to_copy("anonymize", shown(source), "--spec", spec, "--out", shown(target), **typed)
    name = PurePosixPath(source).name if isinstance(source, str) else source.name
    making = {"command": command, "spec": written.text, "data": name}
    origin = Origin(shape=read.shape, spec_sha256=written.sha256, making=making, ledger=ledger)
    with output.progress(time_limit=request.time_limit) as progress:
        outputs = files.outputs(request, read.shape, reads)
        release = release_file(source, request, progress, events=events, origin=origin, reading=reading)
        facts = files.write(release, outputs, progress=progress)
    found = release.origin.sources[0].encoding
    if found not in (None, "utf-8", "utf-8-sig"):
        output.note(f"The file was read as {found}; --encoding chooses another. Releases are UTF-8.")
    output.result(facts)
    _show(output, facts, files)


def release_file(
    data: str | Path | DatabaseTable,
    request: Statement,
    progress: Progress | None,
    *,
    origin: Origin,
    reading: Reading,
    events: Path | None = None,
) -> Release:
    """Read a file, and that of the events if there is one, and make the release of it."""
    import time

    from kohort.io.data_files import read_data
    from kohort.release.job import release_of
    from kohort.release.origin import open_original

    if progress is not None:
        progress("reading", 0.0)
    start = time.perf_counter()
    file = open_original(data, request, origin.shape, progress=progress, **reading.options())
    second = [] if events is None else [read_data(events, **reading.options_of_events())]
    seconds = {"read": time.perf_counter() - start}
    return release_of([file, *second], request, origin=origin, progress=progress, seconds=seconds)


def _location(path: str) -> str:
    """The path as Spark takes it; one with a scheme has lost a slash."""
    return re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", path)


def _refuse_on_spark(given: dict[str, Any]) -> None:
    """Refuse options that the Spark engine does not have."""
    from kohort.errors import UnsupportedError

    for name, value in given.items():
        if value is not None:
            raise UnsupportedError(
                f"--engine spark does not have --{name}. Leave it out, or use --engine local."
            )


def _show(output: Output, facts: dict, files: ReleaseFiles) -> None:

    from kohort.report.terminal import release_panel

    for note in facts["notes"]:
        output.note(note)
    output.show(release_panel(facts))
    for note in files.values_notes:
        output.note(note)
    output.written(*files.written)


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
    from kohort.files.atomic import Outputs
    from kohort.io.data_files import read_data
    from kohort.io.formats import format_of
    from kohort.io.maps import read_maps
    from kohort.job.maps import apply_maps
    from kohort.release.targets import write_verified
    from kohort.report.terminal import verdict_panel
    from kohort.tables.memory import MemoryTable

    output, named = printing.output(), reading.source(data)
    outputs = Outputs([out], reads=[maps, file_of(named), key_file])
    outputs.check()
    format_of(out)
    read = read_maps(maps)
    source = read_data(named, **reading.options())
    applied = apply_maps(read, MemoryTable(source.table), unseen=unseen, k=k, key=secret_key(key_file))
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

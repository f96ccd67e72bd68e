"""kohort anonymize: a table in, a verified release out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Job, Printing, Reading, command
from kohort.cli.files import command_to_copy
from kohort.cli.options import Data, EventsFile, KeyFile, LedgerFile, SpecFile
from kohort.cli.secret import secret_key
from kohort.cli.sources import shown

if TYPE_CHECKING:
    from kohort.algorithms import Progress
    from kohort.cli.console import Output
    from kohort.io.databases import DatabaseTable
    from kohort.pipeline import Request
    from kohort.publication import Origin, Release
    from kohort.publication.files import ReleaseFiles


@dataclass(frozen=True)
class Writing:
    """What is written besides the release."""

    out_table: Annotated[
        str | None,
        typer.Option(
            help=(
                "The table of the release, where --out is the URL of a database; one of this name "
                "is replaced."
            )
        ),
    ] = None
    events_out: Annotated[
        Path | None, typer.Option(help="The published events; with --events, --out has the people.")
    ] = None
    events_out_table: Annotated[
        str | None,
        typer.Option(help="The table of the published events, where --out is the URL of a database."),
    ] = None
    report: Annotated[Path | None, typer.Option(help="Also write a report to read (.html or .pdf).")] = None
    report_version: Annotated[
        str,
        typer.Option(help="'internal' shows values of the data; 'public' may be published with the release."),
    ] = "internal"
    dossier: Annotated[
        Path | None,
        typer.Option(help="Also write a dossier for those who approve it (.html or .pdf)."),
    ] = None
    dossier_version: Annotated[
        str, typer.Option(help="'internal' shows values of the data; 'public' does not.")
    ] = "internal"
    certificate: Annotated[Path | None, typer.Option(help="Also write a certificate (JSON).")] = None
    certificate_version: Annotated[
        str,
        typer.Option(help="'public' may be published with the release; 'internal' has all figures in full."),
    ] = "public"
    sign: Annotated[
        Path | None, typer.Option(help="Sign the certificate with this private key (PEM); see 'kohort key'.")
    ] = None
    salt: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Commit to the original with this secret, which is created if the file does not exist. Keep "
                "it private."
            )
        ),
    ] = None
    maps: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Also write how each value is published (JSON), for 'kohort apply'. It lists values of the "
                "data."
            )
        ),
    ] = None
    order_file: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Also write which original record each published one is (JSON), for 'kohort verify'. Keep "
                "it private."
            )
        ),
    ] = None
    hierarchies: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Also write the hierarchies to this folder, to explain the labels. They list values of the "
                "data."
            )
        ),
    ] = None
    hierarchy_levels: Annotated[
        str | None,
        typer.Option(
            help="What --hierarchies writes: all, or above (only what is above the values).",
            show_default="all",
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace hierarchy files that already exist.")] = (
        False
    )

    def _events(self, out: str) -> Path | DatabaseTable | None:
        from kohort.cli.sources import target_named
        from kohort.errors import InputError

        if self.events_out_table is None:
            return self.events_out
        if self.events_out is not None:
            raise InputError("--events-out is a file and --events-out-table a table: give one of them.")
        return target_named(out, self.events_out_table)

    def files(self, out: str, ledger: Path | None = None) -> ReleaseFiles:
        """All files that are to be written; keys and salts are read before the long work."""
        from kohort.cli.sources import target_named
        from kohort.io.salt import salt_for
        from kohort.publication.files import ReleaseFiles

        return ReleaseFiles(
            target_named(out, self.out_table),
            self.report,
            self.report_version,
            self.certificate,
            self.certificate_version,
            _signing_key(self.sign, self.certificate),
            self.maps,
            self.hierarchies,
            _levels(self.hierarchy_levels, self.hierarchies),
            self.force,
            salt_for(self.salt),
            self.order_file,
            self._events(out),
            self.dossier,
            self.dossier_version,
            ledger,
        )


@command
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
    from kohort.io.read_spec import read_spec_file
    from kohort.publication import Origin
    from kohort.publication.ledger import ledger_for

    output = printing.output()
    if job.engine == "spark":
        from kohort.cli.spark import anonymize_on_spark

        anonymize_on_spark(
            data,
            spec,
            out,
            events=events,
            writing=writing,
            job=job,
            reading=reading,
            output=output,
            ledger=ledger,
            key_file=key_file,
        )
        return
    source, files = reading.source(data), writing.files(out, ledger)
    written = read_spec_file(spec)
    read = written.spec.overridden(**job.changes())
    key = secret_key(key_file)
    tied = ledger_for(ledger, key, read.person)
    request = read.request(beside=spec.parent, key=key, ledger=tied, **job.outside())
    sources = [
        source,
        events,
        spec,
        writing.sign,
        key_file,
        files.salt.read_from,
        *read.files(beside=spec.parent),
    ]
    outputs = files.outputs(request, read.shape, sources)
    second = {
        "events": events,
        "events-out": writing.events_out,
        "events-out-table": writing.events_out_table,
        "ledger": ledger,
        "out-table": writing.out_table,
    }
    typed = {name: path and str(path) for name, path in second.items()} | job.typed() | reading.typed()
    command = command_to_copy("anonymize", shown(source), "--spec", spec, "--out", shown(files.out), **typed)
    making = {"command": command, "spec": written.text, "data": source.name}
    origin = Origin(shape=read.shape, spec_sha256=written.sha256, making=making, ledger=ledger)
    with output.progress(time_limit=request.time_limit) as progress:
        release = release_file(source, request, progress, events=events, origin=origin, reading=reading)
        facts = files.write(release, outputs, progress=progress)
    assert release.origin.file is not None
    found = release.origin.file.encoding
    if found not in (None, "utf-8", "utf-8-sig"):
        output.note(f"The file was read as {found}; --encoding chooses another. Releases are UTF-8.")
    output.result(facts)
    _show(output, facts, files)


def _signing_key(sign: Path | None, certificate: Path | None) -> Any:
    """The private key that signs, read before the long work."""
    from kohort.errors import InputError
    from kohort.io.signature import read_private_key

    if sign is None:
        return None
    if certificate is None:
        raise InputError("--sign signs the certificate: add --certificate with the file to write.")
    return read_private_key(sign)


def _levels(levels: str | None, hierarchies: Path | None) -> str:
    from kohort.errors import InputError

    if levels is not None and hierarchies is None:
        raise InputError(
            "--hierarchy-levels says what --hierarchies writes: add --hierarchies with the folder."
        )
    return levels or "all"


def release_file(
    data: Path | DatabaseTable,
    request: Request,
    progress: Progress | None,
    *,
    origin: Origin,
    reading: Reading,
    events: Path | None = None,
) -> Release:
    """Read a file, and that of the events if there is one, and make the release of it."""
    import time

    from kohort.io.data_files import read_data
    from kohort.publication import release_of
    from kohort.publication.opening import open_original

    if progress is not None:
        progress("reading", 0.0)
    start = time.perf_counter()
    file = open_original(data, request, origin.shape, progress=progress, **reading.options())
    second = None if events is None else read_data(events, **reading.options_of_events())
    seconds = {"read": time.perf_counter() - start}
    return release_of(file, request, events=second, origin=origin, progress=progress, seconds=seconds)


def _show(output: Output, facts: dict, files: ReleaseFiles) -> None:
    from rich.text import Text

    from kohort.report.terminal import release_panel

    for note in facts["notes"]:
        output.note(note)
    output.show(release_panel(facts))
    for path in files.with_values:
        hint = "" if path == files.maps else " --hierarchy-levels above leaves them out."
        output.note(f"{path} lists values as they are, not generalized: keep it with the original.{hint}")
    output.show(Text("Written: " + ", ".join(str(path) for path in files.written)))

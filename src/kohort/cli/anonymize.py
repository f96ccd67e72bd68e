"""kohort anonymize: a table in, a verified release out; kohort apply: another table, published alike."""

from __future__ import annotations

import re
import time
from pathlib import Path, PurePosixPath
from typing import Any

from kohort.algorithms import Progress
from kohort.cli.commands import Anonymize, Apply
from kohort.cli.console import Output
from kohort.cli.options import Reading
from kohort.cli.sources import command_to_copy, file_of, secret_key, shown, source_named, target_named
from kohort.errors import InputError, UnsupportedError, counted
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_data
from kohort.io.databases import DatabaseTable
from kohort.io.formats import format_of
from kohort.io.read_spec import files_of, read_spec_file, with_files
from kohort.release.artefacts import ReleaseFiles, ledger_for, wanted
from kohort.release.job import release_of
from kohort.release.origin import Origin, open_original
from kohort.release.release import Release
from kohort.release.targets import Target, target_of, write_verified
from kohort.report.terminal import release_panel, verdict_panel
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable


def anonymize(asked: Anonymize, output: Output) -> None:
    on_spark = asked.engine == "spark"
    names = ("events", "events_out", "events_out_table", "ledger", "out_table")
    second = {name: getattr(asked, name) for name in names}
    if on_spark:
        _refuse_on_spark(second | asked.typed)
    source = _location(asked.data) if on_spark else source_named(asked.data, asked)
    # keys and salts are read before the long work
    files = ReleaseFiles(_target(asked, on_spark=on_spark), wanted(asked.artefacts, asked.ledger))
    written = read_spec_file(asked.spec, **asked.changes)
    read, beside = written.statement, asked.spec.parent
    key = secret_key(asked.key_file)
    tied = ledger_for(asked.ledger, key, read.roles.only("person"))
    request = with_files(read, beside=beside, key=key, ledger=tied, **asked.outside)
    named = None if isinstance(source, str) else source
    reads = [named, asked.events, asked.spec, asked.key_file, *files_of(read, beside=beside)]
    typed = second | {name: getattr(asked, name) for name in asked.changes} | asked.typed
    target = shown(files.target.written[0])
    command = command_to_copy("anonymize", shown(source), "--spec", asked.spec, "--out", target, **typed)
    name = PurePosixPath(source).name if isinstance(source, str) else source.name
    making = {"command": command, "spec": written.text, "data": name}
    origin = Origin(shape=read.shape, spec_sha256=written.sha256, making=making, ledger=asked.ledger)
    with output.progress(time_limit=request.time_limit) as progress:
        outputs = files.outputs(request, read.shape, reads)
        release = release_file(source, request, progress, events=asked.events, origin=origin, reading=asked)
        facts = files.write(release, outputs, progress=progress)
    encoding = release.origin.sources[0].encoding
    if encoding not in (None, "utf-8", "utf-8-sig"):
        output.note(f"The file was read as {encoding}; --encoding chooses another. Releases are UTF-8.")
    output.result(facts)
    output.note(*facts["notes"])
    output.show(release_panel(facts))
    output.note(*files.values_notes)
    output.written(*files.written)


def _target(asked: Anonymize, *, on_spark: bool) -> Target:
    """Where the tables of the release are written."""
    if on_spark:
        from kohort.release.on_spark import ClusterTarget

        return ClusterTarget(_location(asked.out))
    events = asked.events_out
    if asked.events_out_table:
        if events:
            raise InputError("--events-out is a file and --events-out-table a table: give one of them.")
        events = target_named(asked.out, asked.events_out_table)
    return target_of(target_named(asked.out, asked.out_table), events)


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
    if progress:
        progress("reading", 0.0)
    start = time.perf_counter()
    said = reading.reading
    file = open_original(data, request, origin.shape, progress=progress, **said)
    del said["sheet"]  # that of the first table
    second = [read_data(events, **said)] if events else []
    seconds = {"read": time.perf_counter() - start}
    return release_of([file, *second], request, origin=origin, progress=progress, seconds=seconds)


def _location(path: str) -> str:
    """The path as Spark takes it; one with a scheme has lost a slash."""
    return re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", path)


def _refuse_on_spark(given: dict[str, Any]) -> None:
    """Refuse options that the Spark engine does not have."""
    for name, value in given.items():
        if value is not None:
            flag = name.replace("_", "-")
            raise UnsupportedError(
                f"--engine spark does not have --{flag}. Leave it out, or use --engine local."
            )


def apply(asked: Apply, output: Output) -> None:
    from kohort.io.maps import read_maps  # loads what no release needs
    from kohort.job.maps import apply_maps

    named, out = source_named(asked.data, asked), asked.out
    outputs = Outputs([out], reads=[asked.maps, file_of(named), asked.key_file])
    outputs.check()
    format_of(out)
    read = read_maps(asked.maps)
    source = read_data(named, **asked.reading)
    key = secret_key(asked.key_file)
    applied = apply_maps(read, MemoryTable(source.table), unseen=asked.unseen, k=asked.k, key=key)
    with outputs.drafts() as draft_of:
        delimiter = None if ".tsv" in out.suffixes else source.delimiter
        formulas = read.request.formulas
        written = write_verified(applied.arrow, draft_of[out], None, delimiter=delimiter, formulas=formulas)
        facts = applied.facts(sha256={"input": source.sha256, "output": written})
    output.result(facts)
    output.notes(source)
    output.note(*facts["notes"])
    if facts["verdict"]:
        output.show(verdict_panel(facts["verdict"]))
    n_records, n_written = facts["records"], applied.arrow.num_rows
    of = "" if n_written == n_records else f"{n_written:,} of "
    output.say(f"Written: {out}, {of}{counted(n_records, 'record')}, {facts['suppressed']:,} withheld.")

"""kohort anonymize --engine spark: the same command for a table that Spark reads."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from kohort.cli.anonymize import Writing
    from kohort.cli.bundles import Job, Reading
    from kohort.cli.console import Output
    from kohort.report.asked import Version


def anonymize_on_spark(
    data: str,
    spec: Path,
    out: str,
    *,
    events: Path | None,
    writing: Writing,
    job: Job,
    reading: Reading,
    output: Output,
    ledger: Path | None,
    key_file: Path | None,
) -> None:
    """Anonymize a table on a cluster: solve, verify, write."""
    import time

    from kohort.cli.files import command_to_copy
    from kohort.cli.secret import secret_key
    from kohort.engines.spark.session import spark_session
    from kohort.engines.spark.source import format_of_path, source_of_path
    from kohort.io.read_spec import read_spec_file
    from kohort.io.signature import read_private_key
    from kohort.pipeline.spark.job import make_spark_release
    from kohort.pipeline.spark.prepare import refuse_on_spark
    from kohort.publication.spark_release import ReleaseOnSpark, refuse_existing

    _refuse(events, writing, reading, ledger)
    written = read_spec_file(spec)
    read = written.spec.overridden(**job.changes())
    request = read.request(beside=spec.parent, key=secret_key(key_file), **job.outside())
    signing = None if writing.sign is None else read_private_key(writing.sign)
    target = _location(out)
    refuse_on_spark(request)
    format_of_path(target)
    command = command_to_copy("anonymize", data, "--spec", spec, "--out", out, **job.typed())
    name = PurePosixPath(_location(data)).name
    with output.progress(time_limit=request.time_limit) as progress:
        if progress is not None:
            progress("starting Spark", 0.0)
        spark = spark_session()
        refuse_existing(spark, target)
        start = time.perf_counter()
        source = source_of_path(spark, _location(data))
        seconds = {"read": time.perf_counter() - start}
        made = make_spark_release(source, request, progress=progress, seconds=seconds)
        making = {"command": command, "spec": written.text, "data": name}
        release = ReleaseOnSpark.from_verified(made, making, written.sha256)
        facts = release.write(
            target,
            report=writing.report,
            report_version=cast("Version", writing.report_version),
            certificate=writing.certificate,
            certificate_version=cast("Version", writing.certificate_version),
            key=signing,
            maps=writing.maps,
            salt=writing.salt,
            progress=progress,
        )
    output.result(facts)
    _show(output, facts, [target, *filter(None, [writing.report, writing.certificate, writing.maps])])


def _location(path: str) -> str:
    """The path as Spark takes it; one with a scheme has lost a slash."""
    return re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", path)


def _refuse(events: Path | None, writing: Writing, reading: Reading, ledger: Path | None) -> None:
    """Refuse options that the Spark engine does not have."""
    from kohort.errors import InputError, UnsupportedError
    from kohort.report.asked import check_report_path, check_version

    check_version(writing.report_version)
    check_version(writing.certificate_version)
    if writing.report is not None:
        check_report_path(writing.report)
    given: dict[str, Any] = {
        "events": events,
        "events-out": writing.events_out,
        "order-file": writing.order_file,
        "hierarchies": writing.hierarchies,
        "dossier": writing.dossier,
        "ledger": ledger,
        "out-table": writing.out_table,
        **reading.typed(),
    }
    for name, value in given.items():
        if value is not None:
            raise UnsupportedError(
                f"--engine spark does not have --{name}. Leave it out, or use --engine local."
            )
    if writing.sign is not None and writing.certificate is None:
        raise InputError("--sign signs the certificate: add --certificate with the file to write.")


def _show(output: Output, facts: dict, written: list[Any]) -> None:
    from rich.text import Text

    from kohort.report.terminal import release_panel

    for note in facts["notes"]:
        output.note(note)
    output.show(release_panel(facts))
    output.show(Text("Written: " + ", ".join(str(path) for path in written)))

"""kohort dossier: what those who must approve a release ask for, in one document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Job, Printing, Reading, command
from kohort.cli.options import Data, EventsFile, KeyFile, SpecFile
from kohort.cli.plain_help import bundle, option
from kohort.cli.risk import POPULATION, InPopulation
from kohort.cli.sources import file_of, secret_key

if TYPE_CHECKING:
    from kohort.cli.console import Output
    from kohort.files.atomic import Outputs
    from kohort.release.release import Release


_Tests: Any = bundle(
    version=option(str, "'internal' shows values of the data; 'public' does not.", "internal"),
    targets=option(int, "How many people each attack looks for.", 500),
    **POPULATION,
    intruder_form=option(
        Path, "Also write a blank form for human attempts (.csv to read back, .html to print)."
    ),
    intruder_results=option(Path, "A form that was filled in (.csv), to be summarized in the dossier."),
    intruder_log=option(Path, "", hidden=True),  # retired: refused
    key_file=(KeyFile, None),
)


class Testing(_Tests, InPopulation):
    """What is tested for the dossier, and the files of the intruder test."""

    def check(self, out: Path) -> None:
        """Refuse what cannot be written, before long work."""
        from kohort.errors import UnsupportedError
        from kohort.io.intruder_form import check_form_path
        from kohort.report.asked import check_page, check_version

        check_version(self.version)
        check_page(out, "dossier")
        if self.intruder_form is not None:
            check_form_path(self.intruder_form)
        if self.intruder_log is not None:
            raise UnsupportedError(
                "--intruder-log is no more: leave it out. The dossier counts the automatic attempts and says "
                "the seed that makes the same ones again."
            )

    def options(self) -> dict[str, Any]:
        """The options as keywords of `write_dossier`; tables and forms are read."""
        from kohort.io.intruder_form import read_attempts

        results = self.intruder_results
        return {
            **super().options(),
            "version": self.version,
            "targets": self.targets,
            "human": None if results is None else read_attempts(results),
        }


@command
def dossier(
    data: Data,
    spec: SpecFile,
    out: Annotated[Path, typer.Option(help="The dossier: .html or .pdf.")],
    *,
    events: EventsFile = None,
    testing: Testing,
    job: Job,
    reading: Reading,
    printing: Printing,
) -> None:
    """Write a dossier for those who must approve a release: risk, attacks carried out, utility, governance.

    The release is made as by 'kohort anonymize' with the same spec and seed, but not written. Nothing is
    claimed about compliance: chapters say which clauses they may answer, and what is left blank.

    Example: **kohort dossier people.csv --spec spec.yaml --out dossier.html**
    """
    from kohort.cli.anonymize import release_file
    from kohort.files.atomic import Outputs
    from kohort.io.read_spec import files_of, read_spec_file, with_files
    from kohort.release.origin import Origin

    output = printing.output()
    testing.check(out)
    written = read_spec_file(spec, **job.changes())
    read = written.statement
    request = with_files(read, beside=spec.parent, key=secret_key(testing.key_file), **job.outside())
    source = reading.source(data)
    reads = [file_of(source), events, spec, testing.key_file, testing.population, testing.intruder_results]
    named = [path for path in (out, testing.intruder_form) if path is not None]
    outputs = Outputs(named, reads=[*reads, *files_of(read, beside=spec.parent)])
    outputs.check()
    options = testing.options()
    origin = Origin(shape=read.shape, making={"spec": written.text, "data": source.name})
    with output.progress(time_limit=request.time_limit) as progress:
        release = release_file(source, request, progress, events=events, origin=origin, reading=reading)
        facts = _write(release, outputs, out, testing, options | {"progress": progress})
    _show(output, facts, named)


def _write(
    release: Release, outputs: Outputs, out: Path, testing: Testing, options: dict[str, Any]
) -> dict[str, Any]:
    """Write the dossier, and the form: both or none; returns the facts of the dossier."""
    from kohort.io.intruder_form import write_form
    from kohort.report.dossier.write import write_dossier

    with outputs.drafts() as draft_of:
        hashes = {"input": release.origin.sha256}
        making = release.origin.making
        facts = write_dossier(release, draft_of[out], making=making, sha256=hashes, **options)
        if testing.intruder_form is not None:
            write_form(draft_of[testing.intruder_form])
    return facts


def _show(output: Output, facts: dict[str, Any], named: list[Path]) -> None:

    output.result(facts)
    criteria = facts["criteria"] or {"singling_out": [], "linkability": None, "inference": []}
    parts = [*criteria["singling_out"], criteria["linkability"], *criteria["inference"]]
    parts = [facts["knowledge"], *parts, facts["numbers"], facts["intruders"], facts["human"]]
    for part in parts:
        if part is not None and "sentence" in part:
            output.say(f"- {part['sentence']}")
    output.written(*named)

"""kohort dossier: what those who must approve a release ask for, in one document."""

from __future__ import annotations

from kohort.cli.anonymize import release_file
from kohort.cli.commands import Dossier
from kohort.cli.console import Output
from kohort.cli.risk import population_of
from kohort.cli.sources import file_of, secret_key, source_named
from kohort.errors import UnsupportedError
from kohort.files.atomic import Outputs
from kohort.io.intruder_form import check_form_path, read_attempts, write_form
from kohort.io.read_spec import files_of, read_spec_file, with_files
from kohort.release.origin import Origin
from kohort.report.asked import check_page, check_version
from kohort.report.dossier.write import write_dossier


def dossier(asked: Dossier, output: Output) -> None:
    _refuse_wrong(asked)
    written = read_spec_file(asked.spec, **asked.changes)
    read, beside = written.statement, asked.spec.parent
    request = with_files(read, beside=beside, key=secret_key(asked.key_file), **asked.outside)
    source = source_named(asked.data, asked)
    others = ("events", "spec", "key_file", "population", "intruder_results")
    reads = [file_of(source), *(getattr(asked, name) for name in others)]
    named = [*filter(None, (asked.out, asked.intruder_form))]
    outputs = Outputs(named, reads=[*reads, *files_of(read, beside=beside)])
    outputs.check()
    results = asked.intruder_results
    said = {
        **population_of(asked),
        "version": asked.version,
        "targets": asked.targets,
        "human": read_attempts(results) if results else None,
    }
    making = {"spec": written.text, "data": source.name}
    origin = Origin(shape=read.shape, making=making)
    with output.progress(time_limit=request.time_limit) as progress:
        release = release_file(source, request, progress, events=asked.events, origin=origin, reading=asked)
        said |= {"making": release.origin.making, "sha256": {"input": release.origin.sha256}}
        with outputs.drafts() as draft_of:  # the dossier and the form: both or none
            facts = write_dossier(release, draft_of[asked.out], progress=progress, **said)
            if asked.intruder_form:
                write_form(draft_of[asked.intruder_form])
    output.result(facts)
    criteria = facts["criteria"] or {"singling_out": [], "linkability": None, "inference": []}
    parts = [facts["knowledge"], *criteria["singling_out"], criteria["linkability"], *criteria["inference"]]
    parts += [facts["numbers"], facts["intruders"], facts["human"]]
    output.say(*(f"- {part['sentence']}" for part in parts if part and "sentence" in part))
    output.written(*named)


def _refuse_wrong(asked: Dossier) -> None:
    """Refuse what cannot be written, before long work."""
    check_version(asked.version)
    check_page(asked.out, "dossier")
    if asked.intruder_form:
        check_form_path(asked.intruder_form)
    if asked.intruder_log:
        raise UnsupportedError(
            "--intruder-log is no more: leave it out. The dossier counts the automatic attempts and says "
            "the seed that makes the same ones again."
        )

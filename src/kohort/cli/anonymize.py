"""kohort anonymize: a table in, a verified release out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.files import command_to_copy, refuse_overwriting
from kohort.cli.options import Data, Delimiter, Encoding, Json, Quiet, Sheet
from kohort.cli.secret import secret_key

if TYPE_CHECKING:
    from kohort.cli.console import Output
    from kohort.io.baskets import BasketShape
    from kohort.io.tables import TableFile
    from kohort.pipeline import Release

__all__ = ["anonymize", "release_file"]


def anonymize(
    data: Data,
    spec: Annotated[Path, typer.Option(help="What each column is and what is promised (YAML).")],
    out: Annotated[Path, typer.Option(help="The release; its ending names the format.")],
    report: Annotated[Path | None, typer.Option(help="Also write a report to read (.html or .pdf).")] = None,
    report_version: Annotated[
        str, typer.Option(help="internal shows values of the data; public may go with the release.")
    ] = "internal",
    certificate: Annotated[Path | None, typer.Option(help="Also write a certificate (JSON).")] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign the certificate with this private key (PEM); see 'kohort key'.")
    ] = None,
    maps: Annotated[
        Path | None,
        typer.Option(help="Also write how each value is published (JSON), for 'kohort apply'."),
    ] = None,
    hierarchies: Annotated[
        Path | None, typer.Option(help="Also write the hierarchies to this folder, to read labels by.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Instead of the spec's; see 'kohort algorithms'.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Instead of the spec's k.")] = None,
    cost: Annotated[str | None, typer.Option(help="The measure to minimise, instead of the spec's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the spec's seed.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best release so far is used then.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Where to compute: local.")] = "local",
    key_file: Annotated[
        Path | None, typer.Option(help="Secret for pseudonyms, else KOHORT_KEY.", show_default=False)
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Anonymize a table: solve, verify, write.

    Nothing is written unless the release passes its own verification.

    Example: **kohort anonymize people.csv --spec spec.yaml --out release.csv --certificate release.json**
    """
    from kohort.cli.console import Output
    from kohort.io.atomic import check_targets
    from kohort.io.spec import read_spec
    from kohort.io.tables import format_of

    output = Output(as_json=json, quiet=quiet)
    extras = _Extras(report, report_version, certificate, sign, maps)
    files = [out, *extras.files]
    for file in files:
        refuse_overwriting(file, sources=[data, spec, sign], force=True)
    check_targets(files)
    extras.check()
    read = read_spec(spec).overridden(k=k, algorithm=algorithm, cost=cost, seed=seed, time_limit=time_limit)
    shape = read.shape
    if shape is None:
        format_of(out)
    request = read.request(beside=spec.parent, key=secret_key(key_file), engine=engine)
    words = {"k": k, "algorithm": algorithm, "cost": cost, "seed": seed, "time-limit": time_limit}
    reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    making = {
        "command": command_to_copy("anonymize", data, "--spec", spec, "--out", out, **words, **reading),
        "spec": spec.read_text(encoding="utf-8", errors="replace"),
    }
    with output.progress() as progress:
        source, release = release_file(data, request, progress, shape=shape, **reading)
        facts = _write(source, release, out, shape, extras, making=making, progress=progress, spec=spec)
    if source.encoding not in (None, "utf-8", "utf-8-sig"):
        output.note(
            f"The file was read as {source.encoding}; --encoding chooses another. Releases are UTF-8."
        )
    if hierarchies is not None:
        _write_hierarchies(release, hierarchies)
    output.result(facts)
    _tell(output, facts, files)


@dataclass(frozen=True)
class _Extras:
    """What is written besides the release."""

    report: Path | None
    version: str
    certificate: Path | None
    key: Path | None
    maps: Path | None

    @property
    def files(self) -> list[Path]:
        signed = self.certificate is not None and self.key is not None
        signature = Path(f"{self.certificate}.sig") if signed else None
        return [path for path in (self.certificate, self.report, self.maps, signature) if path is not None]

    def check(self) -> None:
        """Refuse what cannot be written, before the long work."""
        from kohort.errors import InputError
        from kohort.io.signature import read_private_key
        from kohort.report.facts import check_version
        from kohort.report.html import check_report_path

        check_version(self.version)
        if self.report is not None:
            check_report_path(self.report)
        if self.key is not None:
            if self.certificate is None:
                raise InputError("--sign signs the certificate: say where to write it with --certificate.")
            read_private_key(self.key)


def release_file(data, request, progress, *, shape=None, **reading) -> tuple[TableFile, Release]:  # type: ignore[no-untyped-def]
    """Read a file and make the release of it."""
    import time

    from kohort.data.dataset import Dataset
    from kohort.io.baskets import read_data
    from kohort.pipeline import make_release

    progress("reading", 0.0)
    start = time.perf_counter()
    source = read_data(data, shape, **reading)
    seconds = {"read": time.perf_counter() - start}
    return source, make_release(Dataset(source.table), request, progress=progress, seconds=seconds)


def _write(  # type: ignore[no-untyped-def]
    source: TableFile,
    release: Release,
    out: Path,
    shape: BasketShape | None,
    extras: _Extras,
    *,
    making: dict[str, str],
    progress,
    spec: Path,
) -> dict:
    """Write everything or nothing; the facts as the certificate holds them."""
    import time

    from kohort.io.atomic import replacing_all
    from kohort.io.baskets import write_data
    from kohort.io.signature import read_private_key, sign_file, signature_path
    from kohort.io.tables import sha256_of
    from kohort.report.html import write_report

    targets = [out, *extras.files]
    with replacing_all(targets) as drafts:
        draft_of = dict(zip(targets, drafts))
        start = time.perf_counter()
        delimiter = None if ".tsv" in out.suffixes else source.delimiter
        write_data(release.arrow, draft_of[out], shape, delimiter=delimiter)
        release.seconds["write"] = time.perf_counter() - start
        sha256 = {"input": source.sha256, "output": sha256_of(draft_of[out])}
        if extras.certificate is not None:
            draft = draft_of[extras.certificate]
            release.certificate(draft, sha256=sha256)
            if extras.key is not None:
                signature = draft_of[signature_path(extras.certificate)]
                sign_file(draft, signature, read_private_key(extras.key))
        if extras.report is not None:
            options = {"version": extras.version, "sha256": sha256, "making": making, "progress": progress}
            write_report(release, draft_of[extras.report], **options)
        if extras.maps is not None:
            release.maps(draft_of[extras.maps], spec_sha256=sha256_of(spec))
    return release.facts(sha256=sha256)


def _write_hierarchies(release: Release, folder: Path) -> None:
    """One file per quasi-identifier that has a hierarchy, named by its place and column."""
    from kohort.data.hierarchy import Hierarchy
    from kohort.errors import InputError
    from kohort.io.hierarchies import write_hierarchy

    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(folder)!r} cannot be made: {error.strerror}.") from None
    attributes = () if release.problem is None else release.problem.attributes
    domains: dict[str, Any] = {attribute.name: attribute.domain for attribute in attributes}
    if release.items is not None:
        domains[release.items.problem.baskets.name] = release.items.problem.hierarchy
    for name, domain in domains.items():
        if isinstance(domain, Hierarchy):
            file = "".join(c if c.isalnum() or c in "-_ " else "_" for c in name)
            write_hierarchy(domain, folder / f"{file}.csv")


def _tell(output: Output, facts: dict, files: list[Path]) -> None:
    from rich.text import Text

    from kohort.report.story import release_story

    for note in facts["notes"]:
        output.note(note)
    output.show(release_story(facts))
    if files:
        output.show(Text("Written: " + ", ".join(str(path) for path in files)))

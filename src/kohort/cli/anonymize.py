"""kohort anonymize: a table in, a verified release out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.files import refuse_overwriting
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
    report: Annotated[Path | None, typer.Option(help="Also write a report to read (HTML).")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Also write a certificate (JSON).")] = None,
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
    files = [path for path in (out, certificate, report, maps) if path is not None]
    for file in files:
        refuse_overwriting(file, sources=[data, spec], force=True)
    check_targets(files)
    read = read_spec(spec).overridden(k=k, algorithm=algorithm, cost=cost, seed=seed, time_limit=time_limit)
    shape = read.shape
    if shape is None:
        format_of(out)
    request = read.request(beside=spec.parent, key=secret_key(key_file), engine=engine)
    with output.progress() as progress:
        source, release = release_file(
            data, request, progress, shape=shape, delimiter=delimiter, encoding=encoding, sheet=sheet
        )
    if source.encoding not in (None, "utf-8", "utf-8-sig"):
        output.note(
            f"The file was read as {source.encoding}; --encoding chooses another. Releases are UTF-8."
        )
    facts = _write(source, release, out, shape, report=report, certificate=certificate, maps=maps, spec=spec)
    if hierarchies is not None:
        _write_hierarchies(release, hierarchies)
    output.result(facts)
    _tell(output, facts, files)


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


def _write(
    source: TableFile,
    release: Release,
    out: Path,
    shape: BasketShape | None,
    *,
    report: Path | None,
    certificate: Path | None,
    maps: Path | None,
    spec: Path,
) -> dict:
    """Write everything or nothing; the facts as the certificate holds them."""
    import time

    from kohort.io.atomic import replacing_all
    from kohort.io.baskets import write_data
    from kohort.io.tables import sha256_of
    from kohort.report.html import write_report

    targets = [path for path in (out, certificate, report, maps) if path is not None]
    with replacing_all(targets) as drafts:
        draft_of = dict(zip(targets, drafts))
        start = time.perf_counter()
        delimiter = None if ".tsv" in out.suffixes else source.delimiter
        write_data(release.arrow, draft_of[out], shape, delimiter=delimiter)
        release.seconds["write"] = time.perf_counter() - start
        sha256 = {"input": source.sha256, "output": sha256_of(draft_of[out])}
        if certificate is not None:
            release.certificate(draft_of[certificate], sha256=sha256)
        if report is not None:
            write_report(release.facts(sha256=sha256), draft_of[report])
        if maps is not None:
            release.maps(draft_of[maps], spec_sha256=sha256_of(spec))
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

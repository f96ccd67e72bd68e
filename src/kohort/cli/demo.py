"""kohort demo: the whole job on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kohort.cli.options import Json, Quiet

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="The folder for its files; made if need be.")] = Path("demo"),
    k: Annotated[int, typer.Option("--k", "-k", help="The smallest class.")] = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Do the whole job on built-in data: the RAND health records, made 10-anonymous and verified.

    Example: **kohort demo --out demo**
    """
    import shutil

    from rich.text import Text

    from kohort.cli.anonymize import anonymize
    from kohort.cli.console import Output
    from kohort.cli.verify import verify
    from kohort.datasets import example_spec, load_health
    from kohort.errors import InputError
    from kohort.io.tables import write_table

    output = Output(as_json=json, quiet=quiet)
    output.console.soft_wrap = True  # commands are to be copied whole
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(out)!r} cannot be made: {error.strerror}.") from None
    people, spec, release = out / "people.csv", out / "spec.yaml", out / "release.csv"
    source = Path(example_spec("health"))
    write_table(load_health(year=1), people)
    shutil.copy(source, spec)
    shutil.copytree(
        source.parent / "hierarchies" / "health", out / "hierarchies" / "health", dirs_exist_ok=True
    )
    commands = [
        f"kohort anonymize {people} --spec {spec} --out {release} "
        f"--certificate {out / 'certificate.json'} --report {out / 'report.html'} --k {k}",
        f"kohort verify {release} --spec {spec} --original {people} --k {k}",
    ]
    output.show(Text(f"5,638 people of the RAND Health Insurance Experiment, first year: {people}"))
    output.show(Text(f"\n$ {commands[0]}"))
    anonymize(
        people,
        spec,
        release,
        report=out / "report.html",
        certificate=out / "certificate.json",
        k=k,
        json=json,
        quiet=quiet,
    )
    output.show(Text(f"\n$ {commands[1]}"))
    verify(release, spec, original=people, k=k, quiet=quiet or json)
    output.show(Text(f"\nOpen {out / 'report.html'}, and try the two commands on a file of your own."))

"""kohort demo: the whole job on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kohort.cli.bundles import Printing, command


@command
def demo(
    out: Annotated[Path, typer.Option(help="The folder for the files; created if it does not exist.")] = Path(
        "demo"
    ),
    k: Annotated[int, typer.Option("--k", "-k", help="The fewest people in a class.")] = 10,
    *,
    printing: Printing,
) -> None:
    """Do the whole job on built-in data: five years of RAND health records, made 10-anonymous and verified.

    Example: **kohort demo --out demo**
    """
    from kohort.cli.anonymize import anonymize
    from kohort.cli.verify import verify

    output = printing.output()
    output.console.soft_wrap = True  # commands are to be copied whole
    people, spec, release = out / "people.csv", out / "spec.yaml", out / "release.csv"
    order = out / "order.json"
    results = [release, out / "certificate.json", out / "report.html", order]
    _write_inputs(people, spec, results)
    commands = [
        f"kohort anonymize {people} --spec {spec} --out {release} --certificate {out / 'certificate.json'} "
        f"--report {out / 'report.html'} --order-file {order} --k {k}",
        f"kohort verify {release} --spec {spec} --original {people} --order-file {order} --k {k}",
    ]
    output.say(f"20,190 records of 5,912 people, the RAND Health Insurance Experiment: {people}")
    output.say(f"\n$ {commands[0]}")
    anonymize(
        people,
        spec,
        release,
        report=out / "report.html",
        certificate=out / "certificate.json",
        order_file=order,
        k=k,
        json=printing.json,
        quiet=printing.quiet,
    )
    output.say(f"\n$ {commands[1]}")
    quiet = printing.quiet or printing.json
    verify(release, spec=spec, original=people, order_file=order, k=k, quiet=quiet)
    output.say(f"\nOpen {out / 'report.html'}, and try the two commands on a file of your own.")


def _write_inputs(people: Path, spec: Path, results: list[Path]) -> None:
    """Write the files that the job reads; refused where a file of the same name is not the demo's."""
    from kohort.datasets import example_spec, load_health
    from kohort.errors import InputError
    from kohort.files.atomic import Outputs
    from kohort.files.checked import write_checked
    from kohort.io.tables import write_table

    source = Path(example_spec("health"))
    trees = sorted((source.parent / "hierarchies" / "health").iterdir())
    copies = {spec: source} | {spec.parent / tree.relative_to(source.parent): tree for tree in trees}
    try:
        for path in copies:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(path.parent)!r} cannot be created: {error.strerror}.") from None
    with Outputs([people, *copies]).drafts() as draft_of:
        write_table(load_health(), draft_of[people])
        for path, original in copies.items():
            write_checked(draft_of[path], original.read_bytes())
        _refuse_others(draft_of, results)


def _refuse_others(draft_of: dict[Path, Path], results: list[Path]) -> None:
    """Refuse to replace a file that is not the demo's: one that differs, or results without its data."""
    from kohort.errors import InputError

    there = [path for path in draft_of if path.exists()]
    others = [path for path in there if path.read_bytes() != draft_of[path].read_bytes()]
    if not there:
        others = [path for path in results if path.exists()]
    if others:
        raise InputError(
            f"{others[0]} already exists and was not written by the demo. Choose another folder (--out)."
        )

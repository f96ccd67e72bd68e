"""kohort demo: the whole job on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kohort.cli.anonymize import anonymize
from kohort.cli.commands import Anonymize, Demo, Verify
from kohort.cli.console import Output
from kohort.cli.verify import verify
from kohort.datasets import example_spec, load_health
from kohort.errors import InputError
from kohort.files.atomic import Outputs
from kohort.files.checked import write_checked
from kohort.io.tables import write_table


def demo(asked: Demo, output: Output) -> None:
    output.console.soft_wrap = True  # commands are to be copied whole
    out, k = asked.out, asked.k
    people, spec, release = out / "people.csv", out / "spec.yaml", out / "release.csv"
    certificate, report, order = out / "certificate.json", out / "report.html", out / "order.json"
    _write_inputs(people, spec, [release, certificate, report, order])
    output.say(
        f"20,190 records of 5,912 people, the RAND Health Insurance Experiment: {people}",
        f"\n$ kohort anonymize {people} --spec {spec} --out {release} --certificate {certificate} "
        f"--report {report} --order-file {order} --k {k}",
    )
    said: dict[str, Any] = {"k": k, "certificate": certificate, "report": report, "order_file": order}
    asking = Anonymize(data=str(people), spec=spec, out=str(release), **said)
    anonymize(asking, Output(as_json=output.as_json, quiet=output.quiet))
    output.say(f"\n$ kohort verify {release} --spec {spec} --original {people} --order-file {order} --k {k}")
    quiet = Output(quiet=output.quiet or output.as_json)
    verify(Verify(release=str(release), spec=spec, original=str(people), order_file=order, k=k), quiet)
    output.say(f"\nOpen {report}, and try the two commands on a file of your own.")


def _write_inputs(people: Path, spec: Path, results: list[Path]) -> None:
    """Write the files that the job reads; refused where a file of the same name is not the demo's."""
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
    there = [path for path in draft_of if path.exists()]
    others = [path for path in there if path.read_bytes() != draft_of[path].read_bytes()]
    if not there:
        others = [path for path in results if path.exists()]
    if others:
        raise InputError(
            f"{others[0]} already exists and was not written by the demo. Choose another folder (--out)."
        )

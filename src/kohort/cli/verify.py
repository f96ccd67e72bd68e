"""kohort verify: does a release, made by any tool, keep its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kohort.cli.files import refuse_overwriting
from kohort.cli.options import Delimiter, Encoding, Json, Quiet

__all__ = ["verify"]


def verify(
    release: Annotated[
        Path, typer.Argument(help="The published table, made by any tool.", show_default=False)
    ],
    spec: Annotated[Path, typer.Option(help="What each column is and what is promised (YAML).")],
    original: Annotated[
        Path | None, typer.Option(help="Also check every value and record against the original.")
    ] = None,
    violations: Annotated[
        Path | None, typer.Option(help="Write the classes or itemsets that fail to this file.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Instead of the spec's k.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a release: exit 0 if every promise holds, 1 if not.

    k, l, alpha and t are measured from the file and the spec alone. With the original, every published
    value must cover the original one, and everything else must be as it was.

    Example: **kohort verify release.csv --spec spec.yaml --original people.csv --violations failing.csv**
    """
    from rich.text import Text

    from kohort.cli.console import Output
    from kohort.data.dataset import Dataset
    from kohort.io.atomic import replacing
    from kohort.io.baskets import read_data
    from kohort.io.spec import read_spec
    from kohort.io.tables import write_table
    from kohort.io.verify import verify_release
    from kohort.report.story import verdict_story

    output = Output(as_json=json, quiet=quiet)
    if violations is not None:
        refuse_overwriting(violations, sources=[release, original, spec], force=True)
    asked = read_spec(spec).overridden(k=k)
    published = Dataset(read_data(release, asked.shape, delimiter=delimiter, encoding=encoding).table)
    before = None if original is None else Dataset(read_data(original, asked.shape).table)
    found = verify_release(published, asked, beside=spec.parent, original=before)
    if violations is not None:
        with replacing(violations) as draft:
            write_table(found.verdict.violations, draft)
    facts = found.verdict.to_dict() | {"loss": found.loss}
    output.result(facts)
    output.show(verdict_story(facts))
    if violations is not None:
        table = found.verdict.violations
        what = "itemsets" if "support" in table.column_names else "classes"
        output.show(Text(f"{table.num_rows} failing {what} are in {violations}."))
    if not found.verdict.holds:
        if not quiet:
            for reason in found.verdict.reasons():
                typer.echo(f"Broken: {reason}", err=True)
        raise typer.Exit(1)

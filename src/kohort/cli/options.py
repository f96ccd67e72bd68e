"""Single options that several commands share, in the same words; `bundles` has those that go together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        help=(
            "A table: CSV, Parquet, Arrow, Excel, JSON lines, SPSS or Stata; or the URL of a database, such "
            "as postgresql://user@host/name, with --table or --query."
        ),
        show_default=False,
    ),
]
Table = Annotated[str | None, typer.Option("--table", help="The table of a database, such as clinic.people.")]
Query = Annotated[
    str | None, typer.Option("--query", help="A query of a database, instead of --table; it only reads.")
]
SpecFile = Annotated[
    Path, typer.Option(help="The spec: the role of each column and what is promised (YAML).")
]
EventsFile = Annotated[
    Path | None,
    typer.Option(
        "--events",
        help="A table of events, where the other one has a record for each person; see 'events' in the spec.",
        show_default=False,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        help="A file with the secret for pseudonyms and the ledger, instead of the variable KOHORT_KEY.",
        show_default=False,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        help="The ledger that ties releases of the same people together; private, needs a key.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="The character that separates the cells of a CSV file.", show_default="detected"),
]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a CSV file.", show_default="detected")]
Sheet = Annotated[
    str | None,
    typer.Option(help="The sheet of an Excel file to read.", show_default="the first that is not hidden"),
]


def header_option(name: str, what: str) -> typer.models.OptionInfo:
    """The option that says whether the first line of a table names its columns."""
    return typer.Option(
        f"--{name}/--no-{name}",
        help=f"Whether the first line of {what} names the columns.",
        show_default="yes, unless it looks like a record",
    )


Header = Annotated[bool | None, header_option("header", "a CSV or Excel file")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]

"""What the commands about hierarchies share: the file, and the column of a table that it is for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kohort.cli.console import Output
    from kohort.data.column import Column
    from kohort.io.databases import DatabaseTable

File = Annotated[
    Path,
    typer.Argument(
        help="A hierarchy file: one line per value, followed by its ancestors; pairs; or a YAML tree.",
        show_default=False,
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="A table with values of the hierarchy: a file, or a database with --table or --query.",
    ),
]
ColumnOption = Annotated[str | None, typer.Option("--column", help="The column of that table.")]
Kind = Annotated[
    str, typer.Option(help="The layout of the hierarchy file: leaf-first, pairs, tree, or auto.")
]
Headings = Annotated[
    bool, typer.Option("--header", help="The first line of the hierarchy file holds headings.")
]


def read_column(output: Output, data: Path | DatabaseTable, name: str, reading: dict[str, Any]) -> Column:
    """The column of a table; notes about reading it are shown."""
    from kohort.data.dataset import Dataset
    from kohort.io.data_files import read_data

    source = read_data(data, **reading)
    output.notes(source)
    return Dataset(source.table).column(name)


def optional_column(
    output: Output, data: Path | DatabaseTable | None, name: str | None, reading: dict[str, Any]
) -> Column | None:
    """The column, or None where neither a table nor a column is given."""
    from kohort.errors import InputError

    if data is None and name is None:
        return None
    if data is None or name is None:
        raise InputError("--data and --column go together: give a table and the name of one of its columns.")
    return read_column(output, data, name, reading)

"""Options that several commands share, in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Data", "Delimiter", "Encoding", "Json", "Quiet", "Sheet"]

Data = Annotated[
    Path,
    typer.Argument(
        help="A table: CSV, Parquet, Arrow, Excel, JSON lines, SPSS or Stata.", show_default=False
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the cells of a CSV file.", show_default="detected")
]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a CSV file.", show_default="detected")]
Sheet = Annotated[str | None, typer.Option(help="The sheet of an Excel file.", show_default="the first")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]

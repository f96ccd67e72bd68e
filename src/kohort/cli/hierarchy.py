"""kohort hierarchy: build the hierarchy of a column, draw one, check one against the data."""

from __future__ import annotations

import typer

from kohort.cli.hierarchy_build import build
from kohort.cli.hierarchy_check import check
from kohort.cli.hierarchy_show import show
from kohort.cli.plain_help import Command, Group

hierarchy = typer.Typer(
    cls=Group,
    help="Build, draw and check hierarchies: what the values of a column may be generalized to.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for function in (build, show, check):
    hierarchy.command(cls=Command)(function)

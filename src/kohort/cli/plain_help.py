"""Options in a line each, and help without noise: a switch takes no value, so none is named."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

Declared = tuple[Any, Any]  # the annotation of an option, and its default


def option(kind: Any, help: str, default: Any = None, **more: Any) -> Declared:
    """An option in one line: its type, its help and its default; None: it may be left out.

    more  as of `typer.Option`; a switch names itself by `name`
    """
    flag = [f"--{more.pop('name')}"] if "name" in more else []
    known = kind | None if default is None else kind
    return Annotated[known, typer.Option(*flag, help=help, **more)], default


def bundle(**options: Declared) -> Any:
    """A class of options that go together, to be taken as one parameter; see `kohort.cli.bundles`."""
    return make_dataclass("_Bundle", [(name, *declared) for name, declared in options.items()], frozen=True)


class _PlainHelp:
    """Names arguments as the pages do, and no type of value after a switch, such as `<bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
            elif parameter.param_type_name == "argument" and parameter.metavar is None:
                parameter.metavar = parameter.name.upper()
        return parameters


_ALL = "kohort: all options are shown"


class Command(_PlainHelp, TyperCommand):
    """A command with plain help. Of options in groups, `--help` shows none, and `--help-all` all."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        seldom = [] if ctx.meta.get(_ALL) else [option for option in self.params if _group(option)]
        for option in seldom:
            option.hidden = True  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for option in seldom:
                option.hidden = False  # type: ignore[attr-defined]


def _group(parameter: Any) -> str | None:
    return getattr(parameter, "rich_help_panel", None)


def _show_all(ctx: typer.Context, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", is_eager=True, callback=_show_all, help="Show all options, in groups, and exit."
    ),
]
"""The option that shows every option, in groups."""


class Group(_PlainHelp, TyperGroup):
    """A group of commands with plain help."""

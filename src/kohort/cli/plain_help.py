"""Help without noise: a switch takes no value, so none is named."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


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


class Command(_PlainHelp, TyperCommand):
    """A command with plain help."""


class Group(_PlainHelp, TyperGroup):
    """A group of commands with plain help."""

"""The command line: each command is made when it is called, so that help answers at once."""

from __future__ import annotations

import json
import os
import sys
import warnings
from inspect import cleandoc
from typing import Any

import typer

from kohort.cli.commands import COMMANDS, PLAIN, command_named, help_of
from kohort.cli.options import Command, Group
from kohort.errors import InfeasibleError, InternalError, KohortError

__all__ = ["COMMANDS", "app", "command_named", "main"]


class _Commands(Group):
    """All commands; one is made when it is asked for. To list them, none is."""

    listing = False

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.listing = True
        super().format_help(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return Command(cmd_name, help=cleandoc(help_of(cmd_name))) if self.listing else _made(cmd_name)


def _made(name: str) -> Any:
    of = command_named(name)
    if isinstance(of, typer.Typer):
        made: Any = typer.main.get_group(of)
        made.name = name
        return made
    only = typer.Typer(add_completion=False, **PLAIN)
    only.command(name, cls=Command)(of)
    return typer.main.get_command(only)


app = typer.Typer(
    name="kohort",
    cls=_Commands,
    help="Publish data about people without giving anybody away.",
    epilog="Start with: kohort demo, or with your own file: kohort init people.csv --out spec.yaml",
    no_args_is_help=True,
    **PLAIN,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _kohort(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from kohort.version import __version__

        typer.echo(f"kohort {__version__}")
        raise typer.Exit


def main() -> None:
    """Run a command; exit 0 done, 1 the promise does not hold or is impossible, 2 bad input, 130 stopped."""
    from kohort.cli.quick_start import collect_seldom, leave_pandas_out, multiply_alone
    from kohort.files.atomic import forget_written

    collect_seldom()
    multiply_alone()
    leave_pandas_out()
    forget_written()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            app()
    except KohortError as error:
        is_impossible = isinstance(error, (InfeasibleError, InternalError))
        _fail(str(error), type(error).__name__, 1 if is_impossible else 2)
    except KeyboardInterrupt:
        _stop()
    except SystemExit as stop:  # typer turns Ctrl-C into this
        if stop.code == 130:
            _stop()
        raise
    except MemoryError:
        _fail(f"There is not enough memory for this. {_what_was_written()}", "MemoryError", 2)
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # as Polars raises it; no Exception
        if os.environ.get("KOHORT_DEBUG") or not (is_panic or isinstance(error, Exception)):
            raise
        # its text could hold a cell of the data, so only its kind is shown
        _fail(
            f"This is a bug in Kohort ({type(error).__name__}). {_what_was_written()} Please report it; "
            "KOHORT_DEBUG=1 shows where it happened, and may show data.",
            "InternalError",
            1,
        )


def _warn(message: Warning | str, *_place: object, **_more: object) -> None:
    """Print a warning as a sentence; Python would add a path and a line of code."""
    sys.stderr.write(f"Warning: {message}\n")


def _stop() -> None:
    """Ctrl-C: everything half-written is gone already, so leave at once, whatever other threads do."""
    try:
        _fail(f"Stopped. {_what_was_written()}", "Stopped", 130)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)


def _what_was_written() -> str:
    from kohort.files.atomic import written_files

    written = ", ".join(str(path) for path in written_files())
    return f"Complete files that had been written before: {written}." if written else "Nothing was written."


def _fail(message: str, kind: str, code: int) -> None:
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps({"error": kind, "message": message, "exit": code}) + "\n")
    sys.stderr.write(f"Error: {message}\n")
    sys.exit(code)

"""Write the parts of the documentation that a program knows best: cli.md, and what commands print.

Run it after a change of the command line or of what it prints: `python docs/generate.py`. On every page it
runs the blocks in order, in an empty folder of the page's own: ```python blocks, and the lines of ```console
blocks that begin with `$ `. A ```yaml or ```text block that begins with `# some.name` is a file to be there.
What the commands print takes the place of what stood beneath them; where that ended in a line of three dots,
only as many lines of it.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, OptionInfo

from kohort.cli.app import app

__all__ = [
    "Block",
    "Command",
    "all_commands",
    "blocks",
    "commands",
    "pages",
    "reference",
    "refreshed",
    "save_file",
]

DOCS = Path(__file__).parent
ROOT = DOCS.parent
REFERENCE = DOCS / "cli.md"
COLUMNS = 80
DOTS = "..."

_FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"# (\S+\.\w+)\n")
_EXAMPLE = re.compile(r"^Example: \*\*(.+)\*\*$", re.MULTILINE)


def main() -> None:
    """Rewrite cli.md and every page whose commands print something else by now."""
    REFERENCE.write_text(reference(), encoding="utf-8")
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = refreshed(old)
        if new != old:
            page.write_text(new, encoding="utf-8")


def pages() -> list[Path]:
    """Every page that a reader sees."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


# -- the reference of the command line -------------------------------------------------------------


def reference() -> str:
    """The text of cli.md, from the signatures of the commands."""
    return "\n".join([_OPENING, *(_section(name, command) for name, command in all_commands(app, "kohort"))])


def all_commands(group: Typer, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The commands of an app and of the groups in it, each with its whole name."""
    for info in group.registered_commands:
        assert info.callback is not None
        word = info.name or info.callback.__name__.replace("_", "-")
        yield f"{name} {word}", info.callback
    for below in group.registered_groups:
        assert below.typer_instance is not None
        yield from all_commands(below.typer_instance, f"{name} {below.name}")


_OPENING = """\
# Command line

<!-- Written by docs/generate.py: do not edit. -->

Every command answers `--help` with an example. Results go to stdout, everything else to stderr. With
`--json` the result is JSON, also when it is an error. Exit codes: 0 done, 1 the promise does not hold or
cannot be had, 2 bad input, 130 stopped with Ctrl-C; see [errors](errors.md).

Two environment variables count: `KOHORT_KEY` holds the secret for pseudonyms where no `--key-file` is
given, and `KOHORT_DEBUG=1` shows where an unexpected error happened (and may show data).
"""


def _section(name: str, command: Callable[..., Any]) -> str:
    parameters = list(_parameters(command))
    help_text = inspect.getdoc(command) or ""
    example = _EXAMPLE.search(help_text)
    usage = [p.usage for p in parameters if p.required]
    lines = [f"## {name}", "", _EXAMPLE.sub("", help_text).strip(), ""]
    lines += ["```text", f"{' '.join([name, *usage])} [OPTIONS]", "```", ""]
    if example:
        lines += ["For example:", "", "```text", example[1], "```", ""]
    lines += ["| argument or option | meaning | default |", "| --- | --- | --- |"]
    lines += [p.row for p in sorted(parameters, key=lambda p: not p.is_argument)]
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class _Parameter:
    """An argument or option of a command, as a reader wants to see it."""

    names: tuple[str, ...]
    value: str
    help: str
    default: str
    is_argument: bool

    @property
    def required(self) -> bool:
        return self.default == "required"

    @property
    def usage(self) -> str:
        return f"{self.names[0]} {self.value}".rstrip()

    @property
    def row(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.names)
        help_text = self.help.replace("|", "\\|")
        return f"| {f'{names} {self.value}'.rstrip()} | {help_text} | {self.default} |"


def _parameters(command: Callable[..., Any]) -> Iterator[_Parameter]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, info = get_args(hints[name])
        is_argument = isinstance(info, ArgumentInfo)
        yield _Parameter(
            names=(name.upper(),) if is_argument else _option_names(name, kind, info),
            value="" if is_argument else _value(kind),
            help=info.help or "",
            default=_default(parameter.default, info),
            is_argument=is_argument,
        )


def _option_names(name: str, kind: Any, info: OptionInfo) -> tuple[str, ...]:
    given = (info.default, *(info.param_decls or ()))  # inside Annotated, the first one is the default
    declared = tuple(word for word in given if isinstance(word, str) and word.startswith("-"))
    if declared:
        return declared
    option = f"--{name.replace('_', '-')}"
    return (option, f"--no-{option[2:]}") if kind is bool else (option,)


def _value(kind: Any) -> str:
    kinds = [part for part in get_args(kind) or (kind,) if part is not type(None)]
    return {Path: "FILE", int: "N", float: "X", str: "TEXT", bool: ""}[kinds[0]]


def _default(default: Any, info: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(info.show_default, str):
        return info.show_default
    return "" if default is None or default is False else f"`{default}`"


# -- blocks that run -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its text, and where the text stands."""

    language: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Command:
    """A command line of a console block, and what stands beneath it."""

    line: str
    printed: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(found["language"], found["text"], found.start("text"), found.end("text"))
        for found in _FENCE.finditer(page)
    ]


def commands(console: str) -> list[Command]:
    """The commands of a console block; a line that ends in a backslash goes on in the next."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        n = 1
        while lines[n - 1].endswith("\\"):
            n += 1
        found.append(Command("\n".join(lines[:n]), "\n".join(lines[n:])))
    return found


def refreshed(page: str) -> str:
    """The page with what its commands print now."""
    if not any(block.language == "console" for block in blocks(page)):
        return page
    with tempfile.TemporaryDirectory() as folder:
        parts, done = [], 0
        for block in blocks(page):
            parts.append(page[done : block.start])
            parts.append(_rerun(block, Path(folder)))
            done = block.end
        return "".join([*parts, page[done:]])


def save_file(block: Block, folder: Path) -> None:
    """Write a block that says in its first line which file it is."""
    named = _FILE_NAME.match(block.text)
    if block.language in ("yaml", "text") and named:
        (folder / named[1]).write_text(block.text, encoding="utf-8")


def _rerun(block: Block, folder: Path) -> str:
    save_file(block, folder)
    if block.language == "python":
        subprocess.run([sys.executable, "-c", block.text], cwd=folder, check=True, capture_output=True)
    if block.language != "console":
        return block.text
    code, lines = 0, []
    for command in commands(block.text):
        printed, code = _printed(command.line, folder, code)
        printed = _cut(printed, command.printed)
        lines.append(f"$ {command.line}\n{printed}\n" if printed else f"$ {command.line}\n")
    return "".join(lines)


def _printed(line: str, folder: Path, last_code: int) -> tuple[str, int]:
    """What a command prints, errors among it, and its exit code."""
    if line == "echo $?":
        return str(last_code), 0
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return "\n".join(row.rstrip() for row in done.stdout.rstrip().split("\n")), done.returncode


def _cut(printed: str, before: str) -> str:
    """As many lines as there were before, if these ended in dots."""
    lines = before.rstrip("\n").split("\n")
    if lines[-1] != DOTS:
        return printed
    return "\n".join([*printed.split("\n")[: len(lines) - 1], DOTS])


if __name__ == "__main__":
    main()

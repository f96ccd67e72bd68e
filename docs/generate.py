"""Write what a program knows best: cli.md, the schema, what commands print, what cells of notebooks give.

Run it after a change of the command line, of the options or of what is printed: `python docs/generate.py`.
The tables of options in spec.md and python.md stand between two comments. On every page it runs the blocks in
order, in an empty folder of the page's own: ```python blocks, and the lines of ```console blocks that begin
with `$ `; also commands that no reader sees, in comments: `<!-- $ ls -->`. A ```yaml block that begins with
`# some.name` is a file to be there. What a command prints takes the place of what stood beneath it (where
that ended in a line of three dots, only as many lines of it); what Python prints takes the place of the
```text block right beneath.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, OptionInfo

from kohort.cli.app import COMMANDS, command_named
from kohort.io.certificate import certificate_schema
from kohort.statement.from_yaml import PARTS
from kohort.statement.options import OPTIONS
from kohort.statement.statement import OPTION_KEYS

__all__ = [
    "TABLES",
    "Block",
    "Command",
    "all_commands",
    "blocks",
    "commands",
    "outputs",
    "pages",
    "reference",
    "refreshed",
    "run_python",
    "save_file",
    "with_tables",
]

DOCS = Path(__file__).parent
ROOT = DOCS.parent
REFERENCE = DOCS / "cli.md"
SCHEMA = DOCS / "certificate.schema.json"
COLUMNS = 80
DOTS = "..."

_FENCE = re.compile(
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$|^<!-- (?P<hidden>\$ .*?) -->$", re.MULTILINE | re.DOTALL
)
_FILE_NAME = re.compile(r"# (\S+\.\w+)\n")
_PROGRESS = re.compile(r".+: \d+%(, about \d+ (s|min) left for this step)?")
_EXAMPLE = re.compile(r"^Example: \*\*(.+)\*\*$", re.MULTILINE)


def main() -> None:
    """Rewrite cli.md and every page whose commands print something else by now."""
    REFERENCE.write_text(reference(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = refreshed(with_tables(page.name, old))
        if new != old:
            page.write_text(new, encoding="utf-8")
    subprocess.run([sys.executable, DOCS / "run_notebooks.py"], check=True)


def pages() -> list[Path]:
    """Every page that a reader sees."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


# -- the reference of the command line -------------------------------------------------------------


def reference() -> str:
    """The text of cli.md, from the signatures of the commands."""
    return "\n".join([_OPENING, *(_section(name, command) for name, command in all_commands())])


def all_commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The commands and those of groups of commands, each with its whole name."""
    for name in COMMANDS:
        found = command_named(name)
        if not isinstance(found, Typer):
            yield f"kohort {name}", found
            continue
        for info in found.registered_commands:
            assert info.callback is not None
            yield f"kohort {name} {info.callback.__name__}", info.callback


_OPENING = """\
# Command line

<!-- Written by docs/generate.py: do not edit. -->

Every command answers `--help` with an example. Results go to stdout, everything else to stderr. With
`--json` the result is JSON, also when it is an error. Exit codes: 0 done, 1 the promise does not hold or
is impossible, 2 bad input, 130 stopped with Ctrl-C; see [errors](errors.md).

Three environment variables count: `KOHORT_KEY` holds the secret for pseudonyms where no `--key-file` is
given, `KOHORT_SIGN_PASSWORD` the password of the key that signs certificates, and `KOHORT_DEBUG=1` shows
where an unexpected error happened (and may show data).
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
        if info.hidden:  # an option that is no more
            continue
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
    return {Path: "FILE", int: "N", float: "X", str: "TEXT", list[str]: "TEXT", bool: ""}[kinds[0]]


def _default(default: Any, info: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(info.show_default, str):
        return info.show_default
    return "" if default is None or default is False else f"`{default}`"


def schema() -> str:
    """The JSON Schema of a certificate."""
    return json.dumps(certificate_schema(), indent=2) + "\n"


# -- the tables of options -------------------------------------------------------------------------


def with_tables(name: str, page: str) -> str:
    """The page with the table of options that is written between two comments, if it has one."""
    if name not in TABLES:
        return page
    before, _, rest = page.partition(_TABLE)
    _, _, after = rest.partition(_TABLE_END)
    return f"{before}{_TABLE}\n\n{TABLES[name]()}\n\n{_TABLE_END}{after}"


def _spec_table() -> str:
    """Every key of the spec: those with parts of their own, then the options."""
    rows = [_spec_row(key, sentence) for key, sentence in PARTS.items()]
    rows += [_spec_row(key, declared.option.sentence) for key, declared in OPTION_KEYS.items()]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows])


def _spec_row(key: str, sentence: str) -> str:
    default = OPTION_KEYS[key].default if key in OPTION_KEYS else None
    value = "required" if key == "privacy" else _spelled(default, json.dumps)
    return f"| [`{key}`](#{_anchor(key)}) | {value} | {sentence}{_choices(key)} |"


def _meaning(name: str) -> str:
    return f"{OPTIONS[name].option.sentence}{_choices(name)}"


def _python_table() -> str:
    """The options that `anonymize` takes, with links to the spec."""
    rows = [
        f"| {_linked(name)} | {_spelled(declared.default, _quoted)} | {_meaning(name)} |"
        for name, declared in OPTIONS.items()
    ]
    return "\n".join(["| option | default | meaning |", "| --- | --- | --- |", *rows])


TABLES: dict[str, Callable[[], str]] = {"spec.md": _spec_table, "python.md": _python_table}
_TABLE, _TABLE_END = "<!-- options: written by docs/generate.py -->", "<!-- end of options -->"


def _linked(name: str) -> str:
    return f"[`{name}`](spec.md#{_anchor(name)})" if name in OPTION_KEYS else f"`{name}`"


def _spelled(default: Any, spell: Callable[[Any], str]) -> str:
    if default is None or default in ({}, []):
        return "none"
    text = default if spell is json.dumps and isinstance(default, str) else spell(default)
    return f"`{text}`"


def _quoted(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _anchor(key: str) -> str:
    """The heading of spec.md that explains a key, as a link has it."""
    headings = re.findall(r"^## (.+)$", (DOCS / "spec.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = [heading for heading in headings if key in heading.split(" and ")]
    return (named or [key.split("_")[0]])[0].replace(" ", "-")


def _choices(key: str) -> str:
    """The words that an option may be, where it may only be some."""
    annotation = OPTION_KEYS[key].written if key in OPTION_KEYS else None
    words = [word for word in _literals(annotation) if word]
    *some, last = [f"`{word}`" for word in words] or [""]
    return f": {', '.join(some)} or {last}" if some else ""


def _literals(annotation: Any) -> list[str]:
    if annotation is bool:
        return ["true", "false"]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [word for part in get_args(annotation) for word in _literals(part)]


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
    """The fenced blocks of a page and its hidden commands, in order."""
    return [
        Block("hidden", found["hidden"], *found.span("hidden"))
        if found["hidden"]
        else Block(found["language"], found["text"], *found.span("text"))
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


def outputs(page: str) -> list[tuple[Block, Block | None]]:
    """The blocks of a page, the Python ones with the ```text block right beneath that shows their output."""
    found: list[tuple[Block, Block | None]] = []
    in_order = blocks(page)
    for block, following in zip(in_order, [*in_order[1:], None]):
        beneath = following is not None and page[block.end : following.start] == "```\n\n```text\n"
        found.append((block, following if beneath and block.language == "python" else None))
    return found


def refreshed(page: str) -> str:
    """The page with what its blocks print now."""
    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        new = _texts(page)
    parts, done = [], 0
    for block in blocks(page):
        parts += [page[done : block.start], new.get(block.start, block.text)]
        done = block.end
    return "".join([*parts, page[done:]])


def _texts(page: str) -> dict[int, str]:
    """New texts of blocks, by where they start."""
    new: dict[int, str] = {}
    names: dict[str, Any] = {}
    for block, shown in outputs(page):
        save_file(block, Path())
        if block.language == "console":
            new[block.start] = _rerun(block)
        elif block.language == "hidden":
            _rerun(block)
        elif block.language == "python":
            printed = run_python(block.text, names)
            new |= {} if shown is None else {shown.start: printed}
    return new


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def save_file(block: Block, folder: Path) -> None:
    """Write a block that says in its first line which file it is."""
    named = _FILE_NAME.match(block.text)
    if block.language == "yaml" and named:
        (folder / named[1]).write_text(block.text, encoding="utf-8")


def run_python(text: str, names: dict[str, Any]) -> str:
    """Run a block among the names of the blocks before it; what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "block", "exec"), names)
    return printed.getvalue()


def _rerun(block: Block) -> str:
    code, lines = 0, []
    for command in commands(block.text):
        printed, code = _printed(command.line, code)
        printed = _cut(printed, command.printed)
        lines.append(f"$ {command.line}\n{printed}\n" if printed else f"$ {command.line}\n")
    return "".join(lines)


def _printed(line: str, last_code: int) -> tuple[str, int]:
    """What a command prints, errors among it, and its exit code."""
    if line == "echo $?":
        return str(last_code), 0
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        line,
        shell=True,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    rows = [row.rstrip() for row in done.stdout.rstrip().split("\n")]
    return "\n".join(row for row in rows if not _PROGRESS.fullmatch(row)), done.returncode


def _cut(printed: str, before: str) -> str:
    """As many lines as there were before, if these ended in dots."""
    lines = before.rstrip("\n").split("\n")
    if lines[-1] != DOTS:
        return printed
    return "\n".join([*printed.split("\n")[: len(lines) - 1], DOTS])


if __name__ == "__main__":
    main()

"""How a command says what it takes: a class whose fields are its arguments and options, and bundles of them.

A bundle is a class that several commands derive from: a new option of a bundle is an option of all of them.
The functions that typer calls are made of these classes; what they do is loaded when they are called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        return lambda kind: kind


class Taken(NamedTuple):
    """An argument or option: its default, REQUIRED where there is none, and what typer needs.

    kind   its type, where no annotation says it
    group  the group of the help that it is in, where the command shows few options
    """

    default: Any
    info: Any
    kind: Any = None
    group: str = ""


REQUIRED: Any = inspect.Parameter.empty


def argument(help: str, default: Any = REQUIRED) -> Any:
    """An argument: a word without a flag; without a default, it is required."""
    return Taken(default, typer.Argument(help=help, show_default=False))


def option(help: str, default: Any = None, *names: str, kind: Any = None, **more: Any) -> Any:
    """An option: its help, its default and, where they are not those of the field, its names.

    kind  its type, where no annotation says it
    more  as of `typer.Option`
    """
    return Taken(default, typer.Option(*names, help=help, **more), kind)


def switch(name: str, help: str) -> Any:
    """An option without a value, which has no opposite."""
    return option(help, False, f"--{name}")


@dataclass_transform(kw_only_default=True)
class Asked:
    """What a command is asked to do: its fields are arguments and options, given by keyword.

    A class that is a `bundle` of other commands' options has a GROUP: that of the help that they are in.

    EVERYDAY  of a command with very many options, those that its help shows
    """

    GROUP: ClassVar[str] = ""
    EVERYDAY: ClassVar[tuple[str, ...]] = ()
    _is_bundle: ClassVar[bool] = False

    def __init_subclass__(cls, bundle: bool = False) -> None:
        cls._is_bundle = bundle

    def __init__(self, **given: Any) -> None:
        for name, taken in self.taken().items():
            setattr(self, name, given.pop(name, taken.default))
        for name in given:
            raise TypeError(f"{type(self).__name__} has no option {name!r}.")

    @classmethod
    def taken(cls) -> dict[str, Taken]:
        """What it takes, by name: of a command its own first, of a bundle its own last."""
        hints = get_type_hints(cls)
        own = {n: made._replace(kind=hints[n]) for n, made in vars(cls).items() if isinstance(made, Taken)}
        if "gathered" in vars(cls):
            own |= cls.gathered()
        own = {name: made._replace(group=cls.GROUP) for name, made in own.items()}
        bases: Any = [base for base in cls.__bases__ if base is not Asked]
        bundled = {name: made for base in bases for name, made in base.taken().items() if name not in own}
        return bundled | own if cls._is_bundle else own | bundled

    @staticmethod
    def gathered() -> dict[str, Taken]:
        """Options of a bundle that are not written down in it."""
        return {}


_HELP_ALL = "help_all"


def command(asked: type[Asked], name: str, module: str) -> Callable[..., None]:
    """The function of a command, which typer calls with its options; its module is loaded when it runs."""

    def run(**options: Any) -> None:
        from kohort.cli.console import Output

        options.pop(_HELP_ALL, None)
        said = asked(**options)
        output = Output(as_json=getattr(said, "json", False), quiet=getattr(said, "quiet", False))
        getattr(import_module(f"kohort.cli.{module}"), name)(said, output)

    taken = list(_parameters(asked))
    run.__name__, run.__doc__ = name, asked.__doc__
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return run


def _parameters(asked: type[Asked]) -> Iterator[inspect.Parameter]:
    for name, taken in asked.taken().items():
        info = copy(taken.info)
        if asked.EVERYDAY and name not in asked.EVERYDAY and isinstance(info, typer.models.OptionInfo):
            info.rich_help_panel = taken.group
        yield _parameter(name, taken.default, Annotated[taken.kind, info])
    if asked.EVERYDAY:
        yield _parameter(_HELP_ALL, False, HelpAll)


def _parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


# -- help ------------------------------------------------------------------------------------------


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
        in_groups = [each for each in self.params if getattr(each, "rich_help_panel", None)]
        seldom: list[Any] = [] if ctx.meta.get(_ALL) else in_groups
        for each in seldom:
            each.hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in seldom:
                each.hidden = False


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


# -- options that several commands have in the same words ------------------------------------------


A_TABLE = argument(
    "A table: CSV, Parquet, Arrow, Excel, JSON lines, SPSS or Stata; or the URL of a database, such as "
    "postgresql://user@host/name, with --table or --query."
)
EVENTS = option(
    "A table of events, where the other one has a record for each person; see 'events' in the spec.",
    show_default=False,
)
KEY_FILE = option(
    "A file with the secret for pseudonyms and the ledger, instead of the variable KOHORT_KEY.",
    show_default=False,
)
LEDGER = option(
    "The ledger that ties releases of the same people together; private, needs a key.", show_default=False
)


def a_spec(default: Any = REQUIRED, **more: Any) -> Any:
    return option("The spec: the role of each column and what is promised (YAML).", default, **more)


def a_k(help: str = "The k to use instead of the spec's.", default: int | None = None, **more: Any) -> Any:
    return option(help, default, "--k", "-k", **more)


def a_header(name: str, what: str) -> Any:
    """The option that says whether the first line of a table names its columns."""
    said = f"Whether the first line of {what} names the columns."
    return option(said, None, f"--{name}/--no-{name}", show_default="yes, unless it looks like a record")


class Printing(Asked, bundle=True):
    """How a command prints its results."""

    GROUP = "What is printed"

    json: bool = switch("json", "Print the result as JSON.")
    quiet: bool = option("Print only errors.", False, "--quiet", "-q")


class TextReading(Asked, bundle=True):
    """How the text of a table is read."""

    GROUP = "How the table is read"

    delimiter: str | None = option(
        "The character that separates the cells of a CSV file.", show_default="detected"
    )
    encoding: str | None = option("The encoding of a CSV file.", show_default="detected")


class SourceReading(TextReading, bundle=True):
    """How a table of a file or of a database is read."""

    sheet: str | None = option(
        "The sheet of an Excel file to read.", show_default="the first that is not hidden"
    )
    table: str | None = option("The table of a database, such as clinic.people.")
    query: str | None = option("A query of a database, instead of --table; it only reads.")


class Reading(SourceReading, bundle=True):
    """How a table is read."""

    header: bool | None = a_header("header", "a CSV or Excel file")

    @property
    def reading(self) -> dict[str, Any]:
        """How a file is read, as keywords of its readers."""
        return {name: getattr(self, name) for name in ("delimiter", "encoding", "sheet", "header")}

    @property
    def typed(self) -> dict[str, Any]:
        """How a table is read, as typed, for a command to copy."""
        return {name: getattr(self, name) for name in Reading.taken()}


class ColumnReading(SourceReading, bundle=True):
    """How the table is read whose column a hierarchy is for; `--header` is about the hierarchy's own file."""

    data_header: bool | None = a_header("data-header", "the table")

    @property
    def reading(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in ("delimiter", "encoding", "sheet")}
        return said | {"header": self.data_header, "header_option": "data-header"}


class ReleaseReading(TextReading, bundle=True):
    """How a release and its original are read."""

    header: bool | None = a_header("header", "a CSV or Excel file")
    original_header: bool | None = a_header("original-header", "the original")
    table: str | None = option("The table of a database, such as clinic.people.")
    query: str | None = option("A query of a database, instead of --table; it only reads.")
    original_table: str | None = option("The table of the original, where --original is a database.")
    original_query: str | None = option("A query that gives the original, instead of --original-table.")


# -- bundles that follow from what a release may have ----------------------------------------------


class _Gathered(Asked, bundle=True):
    """A bundle of options that are gathered when a command is made: what they follow from is loaded then."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Writing(_Gathered, bundle=True):
    """What is written: the tables, and what goes with them."""

    GROUP = "What is written with the release"

    @staticmethod
    def gathered() -> dict[str, Taken]:
        from kohort.release.artefacts import ARTEFACTS

        found = dict(_TABLES)
        for artefact in ARTEFACTS:
            found[artefact.name] = option(artefact.help, kind=Path | None)
            for _, kind, default, words in artefact.said():
                if words.beside:  # left out, it can be told from what is said
                    kind, made = kind | None, option(words.help, show_default=default or True)
                else:
                    made = option(words.help, default, *([f"--{words.keyword}"] if kind is bool else []))
                found[words.keyword] = made._replace(kind=kind)
        return found

    @property
    def artefacts(self) -> dict[str, Any]:
        """What is said of artefacts, by keyword."""
        return {name: getattr(self, name) for name in Writing.taken() if name not in _TABLES}


_TABLES: dict[str, Taken] = {
    "out_table": option(
        "The table of the release, where --out is the URL of a database; one of this name is replaced.",
        kind=str | None,
    ),
    "events_out": option("The published events; with --events, --out has the people.", kind=Path | None),
    "events_out_table": option(
        "The table of the published events, where --out is the URL of a database.", kind=str | None
    ),
}


class Job(_Gathered, bundle=True):
    """What is asked of a release besides the spec, or instead of what it says.

    A flag that is left out leaves it to the spec, or is the default where the spec has no such key.
    """

    GROUP = "Instead of what the spec says"

    @staticmethod
    def gathered() -> dict[str, Taken]:
        found: dict[str, Taken] = {}
        for name, declared in _flags().items():
            types = _types(declared.written)
            kind: Any = next((number for number in (float, int) if number in types), str)
            if declared.option.in_spec:
                found[name] = option(declared.option.flag, kind=kind | None)
            else:
                found[name] = option(declared.option.flag, declared.default, kind=kind)
            if name == "algorithm":
                found["k"] = a_k(kind=int | None)
                said = "The column that says whose record it is, instead of the spec's."
                found["person"] = option(said, kind=str | None)
        return found

    @property
    def changes(self) -> dict[str, Any]:
        """What is said instead of what the spec says."""
        flags = _flags()
        names = ("k", "person", *(name for name, flag in flags.items() if flag.option.in_spec))
        given = {name: getattr(self, name) for name in names}
        return {n: _meant(flags.get(n), value) for n, value in given.items() if value is not None}

    @property
    def outside(self) -> dict[str, Any]:
        """The options that a spec does not hold."""
        return {name: getattr(self, name) for name, flag in _flags().items() if not flag.option.in_spec}


def _flags() -> dict[str, Any]:
    """The options of a release that have a flag."""
    from kohort.statement.options import OPTIONS

    return {name: declared for name, declared in OPTIONS.items() if declared.option.flag is not None}


def _types(annotation: Any) -> set[Any]:
    """The types that an annotation allows."""
    if get_origin(annotation) is Literal:
        return {type(word) for word in get_args(annotation)}
    if get_origin(annotation) is Annotated:
        return _types(get_args(annotation)[0])
    return set().union(*map(_types, get_args(annotation))) or {annotation}


def _meant(flag: Any, value: Any) -> Any:
    """The value of a flag; on the command line, true and false are words."""
    if isinstance(value, str) and flag is not None and bool in _types(flag.written):
        return {"true": True, "false": False}.get(value.lower(), value.lower())
    return value

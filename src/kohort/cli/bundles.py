"""Options that several commands share, in bundles: a new option of a bundle is an option of all its commands.

A command takes a bundle as one parameter, such as `reading: Reading`; `command` spreads it into an option for
each of its fields, where the parameter stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, make_dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from kohort.cli.options import Delimiter, Encoding, Header, Json, Query, Quiet, Sheet, Table, header_option
from kohort.cli.plain_help import HelpAll
from kohort.statement.options import OPTIONS, Declared

if TYPE_CHECKING:
    from pathlib import Path

    from kohort.cli.console import Output
    from kohort.io.databases import DatabaseTable


_HELP_ALL = "help_all"


def command(
    function: Callable[..., None] | None = None, *, everyday: Sequence[str] = (), others: str = ""
) -> Any:
    """The command with its bundles spread into options; it can be called with these options, too.

    everyday  the options that its help shows; all others are in groups: those of a bundle in its `GROUP`
    others    the group of options that are in no bundle
    """
    if function is None:
        return partial(command, everyday=everyday, others=others)
    hints = get_type_hints(function, include_extras=True)
    given = inspect.signature(function).parameters
    bundles = {name: hints[name] for name in given if is_dataclass(hints[name])}
    spread = [
        _in_group(option, getattr(hints[name], "GROUP", others))
        if everyday and option.name not in everyday
        else option
        for name, kept in given.items()
        for option in _spread(kept, hints[name])
    ]
    if everyday:
        kind = inspect.Parameter.KEYWORD_ONLY
        spread.append(inspect.Parameter(_HELP_ALL, kind, default=False, annotation=HelpAll))
    signature = inspect.Signature(spread)

    @wraps(function)
    def run(*args: Any, **options: Any) -> None:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        said = bound.arguments
        said.pop(_HELP_ALL, None)
        made = {
            name: bundle(**{field.name: said.pop(field.name) for field in fields(bundle)})
            for name, bundle in bundles.items()
        }
        function(**said, **made)

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in spread}
    return run


def _spread(parameter: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:
    """The parameter itself, or for a bundle a parameter for each of its fields."""
    if not is_dataclass(hint):
        yield parameter.replace(annotation=hint)
        return
    hints = get_type_hints(hint, include_extras=True)
    for field in fields(hint):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(field.name, parameter.kind, default=default, annotation=hints[field.name])


def _in_group(parameter: inspect.Parameter, group: str) -> inspect.Parameter:
    """The option in a group of the help; an argument stays where it is."""
    kind, info = get_args(parameter.annotation)
    if not isinstance(info, typer.models.OptionInfo):
        return parameter
    info = copy(info)
    info.rich_help_panel = group
    return parameter.replace(annotation=Annotated[kind, info])


# -- every command ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printing:
    """How a command prints its results."""

    GROUP = "What is printed"
    json: Json = False
    quiet: Quiet = False

    def output(self) -> Output:
        from kohort.cli.console import Output

        return Output(as_json=self.json, quiet=self.quiet)


# -- commands that read tables ---------------------------------------------------------------------


@dataclass(frozen=True)
class TextReading:
    """How the text of a table is read."""

    GROUP = "How the table is read"
    delimiter: Delimiter = None
    encoding: Encoding = None

    def options(self) -> dict[str, Any]:
        """The options as keywords for the readers of files."""
        return asdict(self)


@dataclass(frozen=True)
class SourceReading(TextReading):
    """How a table of a file or of a database is read."""

    sheet: Sheet = None
    table: Table = None
    query: Query = None

    def source(self, data: str) -> Path | DatabaseTable:
        """What is read: a file, or a table or query of a database."""
        from kohort.cli.sources import source_named

        return source_named(data, self.table, self.query)

    def options(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("table", "query")}


@dataclass(frozen=True)
class Reading(SourceReading):
    """How a table is read."""

    header: Header = None

    def typed(self) -> dict[str, Any]:
        """All options as typed, for a command to copy."""
        return asdict(self)

    def options_of_events(self) -> dict[str, Any]:
        """The options for the second table: the same ones, but for the sheet."""
        return {name: value for name, value in self.options().items() if name != "sheet"}


@dataclass(frozen=True)
class ReleaseReading(TextReading):
    """How a release and its original are read."""

    header: Header = None
    original_header: Annotated[bool | None, header_option("original-header", "the original")] = None
    table: Table = None
    query: Query = None
    original_table: Annotated[
        str | None, typer.Option(help="The table of the original, where --original is a database.")
    ] = None
    original_query: Annotated[
        str | None, typer.Option(help="A query that gives the original, instead of --original-table.")
    ] = None

    def release(self, named: str) -> Path | DatabaseTable:
        """The release: a file, or a table or query of a database."""
        from kohort.cli.sources import source_named

        return source_named(named, self.table, self.query)

    def original(self, named: str | None) -> Path | DatabaseTable | None:
        """The original, likewise; None if none is given."""
        from kohort.cli.sources import source_named
        from kohort.errors import InputError

        if named is not None:
            return source_named(named, self.original_table, self.original_query, prefix="original-")
        if self.original_table is not None or self.original_query is not None:
            raise InputError(
                "--original-table and --original-query go with --original, the URL of a database."
            )
        return None

    def options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("delimiter", "encoding", "header")}

    def options_of_original(self) -> dict[str, Any]:
        return {"header": self.original_header, "header_option": "original-header"}


@dataclass(frozen=True)
class ColumnReading(SourceReading):
    """How the table is read whose column a hierarchy is for; `--header` is about the hierarchy's own file."""

    data_header: Annotated[bool | None, header_option("data-header", "the table")] = None

    def options(self) -> dict[str, Any]:
        options = super().options()
        return options | {"header": options.pop("data_header"), "header_option": "data-header"}


# -- commands that make a release ------------------------------------------------------------------


def _flag(declared: Declared) -> tuple[str, Any, Any]:
    """The flag of an option: left out, the spec decides, or the default where the spec has no such key."""
    types = _types(declared.written)
    kind: Any = next((number for number in (float, int) if number in types), str)
    in_spec = declared.option.in_spec
    flag: Any = Annotated[kind | None if in_spec else kind, typer.Option(help=declared.option.flag)]
    return declared.name, flag, None if in_spec else declared.default


def _types(annotation: Any) -> set[Any]:
    """The types that an annotation allows."""
    if get_origin(annotation) is Literal:
        return {type(word) for word in get_args(annotation)}
    if get_origin(annotation) is Annotated:
        return _types(get_args(annotation)[0])
    return set().union(*map(_types, get_args(annotation))) or {annotation}


_FLAGS = {name: declared for name, declared in OPTIONS.items() if declared.option.flag is not None}
_K = Annotated[int | None, typer.Option("--k", "-k", help="The k to use instead of the spec's.")]
_PERSON = Annotated[
    str | None,
    typer.Option("--person", help="The column that says whose record it is, instead of the spec's."),
]
_algorithm, *_rest = [_flag(declared) for declared in _FLAGS.values()]
_Flags: Any = make_dataclass(
    "_Flags", [_algorithm, ("k", _K, None), ("person", _PERSON, None), *_rest], frozen=True
)


@dataclass(frozen=True)
class Job(_Flags):
    """What is asked of a release besides the spec, or instead of what it says."""

    GROUP = "Instead of what the spec says"

    def changes(self) -> dict[str, Any]:
        """The options that replace those of the spec; None where the spec decides."""
        flags = {name: flag for name, flag in _FLAGS.items() if flag.option.in_spec}
        return {
            "k": self.k,
            "person": self.person,
            **{name: _said(flag, getattr(self, name)) for name, flag in flags.items()},
        }

    def outside(self) -> dict[str, Any]:
        """The options that a spec does not hold."""
        return {name: getattr(self, name) for name, flag in _FLAGS.items() if not flag.option.in_spec}

    def typed(self) -> dict[str, Any]:
        """The flags that change the spec, as typed, for a command to copy."""
        return {name.replace("_", "-"): getattr(self, name) for name in self.changes()}


def _said(declared: Declared, value: Any) -> Any:
    """The value of a flag; on the command line, true and false are words."""
    if not isinstance(value, str) or bool not in _types(declared.written):
        return value
    return {"true": True, "false": False}.get(value.lower(), value.lower())

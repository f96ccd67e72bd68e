"""What is said of a column: its role, and what goes with it; and of a table of events beside the people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from kohort.data.column import text_of
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.build_hierarchy import FileSource, from_spec
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError, did_you_mean
from kohort.parameters import Option, check_parameters, shown
from kohort.problem.roles import ROLES, Role, Roles
from kohort.statement.options import Scheme
from kohort.statement.reader import As, texts_of
from kohort.treatments import PERTURBATIONS, Perturbation, perturbation_of

Treatment = Literal["drop", "pseudonym", "mask", "keep", "shift"]
"""The treatments that are a word; others are a `Perturbation`, with its size."""
TREATMENTS: dict[str, tuple[str, ...]] = {
    "identifier": ("drop", "pseudonym", "mask"),
    "person": ("drop", "pseudonym"),
    "household": ("pseudonym",),
    "weight": ("drop", "keep"),
    "sensitive": ("keep", *PERTURBATIONS),
    "insensitive": ("keep", "shift", *PERTURBATIONS),
}
"""The treatments of the columns that have a role, the default first."""


_SIZES = "such as {noise: 0.1}, {swap: 0.05}, {pram: 0.8}, {limits: [0, 90]} or {round: 5}"


def _role(given: Any) -> Any:
    if not isinstance(given, str) or given not in ROLES:
        raise InputError(f"There is no role {given!r}. {did_you_mean(str(given), ROLES)}")
    return given


def hierarchy_of(source: Any) -> Builder | Hierarchy | FileSource | None:
    """A hierarchy, how to build one, or the file to read it from."""
    if isinstance(source, Path):
        source = str(source)
    return from_spec(source) if isinstance(source, (str, Mapping)) else source


def _order(given: Any) -> tuple[str, ...]:
    """The values in order, as texts."""
    return () if given == "natural" else texts_of(given)


def _treatment(given: Any) -> Treatment | Perturbation:
    """A word as it is; a mapping such as {noise: 0.1} as the perturbation that it means."""
    words: tuple[Any, ...] = get_args(Treatment)
    if not isinstance(given, str):
        return perturbation_of(given, "this column")
    if given not in words:
        raise InputError(f"this must be {', '.join(words)}, or a mapping {_SIZES}.")
    return given  # type: ignore[return-value]


@dataclass(frozen=True)
class Column:
    """One column: its role, and what goes with it.

    hierarchy   a builder, a Hierarchy or a file; None: the value itself, or for numbers any interval
    order       its values in order, as texts; empty: their natural order
    scheme      how its values may be merged, instead of the scheme of the whole release
    weight      how much its detail is worth
    publish     of numbers what classes publish: interval, mean or median
    on_missing  error, or suppress: values missing from its hierarchy become `*`
    treatment   a word or a perturbation; None: the first of TREATMENTS for its role
    join        columns of the same join have the same pseudonyms
    separator, multiset, suppress  of items, see `Items`
    """

    role: Annotated[Role, As(_role)]
    hierarchy: Annotated[Builder | Hierarchy | FileSource | None, As(hierarchy_of)] = None
    order: Annotated[tuple[str, ...], As(_order)] = ()
    scheme: Scheme | None = None
    weight: float = 1.0
    publish: Literal["interval", "mean", "median"] = "interval"
    on_missing: Literal["error", "suppress"] = "error"
    treatment: Annotated[Treatment | Perturbation | None, As(_treatment)] = None
    join: str = ""
    separator: str | None = None
    multiset: bool = False
    suppress: bool = False

    def __post_init__(self) -> None:
        check_parameters(self, say="{name!r}")
        if self.role != "items" and (self.separator is not None or self.multiset or self.suppress):
            raise InputError("A separator, multiset and suppress are for the role items.")

    @property
    def how(self) -> str:
        """The treatment by its word; empty where none is asked for."""
        return self.treatment.name if isinstance(self.treatment, Perturbation) else self.treatment or ""


_WHAT = {
    "hierarchy": ("A hierarchy", ("quasi-identifier", "sensitive", "items")),
    "order": ("An order", ("quasi-identifier", "sensitive")),
    "scheme": ("A scheme", ("quasi-identifier",)),
    "publish": ("What to publish", ("quasi-identifier",)),
    "weight": ("A weight", ("quasi-identifier",)),
}
_DEFAULTS = Column("identifier")


def refuse_for_other_roles(name: str, column: Column) -> None:
    """Raise InputError for what is given for a column that has none of the roles it is for."""
    for key in _WHAT:
        if getattr(column, key) != getattr(_DEFAULTS, key):
            _refuse_for_others(key, name, column.role)


def _refuse_for_others(key: str, name: str, role: str | None) -> None:
    if key == "join":
        raise wrong_join(name)
    what, roles = _WHAT[key]
    wrong = "neither a quasi-identifier nor sensitive" if len(roles) > 1 else "not a quasi-identifier"
    if role not in roles:
        raise InputError(f"{what} is given for {name!r}, which is {wrong}.")


def wrong_join(name: str) -> InputError:
    return InputError(
        f"A join is given for {name!r}, which is not published as pseudonyms. Give it the treatment "
        "pseudonym, or leave out the join."
    )


def columns_of(roles: Mapping[str, Any], **given: Mapping[str, Any]) -> dict[str, Column]:
    """The columns with these roles, and for each key of a column what is given of some of them.

    >>> columns_of({"age": "quasi-identifier"}, weight={"age": 2})["age"].weight
    2
    """
    parts: dict[str, dict[str, Any]] = {name: {"role": role} for name, role in roles.items()}
    for key, of in given.items():
        for name, value in of.items():
            if name not in parts or (key in _WHAT and value is not None):
                _refuse_for_others(key, name, roles.get(name))
            parts[name][key] = _treated(name, value) if key == "treatment" else value
    found = {}
    for name, part in parts.items():
        try:
            found[name] = Column(**part)
        except InputError as error:
            raise InputError(f"Column {name!r}: {error}") from None
    return found


def _treated(name: str, how: Any) -> Any:
    """The treatment of a column, as Python gives it."""
    if how is not None and not isinstance(how, str):
        return perturbation_of(how, name)
    if how in PERTURBATIONS:
        raise InputError(f"The treatment {how} of {name!r} needs its size, {_SIZES}.")
    known: tuple[Any, ...] = get_args(Treatment)
    if how is not None and how not in known:
        words = " or ".join((*known, *PERTURBATIONS))
        raise InputError(f"'treatment of {name}' must be {words}. Got {how!r}.")
    return how


def texts_in_order(name: str, values: Any) -> tuple[str, ...]:
    """The values of a column in order, as texts."""
    if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
        raise InputError(f"The order of {name!r} must be a list of its values. Got {shown(values)}.")
    return tuple(text_of(value) for value in values)


@dataclass(frozen=True)
class EventsAsked:
    """A table of events, several for each person, beside the table of people; `EventsAsked()`: there is none.

    key      the column that both tables have: whose record it is
    columns  the columns of the events that have a role; None: not said, a column is found in either table
    orphans  what becomes of events whose person is not in the table of people
    """

    key: str = ""
    columns: tuple[str, ...] | None = None
    orphans: Annotated[
        Literal["error", "drop"], Option("events of people who are not in the table of people")
    ] = "error"

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of events")

    def __bool__(self) -> bool:
        """Whether there are events."""
        return self.key != ""

    def refuse_wrong_columns(
        self, people: Sequence[str], events: Sequence[str], roles: Roles, items: str | None
    ) -> None:
        """Raise InputError for columns that are in the wrong table, in both, or in none."""
        for table, names in {"table of people": people, "table of events": events}.items():
            if self.key not in names:
                raise InputError(
                    f"The {table} has no column {self.key!r}, the key of the events. "
                    f"{did_you_mean(self.key, names)}"
                )
        if both := sorted((set(people) & set(events)) - {self.key}):
            raise InputError(
                f"{', '.join(map(repr, both))} is a column of both tables: rename it in one of them, or "
                "leave it out there."
            )
        for name in self.columns or ():
            if name not in events:
                raise InputError(f"The events have no column {name!r}. {did_you_mean(name, events)}")
        own = roles.of if self.columns is None else (*self.columns, self.key)
        for name in roles.of:
            if name in events and name not in own:
                raise InputError(f"Column {name!r} is one of the events: give its role under 'events'.")
        if items is not None:
            self._refuse_beside_items(items, people, events, roles)

    def _refuse_beside_items(
        self, items: str, people: Sequence[str], events: Sequence[str], roles: Roles
    ) -> None:
        if items in people:
            raise UnsupportedError(
                f"Column {items!r} of the people holds items, which cannot be published beside events. "
                "Publish the people alone, or drop the column with the role identifier."
            )
        if items not in events:
            raise InputError(f"The events have no column {items!r}. {did_you_mean(items, events)}")
        more = [name for name in events if name not in (items, self.key)]
        given = [name for name in more if name in roles.of]
        if given or (more and roles.others != "drop"):
            raise UnsupportedError(
                f"Events that are items are published as {self.key!r} and {items!r} alone, each item once "
                f"for a person: {', '.join(map(repr, given or more))} cannot be. Leave other columns out "
                "with others: drop."
            )

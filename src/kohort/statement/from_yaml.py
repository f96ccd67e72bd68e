"""Read what a YAML file asks of a release: its keys are the fields of the statement and of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from kohort.algorithms import EVERY_ALGORITHM, Algorithm, ItemsAlgorithm
from kohort.errors import InputError, did_you_mean
from kohort.parameters import fits, shown
from kohort.problem.promises import KAnonymity
from kohort.statement.approval import Analyses, Recipient, read_context
from kohort.statement.columns import Column, EventsAsked, columns_of, hierarchy_of
from kohort.statement.items import BASKETS, BasketShape
from kohort.statement.privacy import Privacy, read_privacy
from kohort.statement.reader import As, Reader, Where
from kohort.statement.statement import OPTION_KEYS, Statement

PARTS = {
    "attributes": "the columns, each with a role",
    "privacy": "what is promised",
    "parameters": "the parameters of the algorithm",
    "weights": "where detail matters more",
    "history": "of linked records: the column that says which one of a person's it is",
    "events": "a table of events beside that of people: its key and its columns",
    "recipients": "who gets the release: what they may know, controls, date of review",
    "context": "answers to questions of context, for the dossier",
    "utility": "the analyses that the release is made for, for the dossier",
    "items": "for files of nothing but baskets: their hierarchy and shape",
}
"""The keys of the spec that have parts of their own, and what they are."""
SPEC_KEYS = (*PARTS, *OPTION_KEYS)
_NO_LINES: Mapping[Where, int] = MappingProxyType({})
_Source = Annotated[Any, As(hierarchy_of)]


@dataclass(frozen=True)
class Baskets:
    """Baskets that are all there is in a file: one basket to a line, or one item to a row."""

    hierarchy: _Source = None
    separator: str | None = None
    multiset: bool = False
    suppress: bool = False
    id: str | None = None
    item: str | None = None


@dataclass(frozen=True)
class History:
    """How the linked records of a person are told apart."""

    slot: str


@dataclass(frozen=True)
class EventsPart:
    """A table of events beside that of people: its key and its columns, or the column that holds items."""

    key: str
    attributes: Any = None
    items: str | None = None
    hierarchy: _Source = None
    suppress: bool = False
    orphans: Any = "error"

    def __post_init__(self) -> None:
        if bool(self.attributes) == (self.items is not None):
            raise InputError(
                "name the attributes of the events, or the column of items among them, not both."
            )
        if self.hierarchy is not None and self.items is None:
            raise InputError("the hierarchy is that of items: name their column, or leave it out.")
        if self.suppress and self.items is None:
            raise InputError("suppress is about items: name their column, or leave it out.")


@dataclass(frozen=True)
class Written:
    """What a spec says, part by part; what goes with what is only known once a statement is made of it."""

    fields: dict[str, Any]
    privacy: Privacy

    def statement(self) -> Statement:
        return Statement.of(**self.fields, promises=self.privacy.promises())


def from_yaml(
    content: Any, *, name: str = "spec", lines: Mapping[Where, int] = _NO_LINES, **changes: Any
) -> Statement:
    """The statement in a mapping with the keys of the YAML file.

    name, lines  of the file, for messages: the line of each key or item, by its path
    changes      options that replace those of the file where they are not None; `k` replaces that of the
                 privacy, and `person` names the column that says whose record it is
    """
    return read_written(_changed(content, changes), name=name, lines=lines).statement()


def read_written(content: Any, *, name: str = "spec", lines: Mapping[Where, int] = _NO_LINES) -> Written:
    """What a spec says, part by part; raises InputError that tells all that is wrong in it."""
    if not isinstance(content, Mapping):
        raise InputError(f"{name}: a spec must be a mapping with the keys attributes and privacy.")
    reader = Reader(name, lines)
    reader.is_mapping(content, (), SPEC_KEYS)
    found: dict[str, Any] = {}
    for key, declared in OPTION_KEYS.items():
        if key in content:
            found[key] = reader.told((key,), partial(declared.check_written, content[key]))
    if name := found.get("algorithm", OPTION_KEYS["algorithm"].default):
        make = partial(_with_parameters, name, content.get("parameters") or {})
        found["algorithm"] = reader.told(("parameters",), make)
    found |= _parts(
        reader, {key: value for key, value in content.items() if key in PARTS and value is not None}
    )
    if content.get("privacy") is None:
        reader.refuse(("privacy",), "this key is missing.")
    privacy = read_privacy(reader, content.get("privacy") or {})
    reader.raise_problems()
    return Written(found, privacy)


def _parts(reader: Reader, content: Mapping[str, Any]) -> dict[str, Any]:
    """What the keys with parts of their own say."""
    found: dict[str, Any] = {
        "columns": reader.parts(content.get("attributes", {}), ("attributes",), partial(reader.part, Column))
    }
    if "history" in content:
        history = reader.part(History, content["history"], ("history",))
        found["slot"] = history and history.slot
    if "events" in content:
        found |= _events(reader, content["events"], found["columns"])
    if "items" in content:
        found |= _baskets(reader, content["items"], found["columns"])
    if "weights" in content:
        _weigh(reader, content["weights"], found["columns"])
    if "recipients" in content:
        read = partial(reader.part, Recipient, checked=False)
        found["recipients"] = reader.entries(content["recipients"], ("recipients",), read)
    if "context" in content:
        found["context"] = reader.told(("context",), lambda: read_context(content["context"]))
    if "utility" in content:
        found["utility"] = reader.part(Analyses, content["utility"], ("utility",), checked=False)
    return found


def _weigh(reader: Reader, content: Any, columns: dict[str, Column]) -> None:
    """Give columns the weights that stand under a key of their own."""
    if not reader.is_mapping(content, ("weights",)):
        return
    for name, weight in content.items():
        if not fits(weight, float):
            reader.refuse(("weights", name), f"this must be a number. Got {shown(weight)}.")
        elif name in columns:
            columns[name] = replace(columns[name], weight=weight)
        else:
            reader.told(("weights", name), partial(columns_of, {}, weight={name: weight}))


def _events(reader: Reader, content: Any, columns: dict[str, Column]) -> dict[str, Any]:
    """The events, and with them the columns of both tables."""
    where = ("events",)
    part = reader.part(EventsPart, content, where)
    if part is None:
        return {}
    if part.items is None:
        own = reader.parts(part.attributes, (*where, "attributes"), partial(reader.part, Column))
    else:
        own = {part.items: Column("items", part.hierarchy, suppress=part.suppress)}
    if both := sorted(set(columns) & set(own)):
        raise InputError(
            f"{', '.join(map(repr, both))} is given a role under 'attributes' and under 'events': give it "
            "one, in the table that has it."
        )
    events = reader.told(where, lambda: EventsAsked(part.key, tuple(own), part.orphans))
    return {"columns": columns | own, "events": events}


def _baskets(reader: Reader, content: Any, columns: dict[str, Column]) -> dict[str, Any]:
    """The column of a file that holds nothing but baskets, and how the file holds them."""
    part = reader.part(Baskets, content, ("items",))
    if part is None:
        return {}
    column = Column("items", part.hierarchy, multiset=part.multiset, suppress=part.suppress)
    shape = reader.told(("items",), lambda: BasketShape(part.separator, part.id, part.item))
    return {"columns": {**columns, BASKETS: column}, "shape": shape}


def _with_parameters(name: str, parameters: Any) -> Algorithm | ItemsAlgorithm:
    if not isinstance(parameters, Mapping):
        raise InputError("this must be a mapping.")
    algorithm: Any = EVERY_ALGORITHM[name]
    known = [field.name for field in fields(algorithm)]
    for parameter in parameters:
        if parameter not in known:
            hint = did_you_mean(str(parameter), known) if known else "It takes none."
            raise InputError(f"The algorithm {name!r} has no parameter {parameter!r}. {hint}")
    return algorithm(**parameters)


def _changed(content: Any, changes: Mapping[str, Any]) -> Any:
    """The content with some keys changed, those that are not None."""
    given = {name: value for name, value in changes.items() if value is not None}
    k, person = given.pop("k", None), given.pop("person", None)
    for name, value in given.items():
        OPTION_KEYS[name].check_written(value, say=repr(name))
    if not isinstance(content, Mapping):
        return content
    if given.get("algorithm", content.get("algorithm")) != content.get("algorithm"):
        given["parameters"] = {}
    if k is not None and isinstance(content.get("privacy"), Mapping):
        given["privacy"] = {**content["privacy"], "k": KAnonymity(k).k}
    if person is not None:
        given["attributes"] = _with_person(content.get("attributes") or {}, person)
    return {**content, **given}


def _with_person(attributes: Any, person: str) -> Any:
    """The columns with this one as the person; the one that the spec names instead is dropped."""
    if not isinstance(attributes, Mapping):
        return attributes
    role = {n: part.get("role") if isinstance(part, Mapping) else None for n, part in attributes.items()}
    if role.get(person) not in (None, "identifier", "person"):
        raise InputError(
            f"Column {person!r} has two roles: {role[person]} in the spec, and person. Give it one."
        )
    others = {n: {"role": "identifier"} if role[n] == "person" else part for n, part in attributes.items()}
    kept = attributes[person] if role.get(person) == "person" else {"role": "person"}
    return {**others, person: kept}

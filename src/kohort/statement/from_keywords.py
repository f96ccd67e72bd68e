"""Turn the keywords of `kohort.anonymize` into a statement."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kohort.data.column import Column as Coded
from kohort.data.hierarchies import Builder
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.parameters import check_option, shown
from kohort.problem.promises import ItemInference, KAnonymity, KmAnonymity
from kohort.problem.roles import OF_ONE_COLUMN, Role
from kohort.profiling.roles import suggest_hierarchy
from kohort.statement.approval import Analyses, Recipient, read_context
from kohort.statement.columns import Column, EventsAsked, columns_of, hierarchy_of, texts_in_order
from kohort.statement.items import OF_ITEMS, Items
from kohort.statement.options import OPTIONS
from kohort.statement.privacy import Promise
from kohort.statement.statement import Statement
from kohort.statement.words import INSTEAD, ColumnWords, Events, Ledger, Person
from kohort.tables.table import Table

Source = Builder | Hierarchy | str | Path | Mapping[str, Any] | None


KEYWORDS: dict[str, Any] = {
    **{name: declared.default for name, declared in OPTIONS.items()},
    "sensitive": (),
    "identifiers": (),
    "insensitive": (),
    "privacy": (),
    "recipients": (),
    "others": "error",
    "on_missing": "error",
    "orphans": "error",
    **dict.fromkeys(
        ("events", "quasi_identifiers", "items", "person", "k", "key", "ledger", "context", "utility")
    ),
    **dict.fromkeys(("household", "weight", "history", "weights", "publish", "orders", "joins")),
}
"""Every keyword that states something, with its default."""
_CALL = ("data", "spec", "progress", "stop", "header")  # keywords of the call itself


def spelled_out(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords with all defaults, and nouns taken apart: a ledger is its file, and how it is used."""
    for name, value in given.items():
        if name not in KEYWORDS and name not in _CALL:
            raise TypeError(f"There is no keyword {name!r}. {did_you_mean(name, KEYWORDS)}")
        if name in INSTEAD and value is not None and not _is_default(name, value):
            old = f"{name!r} is an old keyword. Write {INSTEAD[name]} instead."
            warnings.warn(old, FutureWarning, stacklevel=3)
    found = {**KEYWORDS, **given}
    parts: dict[str, Any] = {}
    if isinstance(person := found["person"], Person):
        linked = {person.column: "pseudonym"} if person.linked else person.column
        history = None if person.slot is None else {"slot": person.slot}
        parts |= {"household": person.household, "weight": person.weight, "history": history}
        found["person"] = linked
    if isinstance(ledger := found["ledger"], Ledger):
        parts |= {"again": ledger.again, "counterfeits": ledger.counterfeits}
        found["ledger"] = ledger.path
    if isinstance(events := found["events"], Events):
        parts |= {"orphans": events.orphans}
        found["events"] = events.table
    for name, value in parts.items():
        if not _is_default(name, value):
            if not _is_default(name, found[name]):
                raise InputError(f"{name!r} is said twice. Keep {INSTEAD[name]}.")
            found[name] = value
    return found


def _is_default(name: str, value: Any) -> bool:
    return value is KEYWORDS.get(name) or (isinstance(value, (str, int)) and value == KEYWORDS.get(name))


def from_keywords(given: Mapping[str, Any]) -> Statement:
    """The statement that keywords make, as `spelled_out` gives them; files they name are not read yet."""
    items = _items(given["items"])
    if given["k"] is None and isinstance(given["privacy"], tuple) and not given["privacy"] and not items:
        raise InputError("Say what is promised, such as k=10 or privacy=[ko.KAnonymity(10)].")
    trees = hierarchies_by_column(given["quasi_identifiers"], optional=bool(items))
    options = {name: given[name] for name in OPTIONS}
    by_column = isinstance(given["scheme"], Mapping)
    if items:
        options |= {"items_algorithm": items.algorithm, "items_weight": items.weight}
    return Statement.of(
        **{**options, "scheme": None if by_column else given["scheme"]},
        columns=_columns(given, trees, items, given["scheme"] if by_column else {}),
        others=given["others"],
        promises=_promises(given["privacy"], given["k"]),
        slot=_slot(given["history"]),
        events=_events(given),
        **_approval(given),
    )


def _columns(
    given: Mapping[str, Any], trees: Mapping[str, Any], items: Items, schemes: Mapping[str, str]
) -> dict[str, Column]:
    """Every column that is named, with what is given of it."""
    for name, kind in (("orders", Any), ("weights", float), ("publish", str), ("joins", str)):
        check_option(name, given[name], Mapping[str, kind] | None)  # type: ignore[valid-type]
    check_option("scheme", schemes, Mapping[str, str])
    named: dict[Role, Any] = {
        "quasi-identifier": given["quasi_identifiers"] or (),
        "sensitive": given["sensitive"],
        "identifier": given["identifiers"],
        "insensitive": given["insensitive"],
        "items": [items.column] if items else [],
        **{role: given[role] or () for role in OF_ONE_COLUMN},
    }
    said: dict[str, dict[str, Any]] = {
        "hierarchy": {name: tree for name, tree in trees.items() if tree is not None},
        "order": {name: texts_in_order(name, values) for name, values in (given["orders"] or {}).items()},
        "on_missing": dict.fromkeys(trees, given["on_missing"]),
        "join": dict(given["joins"] or {}),
        "weight": dict(given["weights"] or {}),
        "publish": dict(given["publish"] or {}),
        "scheme": dict(schemes),
        "treatment": {},
    }
    for role, columns in named.items():
        for name, words in columns.items() if isinstance(columns, Mapping) else ():
            if isinstance(words, ColumnWords):
                for key, value in words.said.items():
                    said[key][name] = texts_in_order(name, value) if key == "order" else value
                if "hierarchy" in words.said:
                    said["hierarchy"][name] = hierarchy_of(words.said["hierarchy"])
            elif role != "quasi-identifier":
                said["treatment"][name] = words
    found = columns_of(_roles(named), **said)
    if items:
        found[items.column] = Column("items", **{key: getattr(items, key) for key in OF_ITEMS})
    return found


def _approval(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is said for those who approve the release: recipients, context, analyses."""
    listed = given["recipients"] or ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InputError(f"'recipients' is a list of recipients. Got {shown(listed)}.")
    analyses = given["utility"] or {}
    check_option("utility", analyses, Mapping[str, Any])
    try:
        return {
            "recipients": tuple(r if isinstance(r, Recipient) else Recipient(**r) for r in listed),
            "context": read_context(given["context"] or {}),
            "utility": Analyses(**analyses),
        }
    except TypeError:
        raise InputError(
            "A recipient has a name, purpose, knows, controls and review; 'utility' has models and labels."
        ) from None


def _slot(history: Any) -> str | None:
    """The column of slots that a history names."""
    match history:
        case None:
            return None
        case {"slot": str(slot), **rest} if not rest:
            return slot
    raise InputError(
        f"'history' names the column of slots, such as {{'slot': 'year'}}. Got {shown(history)}."
    )


def _events(given: Mapping[str, Any]) -> EventsAsked:
    """What is asked of a table of events, where there is one."""
    if given["events"] is None:
        if given["orphans"] != "error":
            raise InputError("'orphans' is about a table of events: give events=, or leave it out.")
        return EventsAsked()
    keys = _names(given["person"] or ())
    if len(keys) != 1:
        raise InputError("Name the column that people and events both have: person='patient'.")
    return EventsAsked(keys[0], orphans=given["orphans"])


def _items(items: Any) -> Items:
    """The column of items, if there is one: given by its name, with a hierarchy, or as `Items`."""
    if isinstance(items, Items):
        return replace(items, hierarchy=hierarchy_of(items.hierarchy))
    if items is None or isinstance(items, str):
        return Items(items or "")
    if not isinstance(items, Mapping) or len(items) != 1:
        raise InputError(
            "'items' is the name of one column, a mapping from it to a hierarchy, or ko.Items(...)."
        )
    [(column, source)] = items.items()
    return Items(column, hierarchy_of(source))


def proposed_hierarchies(asked: Statement, listed: Any, tables: Sequence[Table]) -> dict[str, Source]:
    """Hierarchies for quasi-identifiers that were given as a list of names: codes get masks, others none.

    tables  the table or, where there are events as well, the two; a column is taken from the one that has it

    Empty where they were given as a mapping, which says it all. A column whose values are given an order, or
    that has a scheme of its own, needs no hierarchy.
    """
    if not tables or listed is None or isinstance(listed, Mapping) or asked.has_scheme:
        return {}
    names = [name for name in _names(listed) if name not in asked.orders]
    of = {name: next((t for t in tables if name in t.names), tables[0]) for name in names}
    found = {name: _proposed_hierarchy(table.column(name)) for name, table in of.items()}
    return {name: source for name, source in found.items() if source is not None}


def hierarchies_by_column(
    quasi_identifiers: Mapping[str, Source] | Sequence[str] | None, *, optional: bool = False
) -> dict[str, Any]:
    """The hierarchy of each quasi-identifier, or None; without any column, an error unless `optional`."""
    names = [] if quasi_identifiers is None else _names(quasi_identifiers)
    if not names and optional:
        return {}
    if not names:
        raise InputError("Name the quasi_identifiers: the columns that others may know.")
    given = dict(quasi_identifiers if isinstance(quasi_identifiers, Mapping) else dict.fromkeys(names))
    given |= {name: of.said.get("hierarchy") for name, of in given.items() if isinstance(of, ColumnWords)}
    return {name: hierarchy_of(given[name]) for name in names}


def _promises(privacy: Sequence[Promise] | Promise, k: int | None) -> tuple[Promise, ...]:
    """All promises, with k as k-anonymity."""
    asked = _listed(privacy)
    if k is not None:
        if any(isinstance(model, KAnonymity) for model in asked):
            raise InputError("k is given twice: as k and as KAnonymity in privacy. Leave one of them out.")
        asked = (KAnonymity(k), *asked)
    _refuse_twice(KmAnonymity, asked, "keep the larger k and m")
    _refuse_twice(ItemInference, asked, "list all sensitive items in one")
    return asked


def _listed(privacy: Sequence[Promise] | Promise) -> tuple[Promise, ...]:
    if isinstance(privacy, Promise):
        return (privacy,)
    if isinstance(privacy, int) and not isinstance(privacy, bool):
        instead = f"k={privacy} or privacy=[ko.KAnonymity({privacy})], not privacy={privacy}"
        raise InputError(f"'privacy' lists models. Write {instead}.")
    if not isinstance(privacy, Iterable) or isinstance(privacy, (str, Mapping)):
        raise InputError(
            "'privacy' lists models such as [ko.KAnonymity(10)], which k=10 is short for. "
            f"Got {shown(privacy)}."
        )
    return tuple(privacy)


def _refuse_twice(kind: Any, asked: Sequence[Any], instead: str) -> None:
    names = [model.name for model in asked if isinstance(model, kind)]
    if len(set(names)) > 1:
        both = " and ".join(sorted(set(names)))
        raise InputError(f"{both} are both asked for: one promise about sensitive items is possible.")
    if len(names) > 1:
        raise InputError(f"{names[0]} is asked for twice: {instead}.")


def _roles(columns: Mapping[Role, Sequence[str] | Mapping[str, Any]]) -> dict[str, Role]:
    """The role of each column, from the columns of each role; a column with two roles is refused."""
    roles: dict[str, Role] = {}
    for role, names in columns.items():
        for name in _names(names):
            if name in roles:
                raise InputError(f"Column {name!r} has two roles: {roles[name]} and {role}. Give it one.")
            roles[name] = role
    return roles


def _names(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Names of columns; a single one need not be in a list."""
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [names]
    if not all(isinstance(name, str) for name in listed):
        raise InputError(f"Give columns by their names, as a list of strings. Got {shown(names)}.")
    return listed


def _proposed_hierarchy(column: Coded) -> Mapping[str, Any] | None:
    """The hierarchy that `kohort init` suggests for codes, as the spec writes it; None for everything else.

    Numbers and dates lose least as intervals of any length. Groups of names that only the data suggests would
    mean nothing to a reader: names are published as they are or as `*`.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> _proposed_hierarchy(code_column("postcode", pa.array([f"43{n}" for n in range(10, 40)])))
    {'mask': 'right'}
    """
    found = suggest_hierarchy(column)
    is_of_codes = isinstance(found, Mapping) and not {"intervals", "date", "quantiles"} & set(found)
    return found if is_of_codes else None

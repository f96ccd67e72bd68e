"""Turn the keywords of `kohort.anonymize` into a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from kohort.data.column import Column, text_of
from kohort.data.hierarchies.build_hierarchy import Builder, FileSource, from_spec
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.io.hierarchies import read_source
from kohort.io.populations import read_populations
from kohort.options import OPTIONS
from kohort.parameters import check_option, shown
from kohort.pipeline import Events, Items, Request
from kohort.pipeline.approval import Analyses, Recipient
from kohort.problem.promises import ItemInference, KAnonymity, KmAnonymity, Model
from kohort.problem.roles import OF_ONE_COLUMN, Role, Roles
from kohort.profiling.roles import suggest_hierarchy
from kohort.tables.table import Table

__all__ = [
    "Promise",
    "Source",
    "hierarchies_by_column",
    "hierarchy_files",
    "proposed_hierarchies",
    "request_of",
]

Promise = Model | KmAnonymity | ItemInference
Source = Builder | Hierarchy | str | Path | Mapping[str, Any] | None
ItemsPromise = TypeVar("ItemsPromise", KmAnonymity, ItemInference)


def request_of(given: Mapping[str, Any], proposed: Mapping[str, Source]) -> Request:
    """The request that the keywords of `anonymize` make; `proposed` hierarchies are for columns in a list."""
    items = _items(given["items"])
    if given["k"] is None and isinstance(given["privacy"], tuple) and not given["privacy"] and items is None:
        raise InputError("Say what is promised, such as k=10 or privacy=[ko.KAnonymity(10)].")
    trees = hierarchies_by_column(given["quasi_identifiers"], optional=items is not None)
    trees |= {name: _hierarchy(name, source) for name, source in proposed.items()}
    identifiers, weights = given["identifiers"], given["weights"]
    columns: dict[Any, Any] = {
        "quasi-identifier": trees,
        "sensitive": given["sensitive"],
        "identifier": identifiers,
        "insensitive": given["insensitive"],
        "items": [] if items is None else [items.column],
        **{role: _names(given[role] or ()) for role in OF_ONE_COLUMN},
    }
    options = {name: given[name] for name in OPTIONS} | _schemes(given["scheme"])
    return Request(
        **options,
        **_promises(given["privacy"], given["k"]),
        roles=_roles(columns, given["others"]),
        items=items,
        hierarchies=trees,
        orders=_orders(given["orders"]),
        on_missing=dict.fromkeys(trees, given["on_missing"]),
        treatments=_treatments(
            identifiers,
            given["sensitive"],
            given["insensitive"],
            *(given[role] for role in OF_ONE_COLUMN),
        ),
        slot=_slot(given["history"]),
        events=_events(given),
        **_approval(given),
        joins=given["joins"] or {},
        key=given["key"],
        ledger=given.get("ledger"),
        weights={} if weights is None else weights,
        publish=given["publish"] or {},
    )


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
            "context": given["context"] or {},
            "utility": Analyses(**analyses),
        }
    except TypeError:
        raise InputError(
            "A recipient has a name, purpose, knows, controls and review; 'utility' has models and labels."
        ) from None


def _slot(history: Mapping[str, str] | None) -> str | None:
    """The column of slots that a history names."""
    if history is None:
        return None
    if not isinstance(history, Mapping) or list(history) != ["slot"] or not isinstance(history["slot"], str):
        raise InputError(
            f"'history' names the column of slots, such as {{'slot': 'year'}}. Got {shown(history)}."
        )
    return history["slot"]


def _events(given: Mapping[str, Any]) -> Events | None:
    """What is asked of a table of events, where there is one."""
    if given["events"] is None:
        if given["orphans"] != "error":
            raise InputError("'orphans' is about a table of events: give events=, or leave it out.")
        return None
    keys = _names(given["person"] or ())
    if len(keys) != 1:
        raise InputError("Name the column that people and events both have: person='patient'.")
    return Events(keys[0], orphans=given["orphans"])


def _treatments(*columns: Any) -> dict[str, Any]:
    """The treatments of columns that are given as a mapping to them."""
    return {name: how for given in columns if isinstance(given, Mapping) for name, how in given.items()}


def _items(items: Items | Mapping[str, Source] | str | None) -> Items | None:
    """The column of items: given by its name, with a hierarchy, or as `Items`."""
    if items is None:
        return None
    if isinstance(items, Items):
        return replace(items, hierarchy=_hierarchy(items.column, items.hierarchy))
    if isinstance(items, str):
        return Items(items)
    if not isinstance(items, Mapping) or len(items) != 1:
        raise InputError(
            "'items' is the name of one column, a mapping from it to a hierarchy, or ko.Items(...)."
        )
    [(column, source)] = items.items()
    return Items(column, _hierarchy(column, source))


def proposed_hierarchies(given: Mapping[str, Any], tables: Sequence[Table]) -> dict[str, Source]:
    """Hierarchies for quasi-identifiers that were given as a list of names: codes get masks, others none.

    tables  the table or, where there are events as well, the two; a column is taken from the one that has it

    Empty where they were given as a mapping, which says it all. A column whose values are given an order, or
    that has a scheme of its own, needs no hierarchy.
    """
    listed = given["quasi_identifiers"]
    if listed is None or isinstance(listed, Mapping) or given["scheme"] is not None:
        return {}
    names = [name for name in _names(listed) if name not in (given["orders"] or {})]
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
    given = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else dict.fromkeys(names)
    return {name: _hierarchy(name, given[name]) for name in names}


def _hierarchy(name: str, source: Source) -> Builder | Hierarchy | None:
    found = _hierarchy_source(source)
    if isinstance(found, FileSource):
        file = read_source(found)
        file.findings.raise_if_broken(name)
        return file.source
    return found


def _hierarchy_source(source: Source) -> Builder | Hierarchy | FileSource | None:
    """A hierarchy, how to build one, or the file to read it from."""
    if isinstance(source, Path):
        source = str(source)
    return from_spec(source) if isinstance(source, (str, Mapping)) else source


def hierarchy_files(quasi_identifiers: Any, items: Any) -> list[Path]:
    """The files that hierarchies are read from."""
    given = [source for source in (quasi_identifiers, items) if isinstance(source, Mapping)]
    given += [{"items": items.hierarchy}] if isinstance(items, Items) else []
    found = [_hierarchy_source(source) for sources in given for source in sources.values()]
    return [Path(source.path) for source in found if isinstance(source, FileSource)]


def _promises(privacy: Sequence[Promise] | Promise, k: int | None) -> dict[str, Any]:
    """The privacy models of classes (`models`), of items (`km`) and of sensitive items (`confidence`)."""
    asked = _listed(privacy)
    if k is not None:
        if any(isinstance(model, KAnonymity) for model in asked):
            raise InputError("k is given twice: as k and as KAnonymity in privacy. Leave one of them out.")
        asked = (KAnonymity(k), *asked)
    return {
        "models": read_populations(
            [model for model in asked if not isinstance(model, (KmAnonymity, ItemInference))]
        ),
        "km": _at_most_one(KmAnonymity, asked, "keep the larger k and m"),
        "confidence": _at_most_one(ItemInference, asked, "list all sensitive items in one"),
    }


def _listed(privacy: Sequence[Promise] | Promise) -> tuple[Promise, ...]:
    if isinstance(privacy, Promise):
        return (privacy,)
    if isinstance(privacy, int) and not isinstance(privacy, bool):
        raise InputError(
            f"'privacy' lists models. Write k={privacy} or privacy=[ko.KAnonymity({privacy})], not "
            f"privacy={privacy}."
        )
    if not isinstance(privacy, Iterable) or isinstance(privacy, (str, Mapping)):
        raise InputError(
            "'privacy' lists models such as [ko.KAnonymity(10)], which k=10 is short for. "
            f"Got {shown(privacy)}."
        )
    return tuple(privacy)


def _at_most_one(kind: type[ItemsPromise], asked: Sequence[Any], instead: str) -> ItemsPromise | None:
    found = [model for model in asked if isinstance(model, kind)]
    if len(found) > 1:
        names = sorted({model.name for model in found})
        twice = f"{names[0]} is asked for twice: {instead}."
        both = f"{' and '.join(names)} are both asked for: one promise about sensitive items is possible."
        raise InputError(twice if len(names) == 1 else both)
    return found[0] if found else None


def _orders(orders: Mapping[str, Sequence[Any]] | None) -> dict[str, list[str]]:
    """The values of columns in order, as texts."""
    if orders is None:
        return {}
    check_option("orders", orders, Mapping[str, Any])
    for name, values in orders.items():
        if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
            raise InputError(f"The order of {name!r} must be a list of its values. Got {shown(values)}.")
    return {name: [text_of(value) for value in values] for name, values in orders.items()}


def _schemes(scheme: str | Mapping[str, str] | None) -> dict[str, Any]:
    """The scheme of all quasi-identifiers (`scheme`), or those of single ones (`schemes`)."""
    by_column = isinstance(scheme, Mapping)
    return {"scheme": None if by_column else scheme, "schemes": scheme if by_column else {}}


def _roles(
    columns: Mapping[Role, Sequence[str] | Mapping[str, Any]], others: Literal["error", "keep", "drop"]
) -> Roles:
    """The role of each column, from the columns of each role; a column with two roles is refused."""
    roles: dict[str, Role] = {}
    for role, names in columns.items():
        for name in _names(names):
            if name in roles:
                raise InputError(f"Column {name!r} has two roles: {roles[name]} and {role}. Give it one.")
            roles[name] = role
    return Roles(roles, others)


def _names(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Names of columns; a single one need not be in a list."""
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [names]
    if not all(isinstance(name, str) for name in listed):
        raise InputError(f"Give columns by their names, as a list of strings. Got {shown(names)}.")
    return listed


_NEED_NONE = ("intervals", "date", "quantiles")  # numbers and dates are published as any interval


def _proposed_hierarchy(column: Column) -> Mapping[str, Any] | None:
    """The hierarchy that `kohort init` suggests for codes, as the spec writes it; None for everything else.

    Numbers and dates lose least as intervals of any length. Groups of names that only the data suggests would
    mean nothing to a reader: names are published as they are or as `*`.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> _proposed_hierarchy(code_column("postcode", pa.array([f"43{n}" for n in range(10, 40)])))
    {'mask': 'right'}
    """
    found = suggest_hierarchy(column)
    if not isinstance(found, Mapping) or any(kind in found for kind in _NEED_NONE):
        return None
    return found

"""The part of a spec about a table of events beside that of people: its key, and its columns or its items."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kohort.errors import InputError

ITEMS = "items"  # what is in a file of nothing but baskets


def attributes_of(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns of both tables that have a role.

    A column of items among the events has the role items, and so have the items of a file of baskets.
    """
    events = spec.get("events") or {}
    found = {**spec.get("attributes", {}), **events.get("attributes", {})}
    if spec.get("items") is not None:
        found[ITEMS] = {"role": "items", **spec["items"]}
    if events.get("items") is not None:
        hierarchy = {"hierarchy": events["hierarchy"]} if events.get("hierarchy") is not None else {}
        found[events["items"]] = {"role": "items", **hierarchy}
    return found


def refuse_baskets(events: dict[str, Any]) -> None:
    """Refuse a file of nothing but baskets as a table of events."""
    if events["baskets"] is not None:
        raise InputError(
            "This file holds one basket per line and no columns, so nothing says whose events they are. "
            "Open a table with a column of the person."
        )


def keys_of(people: dict[str, Any], events: dict[str, Any]) -> list[str]:
    """The columns that both tables have: one of them is the key."""
    of_events = {column["name"] for column in events["columns"]}
    return [column["name"] for column in people["columns"] if column["name"] in of_events]


def with_events(spec: dict[str, Any], people: dict[str, Any], events: dict[str, Any]) -> dict[str, Any]:
    """The spec with a table of events; one that names events already, such as that of a project, stays."""
    shared = keys_of(people, events)
    if not shared:
        raise InputError(
            "The two tables have no column in common, so nothing says whose event it is. Give the column of "
            "the person the same name in both."
        )
    given = spec.get("events")
    if given is not None and given.get("key") in shared:
        return deepcopy(spec)
    return with_key(without_events(spec), shared[0], people, events)


def with_key(
    spec: dict[str, Any], key: str, people: dict[str, Any], events: dict[str, Any]
) -> dict[str, Any]:
    """The spec with events of this key; a column of theirs that has no role yet gets the suggested one."""
    others = [name for name in keys_of(people, events) if name != key]
    if others:
        raise InputError(
            f"{', '.join(map(repr, others))} is a column of both tables, and only the key may be: rename it "
            "in one of them, or leave it out there."
        )
    found = deepcopy(spec)
    before = found.get("events") or {}
    for name, entry in found["attributes"].items():
        if entry["role"] in ("person", "household"):
            found["attributes"][name] = {"role": "identifier"}
    found["attributes"].pop(key, None)
    found.pop("history", None)
    given = before.get("attributes") or {}
    columns = {
        name: given.get(name) or _suggested(entry)
        for name, entry in deepcopy(events["attributes"]).items()
        if name != key
    }
    orphans = {"orphans": before["orphans"]} if "orphans" in before else {}
    found["events"] = {"key": key, **orphans, "attributes": columns}
    return found


def _suggested(entry: dict[str, Any]) -> dict[str, Any]:
    """The suggested role of a column of events; whose event it is, the key says."""
    return entry if entry["role"] not in ("person", "household", "items") else {"role": "identifier"}


def without_events(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of the people alone; what was the key says whose record it is."""
    found = deepcopy(spec)
    events = found.pop("events", None)
    if events is not None:
        found.pop("history", None)
        found.pop("others", None)
        found["attributes"] = {events["key"]: {"role": "identifier"}, **found["attributes"]}
    return found


def _entries_of(spec: dict[str, Any], name: str) -> dict[str, Any]:
    """The mapping of the spec in which a column has its entry: that of the people, or of the events."""
    of_events = (spec.get("events") or {}).get("attributes", {})
    return of_events if name in of_events else spec["attributes"]


def set_hierarchy(spec: dict[str, Any], name: str, hierarchy: Any) -> None:
    """Give a column of either table, or items, a hierarchy; None: take it away."""
    events = spec.get("events") or {}
    if spec.get("items") is not None:
        entry = spec["items"]
    else:
        entry = events if events.get("items") == name else _entries_of(spec, name)[name]
    entry.pop("hierarchy", None)
    if hierarchy is not None:
        entry["hierarchy"] = hierarchy

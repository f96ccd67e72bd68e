"""A spec in the studio: as YAML text, as it is shown beside every step and exported, and edits of it.

The edits are about a table of events beside that of people: its key, and its columns or its items.
"""

from __future__ import annotations

from copy import deepcopy
from textwrap import indent
from typing import Any

from kohort.errors import InputError
from kohort.io.yaml_text import dumped, load_yaml, printable, spread

_FIRST = ("title", "owner")
_PROJECT = 1  # the version of project files


def spec_text(spec: dict[str, Any], *, data: str | None = None, lines_of_trees: int | None = None) -> str:
    """The spec as the command line reads it; `data` is the name of its table, for the first line.

    lines_of_trees  to be shown beside a page: the lines of a column after which its tree is cut
    """
    about = "A release spec, made with kohort studio"
    head = f"# {printable(about if data is None else f'{about}, for {data}')}\n"
    first = {key: spec[key] for key in _FIRST if spec.get(key) is not None}
    rest = {
        key: value for key, value in spec.items() if key not in (*_FIRST, "attributes") and value is not None
    }
    body = _attributes(spec.get("attributes", {}), lines_of_trees)
    items = rest.pop("items", None)
    if items is not None:
        tree_last = sorted(items, key=lambda key: key == "hierarchy")  # what comes after it could be cut
        body += _cut_items(_attribute("items", {key: items[key] for key in tree_last}), lines_of_trees)
    events = rest.pop("events", None)
    if events is not None:
        others = {key: value for key, value in events.items() if key != "attributes"}
        parts = _cut_items(spread(others), lines_of_trees) + _attributes(
            events.get("attributes", {}), lines_of_trees
        )
        body += f"events:\n{indent(parts, '  ')}"
    return head + (spread(first) if first else "") + body + (spread(rest) if rest else "")


def _attributes(entries: dict[str, Any], lines_of_trees: int | None) -> str:
    """The columns of a table, each cut where its tree is long."""
    columns = [_attribute(name, entry) for name, entry in entries.items()]
    text = "".join(columns if lines_of_trees is None else [_cut(c, lines_of_trees) for c in columns])
    return f"attributes:\n{indent(text, '  ')}" if text else ""


def _cut_items(text: str, lines_of_trees: int | None) -> str:
    """What is said of baskets or events besides their columns, cut where the tree of items is long."""
    return text if lines_of_trees is None else _cut(text, lines_of_trees)


def _attribute(name: str, entry: dict[str, Any]) -> str:
    """A column on one line, unless its hierarchy is written out."""
    hierarchy = entry.get("hierarchy")
    written_out = isinstance(hierarchy, dict) and ("tree" in hierarchy or "groups" in hierarchy)
    return spread({name: entry}) if written_out else dumped(name, entry)


def _cut(text: str, most: int) -> str:
    """A text without the lines that are too many, and how many these are."""
    lines = text.splitlines()
    if len(lines) <= most + 1:
        return text
    return "\n".join([*lines[:most], f"      # and {len(lines) - most} more lines in the file"]) + "\n"


def project_text(spec: dict[str, Any], data: dict[str, Any] | None) -> str:
    """A project: the choices so far and where the table is, without any record of it."""
    content: dict[str, Any] = {"kohort": "project", "version": _PROJECT}
    if data is not None:
        content["data"] = {key: value for key, value in data.items() if value is not None}
    return "# A project of kohort studio: choices, no records\n" + spread(content | {"spec": spec})


def read_project(text: str, *, name: str) -> dict[str, Any]:
    """The content of a project file, or of a bare spec; its spec is checked when its table is open."""
    content, _ = load_yaml(text, name=name)
    if isinstance(content, dict) and "kohort" not in content and "privacy" in content:
        return {"data": {}, "spec": content}
    if not isinstance(content, dict) or content.get("kohort") != "project":
        raise InputError(f"{name} is not a project of kohort studio.")
    if content.get("version") != _PROJECT:
        raise InputError(f"{name} is a project of another version of Kohort.")
    if not isinstance(content.get("spec"), dict) or not isinstance(content.get("data", {}), dict):
        raise InputError(f"{name} is damaged: it needs a spec, and data as a mapping.")
    return content


# -- a table of events beside that of people --------------------------------------------------------


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


def set_hierarchy(spec: dict[str, Any], name: str, hierarchy: Any) -> None:
    """Give a column of either table, or items, a hierarchy; None: take it away."""
    events = spec.get("events") or {}
    if spec.get("items") is not None:
        entry = spec["items"]
    elif events.get("items") == name:
        entry = events
    else:
        entry = {**spec["attributes"], **events.get("attributes", {})}[name]
    entry.pop("hierarchy", None)
    if hierarchy is not None:
        entry["hierarchy"] = hierarchy

"""A spec and a project as YAML text, as they are shown beside every step and exported."""

from __future__ import annotations

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

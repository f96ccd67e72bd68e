"""Edit a tree of values by hand: move, rename, merge, split, dissolve. Every edit gives a new tree.

A node is a mapping with its `label` and `children`; a leaf, which is a value, has none. Nodes are numbered
from the root, 0, downwards, each before its children.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from kohort.errors import InputError

Node = dict[str, Any]

_LONGEST_LABEL = 200


def numbered(root: Node) -> list[Node]:
    """All nodes in the order of their numbers.

    >>> [node["label"] for node in numbered({"label": "*", "children": [{"label": "a", "children": []}]})]
    ['*', 'a']
    """
    return list(_walk(root))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node["children"]:
        yield from _walk(child)


def edited(root: Node, what: str, nodes: Sequence[int], *, into: int = 0, label: str = "") -> Node:
    """The tree after an edit of these nodes; the tree that is given stays as it is.

    what   move (into a node), rename, merge (into one group), split (into a new group), dissolve (a group),
           or add (a value that is missing)
    """
    if what not in _EDITS:
        raise InputError("There is no such edit.")
    tree = deepcopy(root)
    every = numbered(tree)
    if any(not 0 <= number < len(every) for number in (*nodes, into)):
        raise InputError("The tree has changed since the page was shown. Look at it again.")
    groups = [node for node in every if node["children"]]
    _EDITS[what](tree, [every[number] for number in dict.fromkeys(nodes)], every[into], label.strip())
    while emptied := [node for node in groups if not node["children"]]:
        groups = [node for node in groups if node["children"]]
        for node in emptied:
            for above in list(_walk(tree)):
                _remove(above, node)
    if not tree["children"]:
        raise InputError("A tree needs at least one value.")
    return tree


def _move(tree: Node, nodes: list[Node], into: Node, label: str) -> None:
    if not into["children"]:
        raise InputError("Move it into a group: a value cannot hold others.")
    for node in nodes:
        if node is tree:
            raise InputError("The root stays where it is.")
        if any(inner is into for inner in _walk(node)):
            raise InputError("A group cannot be moved into itself.")
    for node in nodes:
        _remove(_parent(tree, node), node)
        into["children"].append(node)
    _refuse_doubles(into)


def _rename(tree: Node, nodes: list[Node], into: Node, label: str) -> None:
    [node] = _exactly_one(nodes)
    if not node["children"]:
        raise InputError("A value of the table keeps its name; only groups can be renamed.")
    node["label"] = _checked(label)
    if node is not tree:
        _refuse_doubles(_parent(tree, node))


def _merge(tree: Node, nodes: list[Node], into: Node, label: str) -> None:
    """Make one group of several groups: the first one gets the children of the others."""
    groups = [node for node in nodes if node["children"] and node is not tree]
    if len(groups) < 2 or len(groups) < len(nodes):
        raise InputError("Select two groups or more to merge them.")
    first, *others = groups
    for other in others:
        if any(inner is first for inner in _walk(other)) or any(inner is other for inner in _walk(first)):
            raise InputError("A group and one inside it cannot be merged: dissolve the inner one.")
    for other in others:
        _remove(_parent(tree, other), other)
        first["children"] += other["children"]
    if label:
        first["label"] = _checked(label)
    _refuse_doubles(first)
    _refuse_doubles(_parent(tree, first))


def _split(tree: Node, nodes: list[Node], into: Node, label: str) -> None:
    """Put some children of a node into a new group inside it."""
    if not nodes or any(node is tree for node in nodes):
        raise InputError("Select the values or groups that the new group is to hold.")
    parents = [_parent(tree, node) for node in nodes]
    if any(parent is not parents[0] for parent in parents):
        raise InputError("Select values or groups that stand side by side.")
    above = parents[0]
    if len(nodes) == len(above["children"]):
        raise InputError("Leave something outside the new group, or rename the group that is there.")
    place = next(i for i, child in enumerate(above["children"]) if child is nodes[0])
    above["children"].insert(place, {"label": _checked(label), "children": list(nodes)})
    for node in nodes:
        _remove(above, node)
    _refuse_doubles(above)


def _remove(above: Node, node: Node) -> None:
    """Remove this very node, not one that is like it."""
    above["children"] = [child for child in above["children"] if child is not node]


def _dissolve(tree: Node, nodes: list[Node], into: Node, label: str) -> None:
    """Take a group away; what it holds moves up to where it was."""
    [node] = _exactly_one(nodes)
    if not node["children"] or node is tree:
        raise InputError("Only a group can be dissolved, and not the root.")
    above = _parent(tree, node)
    place = next(i for i, child in enumerate(above["children"]) if child is node)
    above["children"][place : place + 1] = node["children"]
    _refuse_doubles(above)


def _add(tree: Node, nodes: list[Node], into: Node, label: str) -> None:
    """Add a value that the tree lacks."""
    if any(not node["children"] and node["label"] == label for node in _walk(tree)):
        raise InputError("This value is in the tree already.")
    if not into["children"]:
        raise InputError("Add it to a group.")
    into["children"].append({"label": _checked(label), "children": []})
    _refuse_doubles(into)


_EDITS = {
    "move": _move,
    "rename": _rename,
    "merge": _merge,
    "split": _split,
    "dissolve": _dissolve,
    "add": _add,
}


def _exactly_one(nodes: list[Node]) -> list[Node]:
    if len(nodes) != 1:
        raise InputError("Select one group.")
    return nodes


def _parent(tree: Node, node: Node) -> Node:
    return next(above for above in _walk(tree) if any(child is node for child in above["children"]))


def _checked(label: str) -> str:
    if not label or len(label) > _LONGEST_LABEL or not label.isprintable():
        raise InputError("Give the group a name, of printable characters and not too long.")
    return label


def _refuse_doubles(node: Node) -> None:
    labels = [child["label"] for child in node["children"]]
    if len(set(labels)) < len(labels):
        raise InputError("Two groups or values side by side would have the same name.")


def as_spec(root: Node) -> dict[str, Any]:
    """The tree as the value of `hierarchy:` in a spec."""
    return {"tree": {root["label"]: [_written(child) for child in root["children"]]}}


def _written(node: Node) -> Any:
    if not node["children"]:
        return node["label"]
    return {node["label"]: [_written(child) for child in node["children"]]}

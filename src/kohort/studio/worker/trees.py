"""Questions about hierarchies: the tree over a column's values with counts, and files of hierarchies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.build_hierarchy import FileSource, from_spec
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.io.hierarchies import HierarchyFile, read_hierarchy, write_hierarchy
from kohort.job.columns import DEFAULT_HIERARCHY, build_item_hierarchy
from kohort.studio.trees import Node, as_spec
from kohort.studio.worker.workplace import Items, Source, Workplace

MOST_LEAVES = 2_000  # of a tree that can be edited by hand
_SHOWN_CHILDREN = 20  # of a node, where a tree is too large to be shown whole
_SHOWN_MISSING = 100


def hierarchy(
    workplace: Workplace, *, source: Source, column: str, hierarchy: Any, items: Items | None = None
) -> dict[str, Any]:
    """The tree over a column's values that a `hierarchy:` of the spec describes, and what it lacks."""
    coded = workplace.column(source, column, items)
    tree = _built(workplace, source, column, hierarchy, items)
    if tree is None:
        values = [text for text in coded.texts if text is not None]
        return {"tree": None, "ordered": coded.ordered, "leaves": len(values), "missing": []}
    return {"ordered": coded.ordered, "leaves": len(tree.leaves), **_against(tree, coded)}


def _built(
    workplace: Workplace, source: Source, column: str, hierarchy: Any, items: Items | None
) -> Hierarchy | None:
    """The tree that a `hierarchy:` describes; None where a column without items is to have none."""
    builder = from_spec(hierarchy)
    if isinstance(builder, FileSource):
        raise InputError("A hierarchy file is imported in the studio, not named.")
    if items is not None:
        chosen: Builder = DEFAULT_HIERARCHY if builder is None else builder
        return build_item_hierarchy(chosen, workplace.baskets(source, column, items))
    return None if builder is None else builder.build(workplace.dataset(source).column(column))


def _against(tree: Hierarchy, column: Column) -> dict[str, Any]:
    """A tree with the records of every node, and the values of the column that it lacks."""
    records = dict(zip(column.texts, column.counts.tolist()))
    found = check(tree, column)
    editable = len(tree.leaves) <= MOST_LEAVES
    return {
        "tree": nested(tree, records, most_children=None if editable else _SHOWN_CHILDREN),
        "editable": editable,
        "height": tree.height,
        "unused": len(found.unused),
        "missing": [{"value": v, "records": records[v]} for v in found.missing[:_SHOWN_MISSING]],
        "missing_values": len(found.missing),
        "missing_records": found.missing_records,
    }


def nested(tree: Hierarchy, records: dict[str | None, int], *, most_children: int | None = None) -> Node:
    """The tree as nodes, with the `records` under each, and how many `more` children are not shown."""
    of_leaf = np.array([records.get(text, 0) for text in tree.leaves], dtype=np.int64)
    until = np.concatenate([[0], np.cumsum(of_leaf)])
    total = until[tree.hi + 1] - until[tree.lo]
    nodes: list[Node] = [
        {"label": label, "records": int(count), "children": []} for label, count in zip(tree.label, total)
    ]
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            above = nodes[parent]
            if most_children is None or len(above["children"]) < most_children:
                above["children"].append(nodes[node])
            else:
                above["more"] = above.get("more", 0) + 1
    return nodes[0]


def import_hierarchy(
    workplace: Workplace, *, source: Source, column: str, path: str, items: Items | None = None
) -> dict[str, Any]:
    """A hierarchy file as the value of `hierarchy:`, written out over the values of the column."""
    coded = workplace.column(source, column, items)
    return over(read_hierarchy(path), coded, column)


def over(file: HierarchyFile, column: Column, name: str) -> dict[str, Any]:
    """The tree of a file over the values of a column, written out as the value of `hierarchy:` in a spec."""
    file.findings.raise_if_broken(name)
    tree = file.over(column)
    assert tree is not None
    return as_spec(nested(tree, {}))


def export_hierarchy(
    workplace: Workplace,
    *,
    source: Source,
    column: str,
    hierarchy: Any,
    path: str,
    items: Items | None = None,
) -> None:
    """Write the hierarchy of a column to a file, one line per value."""
    tree = _built(workplace, source, column, hierarchy, items)
    if tree is None:
        raise InputError("This column has no hierarchy to export.")
    write_hierarchy(tree, Path(path))

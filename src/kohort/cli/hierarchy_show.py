"""kohort hierarchy show: a hierarchy drawn as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import ColumnReading, Printing, command
from kohort.cli.hierarchy_column import ColumnOption, DataOption, File, Headings, Kind, optional_column

if TYPE_CHECKING:
    import numpy as np

    from kohort.data.column import Column
    from kohort.data.hierarchy import Hierarchy


@command
def show(
    file: File,
    *,
    data: DataOption = None,
    column: ColumnOption = None,
    depth: Annotated[
        int | None, typer.Option(min=0, help="How many levels below the root to draw.", show_default="all")
    ] = None,
    children: Annotated[int, typer.Option(min=2, help="How many children of a node to draw at most.")] = 12,
    kind: Kind = "auto",
    header: Headings = False,
    reading: ColumnReading,
    printing: Printing,
) -> None:
    """Draw a hierarchy as a tree, with the leaves below each node and, given data, the records.

    Example: **kohort hierarchy show age.csv --data people.csv --column age --depth 2**
    """

    from kohort.data.draw_hierarchy import tree_lines
    from kohort.errors import InputError, counted
    from kohort.io.hierarchies import read_hierarchy

    output = printing.output()
    named = None if data is None else reading.source(data)
    coded = optional_column(output, named, column, reading.options())
    read = read_hierarchy(file, kind=kind, header=header)
    tree = read.hierarchy if coded is None else read.over(coded)
    if tree is None:
        raise InputError(f"{file} cannot be drawn.\n{read.findings.message()}")
    counts = None if coded is None else _records_per_leaf(tree, coded)
    output.result(_nodes(tree, counts, depth))
    output.console.soft_wrap = True  # a branch is not to be folded
    for line in tree_lines(tree, counts, max_children=children, max_depth=depth):
        output.say(line)
    if coded is not None and (missing := read.against(coded)).missing:
        output.note(
            f"{counted(len(missing.missing), 'value is', 'values are')} not in the hierarchy "
            f"({counted(missing.missing_records, 'record')}). "
            "See kohort hierarchy check."
        )


def _records_per_leaf(tree: Hierarchy, column: Column) -> np.ndarray:
    import numpy as np

    counts = np.zeros(len(tree.leaves), dtype=np.int64)
    for text, count in zip(column.texts, column.counts.tolist()):
        if text in tree.leaf_of:
            counts[tree.leaf_of[text]] = count
    return counts


def _nodes(tree: Hierarchy, counts: np.ndarray | None, max_depth: int | None) -> dict[str, Any]:
    """The tree for machines: its nodes in depth-first order, each with the number of its parent."""
    depths: list[int] = []
    nodes = []
    for node, (label, parent) in enumerate(zip(tree.label, tree.parent.tolist())):
        lo, hi = int(tree.lo[node]), int(tree.hi[node])
        depths.append(0 if parent < 0 else depths[parent] + 1)
        found = {"node": node, "label": label, "parent": parent, "depth": depths[node], "leaves": hi - lo + 1}
        if counts is not None:
            found["records"] = int(counts[lo : hi + 1].sum())
        if max_depth is None or depths[node] <= max_depth:
            nodes.append(found)
    return {"leaves": len(tree.leaves), "height": tree.height, "nodes": nodes}

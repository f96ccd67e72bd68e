"""kohort hierarchy: build the hierarchy of a column, draw one, check one against the data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from kohort.cli.commands import Build, Check, Show
from kohort.cli.console import Output
from kohort.cli.sources import command_to_copy, file_of, source_named
from kohort.data.column import Column
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.build_hierarchy import Auto, FileSource, from_spec
from kohort.data.hierarchies.checks import Findings
from kohort.data.hierarchies.checks import check as check_hierarchy
from kohort.data.hierarchy import Hierarchy, tree_lines
from kohort.errors import InputError, counted
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_data
from kohort.io.databases import DatabaseTable
from kohort.io.hierarchies import HierarchyFile, read_hierarchy, write_hierarchy
from kohort.io.tables import write_table
from kohort.tables.memory import MemoryTable

_WAYS = ("auto", "intervals", "quantiles", "mask", "code", "date", "order", "frequency", "flat")
_BESIDE = ("origin", "top", "bottom", "depth", "char", "fanout")


def build(asked: Build, output: Output) -> None:
    named, column, out = source_named(asked.data, asked), asked.column, asked.out
    outputs = Outputs([out], [] if asked.force else [out], reads=[file_of(named)])
    outputs.check()
    said = _said(asked)
    coded = _column(output, named, column, asked.reading)
    builder, why = _builder(said, coded)
    tree = builder.build(coded)
    check_hierarchy(tree, coded).raise_if_broken(column, expected=getattr(builder, "expected", None))
    with outputs.drafts() as draft_of:
        write_hierarchy(tree, draft_of[out])
    size = {"leaves": len(tree.leaves), "height": tree.height}
    said = {"file": str(out), "column": column, "hierarchy": builder.to_spec(), "why": why or None}
    output.result(said | size)
    leaves, height = counted(size["leaves"], "leaf", "leaves"), counted(size["height"], "level")
    lines = [
        *([why] if why else []),
        f"Written: {out}, {leaves} and {height} above them.",
        f"See it: {command_to_copy('hierarchy', 'show', out)}",
        f"Use it: write 'hierarchy: {out}' in the spec, if that is in the same folder.",
    ]
    output.say_whole("\n".join(lines))


def _said(asked: Build) -> dict[str, Any]:
    """How the hierarchy is built, as a spec writes it."""
    given = {name: getattr(asked, name) for name in (*_WAYS, *_BESIDE)}
    said: dict[str, Any] = {
        n: value for n, value in given.items() if value is not None and value is not False
    }
    for name in ("intervals", "origin", "top", "bottom", "fanout"):
        if name in said:
            parts = said[name].split(",") if name in ("intervals", "fanout") else [said[name]]
            numbers = [_number(f"--{name}", part) for part in parts]
            said[name] = numbers if len(numbers) > 1 else numbers[0]
    if "date" in said:
        said["date"] = _words(said["date"])
    if "," in said.get("order", ""):
        said["order"] = _words(said["order"])
    if "fanout" in said:
        said.setdefault("order", "natural")
    return said


def _number(option: str, text: str) -> int | float:
    """The number as it is written: 90 stays a whole number."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise InputError(f"{option} takes numbers. Got {text!r}.")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _builder(said: dict[str, Any], column: Column) -> tuple[Builder, str]:
    """The builder that the options describe; where the values decide, also why it was chosen."""
    ways = [way for way in _WAYS if way in said]
    if len(ways) > 1 or (said and not ways):
        got = ", ".join(f"--{name}" for name in ways or said)
        raise InputError(f"Choose one way to build the hierarchy: --{', --'.join(_WAYS)}. Got {got}.")
    described = from_spec(said or "auto")
    assert described is not None and not isinstance(described, FileSource)  # no option names a file
    if not isinstance(described, Auto):
        return described, ""
    return described.choose(column).builder, described.describe(column)


def _column(output: Output, data: Path | DatabaseTable, name: str, reading: dict[str, Any]) -> Column:
    """The column of a table; notes about reading it are shown."""
    source = read_data(data, **reading)
    output.notes(source)
    return MemoryTable(source.table).column(name)


# -- a hierarchy that there is ---------------------------------------------------------------------


def _source(asked: Check | Show) -> Path | DatabaseTable | None:
    """The table with the values, where there is one."""
    return source_named(asked.data, asked) if asked.data else None


def _read(asked: Check | Show, output: Output) -> tuple[Column | None, HierarchyFile]:
    """The column that the hierarchy is compared with, where one is named, and the file of the hierarchy."""
    named, column = _source(asked), None
    if (named is None) != (asked.column is None):
        raise InputError("--data and --column go together: give a table and the name of one of its columns.")
    if named is not None and asked.column is not None:
        column = _column(output, named, asked.column, asked.reading)
    return column, read_hierarchy(asked.file, kind=asked.kind, header=asked.header)


def check(asked: Check, output: Output) -> None:
    written = [asked.offending] if asked.offending else []
    outputs = Outputs(written, reads=[asked.file, file_of(_source(asked))])
    outputs.check()
    coded, read = _read(asked, output)
    findings = read.findings if coded is None else read.against(coded)
    with outputs.drafts() as draft_of:
        for path in written:
            _write_offending(findings, draft_of[path])
    given = asdict(findings).items()  # in counts: no label and no value
    counts = {name: len(found) if isinstance(found, tuple) else found for name, found in given}
    output.result({"in_order": not findings.errors, **counts, "message": _sentences(findings)})
    output.say_whole("\n".join(_sentences(findings)))
    for path in written:
        output.say_whole(f"The values that cause this are in {path}.")
    if findings.errors:
        raise typer.Exit(2)


def _sentences(findings: Findings) -> list[str]:
    verdict = f"The hierarchy {'cannot' if findings.errors else 'can'} be used as it is."
    return [verdict, *(line for line in findings.message().splitlines() if line != verdict)]


def _write_offending(findings: Findings, path: Path) -> None:
    rows = [(problem, value) for problem, values in findings.offending().items() for value in values]
    columns = {
        "problem": pa.array([problem for problem, _ in rows], pa.string()),
        "value": pa.array([value for _, value in rows], pa.string()),
    }
    write_table(pa.table(columns), path)


def show(asked: Show, output: Output) -> None:
    coded, read = _read(asked, output)
    tree = read.hierarchy if coded is None else read.over(coded)
    if tree is None:
        raise InputError(f"{asked.file} cannot be drawn.\n{read.findings.message()}")
    counts = None if coded is None else _records_per_leaf(tree, coded)
    output.result(_nodes(tree, counts, asked.depth))
    output.console.soft_wrap = True  # a branch is not to be folded
    output.say(*tree_lines(tree, counts, max_children=asked.children, max_depth=asked.depth))
    if coded is not None and (missing := read.against(coded)).missing:
        output.note(
            f"{counted(len(missing.missing), 'value is', 'values are')} not in the hierarchy "
            f"({counted(missing.missing_records, 'record')}). See kohort hierarchy check."
        )


def _records_per_leaf(tree: Hierarchy, column: Column) -> np.ndarray:
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

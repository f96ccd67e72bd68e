"""The records of a problem, and room to work in, in the layout that compiled code cuts them in."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.compact_rows import compact_rows
from kohort.algorithms.mondrian.kernels.cut_table import (
    CUT,
    MAX_BINS,
    SAMPLE,
    BestCuts,
    Bins,
    Children,
    CutTable,
    Edges,
    Marks,
    Moving,
    Pooling,
    Records,
    Rules,
    Sorting,
    Summary,
    Workspace,
)
from kohort.problem.encoding.layout import TREE, Tables
from kohort.problem.problem import Problem


def cut_table_of(problem: Problem, *, strict: bool, widest: bool) -> CutTable:
    """All records of a problem in the order in which they came, as one group. O(records * attributes)."""
    table = cut_table(compact_rows(problem), problem.coded.tables, Rules(problem.k, strict, widest))
    persons, masses = problem.units.persons.astype(np.int32), problem.masses.each.astype(np.float64)
    return table._replace(records=table.records._replace(persons=persons, masses=masses))


def cut_table(rows: np.ndarray, tables: Tables, rules: Rules) -> CutTable:
    """Rows as `compact_rows` gives them, which will be moved, as one group of records that weigh the same."""
    number = np.arange(len(rows), dtype=np.int32)
    records = Records(rows, rows.view(np.int64), number, np.zeros(0, dtype=np.int32), np.zeros(0))
    return CutTable(records, tables, children_of(tables), rules)


def _depths(tables: Tables) -> np.ndarray:
    """How many steps each node of a hierarchy is below its root."""
    depth = np.zeros(len(tables.parent), dtype=np.int64)
    above = tables.parent
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, tables.parent[above], -1)
    return depth


def children_of(tables: Tables) -> Children:
    """For each depth and leaf, the place among its siblings of the leaf's ancestor one step below.

    O(leaves * height).
    """
    depth = _depths(tables)
    ends = np.append(tables.leaf_start[1:], len(tables.leaf_node))
    found = [np.zeros(0, dtype=np.int32)]
    for kind, start, end in zip(tables.kind, tables.leaf_start, ends):
        node = tables.leaf_node[start:end]
        places = np.zeros((int(depth[node].max()) if kind == TREE else 0, len(node)), dtype=np.int32)
        below = np.flatnonzero(depth[node] > 0) if kind == TREE else node[:0]
        while len(below):
            at = node[below]
            places[depth[at] - 1, below] = tables.sibling[at]
            node = node.copy()
            node[below] = tables.parent[at]
            below = below[depth[node[below]] > 0]
        found.append(places.ravel())
    return Children(depth, np.cumsum([len(places) for places in found])[:-1], np.concatenate(found))


def new_workspace(table: CutTable, largest: int, n_cuts: int) -> Workspace:
    """Room to work on groups of up to `largest` records, of which the best `n_cuts` cuts are found."""
    records, tables = table.records, table.tables
    sample, width, n_words = min(largest, 2 * SAMPLE), records.rows.shape[1], int(tables.word_start[-1])
    n_leaves = int(np.diff(np.append(tables.leaf_start, len(tables.leaf_cost))).max())
    n_places = max(MAX_BINS, int(tables.n_children.max(initial=0))) + 2
    n_bins = max(MAX_BINS, min(n_places, 4 * sample + 64))

    def numbers(*shape: int) -> np.ndarray:
        return np.empty(shape, dtype=np.int64)

    def short(n: int) -> np.ndarray:
        return np.empty(n, dtype=np.int32)

    def leaves(*shape: int) -> np.ndarray:
        return np.empty(shape, dtype=records.rows.dtype)

    def words(*shape: int) -> np.ndarray:
        return np.empty((*shape, n_words), dtype=np.uint64)

    n_sorted = max(sample, n_places // 4)
    return Workspace(
        bins=Bins(
            of=short(sample),
            size=numbers(n_places),
            mass=np.empty(n_places),
            lo=leaves(n_bins, width),
            hi=leaves(n_bins, width),
            words=words(n_bins),
        ),
        side=Summary(leaves(width), leaves(width), words()),
        group=Summary(leaves(width), leaves(width), words()),
        pooling=Pooling(np.empty(n_places, dtype=bool), short(n_places), numbers(n_places)),
        edges=Edges(
            numbers(MAX_BINS), numbers(MAX_BINS), np.empty(MAX_BINS + 1), numbers(MAX_BINS), numbers(MAX_BINS)
        ),
        sorting=Sorting(
            short(sample), short(n_sorted), short(n_sorted), short(min(n_leaves, 4 * sample + 1))
        ),
        marks=_marks(records.persons, len(records.persons) and largest),
        moving=Moving(
            part=short(largest),
            size=numbers(n_places),
            place=numbers(n_places),
            room=numbers(largest),
        ),
        best=BestCuts(np.empty(n_cuts, dtype=CUT).view(np.recarray), np.empty(n_cuts)),
        stack=numbers(largest // (2 * table.rules.k) + 2, 2),
    )


def _marks(persons: np.ndarray, largest: int) -> Marks:
    notes = np.zeros((int(persons.max(initial=-1)) + 1, 2), dtype=np.int32)
    return Marks(notes, np.zeros(1, dtype=np.int32), np.empty(largest, dtype=np.int32))

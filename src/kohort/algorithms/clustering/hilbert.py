"""Hilbert: records in the order of the Hilbert curve, cut into the cheapest runs (Ghinita et al., 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.clustering.kernels.cluster_cells import RowCells
from kohort.algorithms.clustering.kernels.hilbert import cheapest_runs, hilbert_keys
from kohort.algorithms.clustering.row_cells import cluster_tables, rows_of
from kohort.algorithms.refusals import refuse_other_costs
from kohort.algorithms.run import Run
from kohort.data.hierarchy import Hierarchy
from kohort.parameters import Within
from kohort.problem.attribute import Attribute
from kohort.problem.counted_cells import groups_from_pieces
from kohort.problem.encoding.layout import Tables
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

Spacing = Literal["tree", "even"]
MAX_BITS = 31
BATCH = 50_000_000  # cells between two looks at the clock


@dataclass(frozen=True)
class Hilbert(Algorithm):
    """Order along the Hilbert curve, cut by dynamic programming (Ghinita, Karras, Kalnis, Mamoulis, 2007).

    Every record is a point with one coordinate per attribute: the place of its leaf in the order of the tree.
    The Hilbert curve visits all points and keeps near ones near, so that a problem in many dimensions becomes
    one-dimensional. There the best cut into runs of k to 2k - 1 records is found exactly.

    Attributes are rescaled to the same length, as Kenig and Tassa do (2012, section 7). With
    `spacing="even"` the leaves are evenly spaced on it. With `spacing="tree"` every node of a hierarchy gets
    an aligned power-of-two part of its parent's interval, so that the curve leaves a node only after all of
    it; columns without a hierarchy are spaced evenly. Attributes with few leaves come first.

    bits     bits per coordinate
    spacing  how leaves are spaced on an axis: tree, even

    O(n * k * attributes).

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 41, 22, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], algorithm=Hilbert(),
    ...     shuffle=False,
    ... )
    >>> release.table["age"].to_pylist()
    ['[21, 22]', '[41, 42]', '[21, 22]', '[41, 42]']
    """

    name: ClassVar[str] = "hilbert"
    summary: ClassVar[str] = (
        "orders the records along a Hilbert curve and cuts that order as well as possible; very fast"
    )
    paper: ClassVar[str] = (
        "Ghinita, Karras, Kalnis, Mamoulis: Fast data anonymization with low information loss, VLDB 2007"
    )
    promise: ClassVar[str] = "no bound on the loss; no other cut of its order loses less"
    recoding: ClassVar[type[Groups]] = Groups

    bits: Annotated[int, Within(1, MAX_BITS)] = 16
    spacing: Spacing = "tree"

    def refuse(self, problem: Problem) -> None:
        refuse_other_costs(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        tables = cluster_tables(problem)
        rows = rows_of(problem, tables)
        order = hilbert_order(problem, bits=self.bits, spacing=self.spacing)
        row_at = np.repeat(order, rows.copies[order])
        run_at, complete = cut_into_runs(rows, tables, row_at, problem.k, run)
        notes = (
            ()
            if complete
            else ("Stopped at the time limit: the remaining records were cut into groups of equal size.",)
        )
        return Groups(
            groups_from_pieces(problem.rows.of_record, row_at, np.ones_like(row_at), run_at), notes=notes
        )


def hilbert_order(problem: Problem, *, bits: int = 16, spacing: Spacing = "tree") -> np.ndarray:
    """The distinct rows in the order in which the curve visits them. O(rows * attributes * bits)."""
    leaves = problem.rows.leaves
    axes = [j for j in range(len(problem.attributes)) if problem.weights[j] > 0]
    axes.sort(key=lambda j: problem.attributes[j].n_leaves)
    points = np.empty((len(leaves), len(axes)), dtype=np.int64)
    for axis, j in enumerate(axes):
        points[:, axis] = _coordinates(problem.attributes[j], bits, spacing)[leaves[:, j]]
    keys = hilbert_keys(points, bits)
    return np.lexsort(keys.T[::-1])


def _coordinates(attribute: Attribute, bits: int, spacing: Spacing) -> np.ndarray:
    """The place of each leaf on an axis of length 2**bits."""
    if spacing == "tree" and isinstance(attribute.domain, Hierarchy):
        return _by_tree(attribute.domain, bits)
    return np.arange(attribute.n_leaves) * (2**bits - 1) // max(attribute.n_leaves - 1, 1)


def _by_tree(hierarchy: Hierarchy, bits: int) -> np.ndarray:
    """The place of each leaf: the numbers of its ancestors among their siblings, top first, bit by bit."""
    n_children = np.bincount(hierarchy.parent[1:], minlength=len(hierarchy.parent)).tolist()
    seen = [0] * len(n_children)
    code, free = [0] * len(n_children), [bits] * len(n_children)
    for node, parent in enumerate(hierarchy.parent.tolist()):
        if parent < 0:
            continue
        free[node] = free[parent] - (n_children[parent] - 1).bit_length()
        number, seen[parent] = seen[parent], seen[parent] + 1
        shifted = number << free[node] if free[node] >= 0 else number >> -free[node]
        code[node] = code[parent] + shifted if free[parent] > 0 else code[parent]
    return np.array(code, dtype=np.int64)[hierarchy.leaf_node]


def cut_into_runs(
    rows: RowCells, tables: Tables, row_at: np.ndarray, k: int, run: Run
) -> tuple[np.ndarray, bool]:
    """The run at each place of an order of rows in its cheapest cut into runs of k to 2k - 1 records.

    Also returns whether the cut is the cheapest: when the time is up, the rest is cut into runs of k.
    """
    n = len(row_at)
    best = np.zeros(n + 1)
    previous = np.full(n + 1, -1)
    batch = max(1, BATCH // (2 * k * len(rows.low)))
    done = 0
    while done < n and not (done and run.out_of_time):
        run.report("cutting the curve", done / n)
        stop = min(done + batch, n)
        cheapest_runs(rows, tables, row_at, k, best, previous, done + 1, stop + 1)
        done = stop
    run.report("cutting the curve", 1.0)
    starts = _starts(previous, k, n, done)
    run_at = np.zeros(n, dtype=np.int64)
    run_at[starts[1:]] = 1
    return np.cumsum(run_at), done == n


def _starts(previous: np.ndarray, k: int, n: int, done: int) -> np.ndarray:
    """The places where the runs begin, given the cheapest cut of the first `done` places."""
    end = n
    if done < n:
        possible = np.flatnonzero(previous[: min(done, n - k) + 1] >= 0)
        end = int(possible[-1]) if len(possible) else 0
    starts = list(range(end, n - k + 1, k)) if end < n else []
    while end > 0:
        end = int(previous[end])
        starts.append(end)
    return np.sort(np.array(starts))

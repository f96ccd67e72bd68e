"""Closed frequent generalized records (Kenig and Tassa, 2012, section 5): mined exactly, on distinct rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np

from kohort.algorithms.hierarchy_trees import hierarchies_of, lineages_of, node_starts
from kohort.algorithms.run import Run
from kohort.kernels.closed_records import Lineages, extend_closed, guess_closed, narrowings
from kohort.problem.problem import Problem

__all__ = ["ClosedRecords", "Table", "guess_number", "mine", "mine_closed_records"]

_PROBES = 25  # per way to narrow the most general record


@dataclass(frozen=True, eq=False)
class ClosedRecords:
    """The closed generalized records that at least k records support.

    nodes     records by attributes: a node of each attribute's hierarchy
    weight    per record: how many records of the table support it
    start     per record and one more: its support is rows[start[i]:start[i + 1]]
    rows      distinct rows; empty where supports were not kept
    complete  whether all were found before a limit was reached
    """

    nodes: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    complete: bool

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def has_supports(self) -> bool:
        return len(self.rows) > 0

    def support(self, number: int) -> np.ndarray:
        """The distinct rows of the problem that support a record."""
        return self.rows[self.start[number] : self.start[number + 1]]


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows to mine: all of a problem's, or a part."""

    lineages: Lineages
    node_start: np.ndarray  # per attribute: its first node among all
    counts: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Table:
        starts = node_starts(hierarchies_of(problem))
        return cls(lineages_of(problem), starts, problem.rows.counts.astype(np.int64))

    def part(self, rows: np.ndarray) -> Table:
        """Some of the rows."""
        lineages = self.lineages._replace(node=np.ascontiguousarray(self.lineages.node[:, rows]))
        return Table(lineages, self.node_start, self.counts[rows])

    def nodes_at(self, attribute: int, depth: int) -> np.ndarray | None:
        """Per row its node of an attribute at some depth, or None where no hierarchy goes so deep."""
        level = self.lineages.level[attribute] + depth
        return self.lineages.node[level] if level < self.lineages.level[attribute + 1] else None

    def closure(self) -> np.ndarray:
        """The lowest node per attribute that covers all rows."""
        nodes = np.empty(len(self.node_start), dtype=np.int64)
        for j in range(len(nodes)):
            depth = 0
            below = self.nodes_at(j, depth)
            while below is not None and below[0] >= 0 and (below == below[0]).all():
                nodes[j] = below[0]
                depth += 1
                below = self.nodes_at(j, depth)
        return nodes


def mine_closed_records(problem: Problem, *, k: int | None = None, run: Run | None = None) -> ClosedRecords:
    """All closed generalized records with a support of at least k records (default: the problem's k).

    Time O(rows in the support * attributes) per record found, on all cores.
    """
    return mine(Table.of(problem), problem.k if k is None else k, run=run or Run())


def mine(
    table: Table, k: int, *, max_records: int = 2**62, max_support_rows: int = 2**62, run: Run
) -> ClosedRecords:
    """The same for a table. Stops, incomplete, at about `max_records` records in any way to narrow the most
    general one; keeps no supports if they would hold more than `max_support_rows` rows in all."""
    root = table.closure()
    tasks = narrowings(table.lineages, table.counts, k, root)
    budget = _Budget(max_records, max_support_rows)

    def work(task: np.ndarray) -> tuple:
        if not budget.records_left:
            return (*_nothing(len(root)), False)
        mined = extend_closed(
            table.lineages,
            table.counts,
            k,
            root,
            task[0],
            task[1],
            budget.records_left,
            budget.rows_left,
        )
        budget.take(mined)
        return mined

    found: list[tuple] = [_root_only(root, table.counts)]
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        for number, mined in enumerate(pool.map(work, tasks)):
            run.report("mining closed records", (number + 1) / len(tasks))
            found.append(mined)
    return _joined(found, table.node_start, with_supports=budget.rows_left > 0)


def guess_number(table: Table, k: int, *, seed: int) -> float:
    """About how many closed records there are, in a second or so, without finding them."""
    root = table.closure()
    tasks = narrowings(table.lineages, table.counts, k, root)

    def guess(task: np.ndarray) -> float:
        return guess_closed(table.lineages, table.counts, k, root, task[0], task[1], _PROBES, seed)

    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        return 1 + sum(pool.map(guess, tasks))


class _Budget:
    """What may still be found and kept. Threads only count it down, so they need no lock."""

    def __init__(self, records: int, rows: int) -> None:
        self.records_left = records
        self.rows_left = rows

    def take(self, mined: tuple) -> None:
        _, weight, _, rows, complete = mined
        self.records_left = max(self.records_left - len(weight), 0) if complete else 0
        dropped = len(weight) > 0 and len(rows) == 0
        self.rows_left = 0 if dropped else max(self.rows_left - len(rows), 0)


def _nothing(r: int) -> tuple:
    rows = np.zeros(0, dtype=np.int32)
    return np.zeros((0, r), dtype=np.int32), np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), rows


def _root_only(root: np.ndarray, counts: np.ndarray) -> tuple:
    rows = np.arange(len(counts), dtype=np.int32)
    return root[None, :].astype(np.int32), counts.sum(keepdims=True), np.array([0, len(rows)]), rows, True


def _joined(found: list[tuple], node_start: np.ndarray, *, with_supports: bool) -> ClosedRecords:
    nodes = np.concatenate([part[0] for part in found])
    nodes -= node_start.astype(np.int32)
    weight = np.concatenate([part[1] for part in found])
    complete = all(part[4] for part in found)
    if not with_supports:
        start, rows = _nothing(1)[2:]
        return ClosedRecords(nodes, weight, start, rows, complete)
    offsets = np.cumsum([0, *(len(part[3]) for part in found)])
    start = np.concatenate([*(part[2][:-1] + offset for part, offset in zip(found, offsets)), offsets[-1:]])
    rows = np.empty(offsets[-1], dtype=np.int32)
    while found:  # a part is freed as soon as it is copied: supports are most of the memory
        part = found.pop()
        rows[offsets[len(found)] : offsets[len(found) + 1]] = part[3]
    return ClosedRecords(nodes, weight, start, rows, complete)

"""Closed frequent generalized records (Kenig and Tassa, 2012, section 5): mined exactly, on distinct rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.mining.kernels.closed_records import MiningTask, extend_closed, narrow, narrowings
from kohort.algorithms.run import Run
from kohort.data.hierarchy import Hierarchy
from kohort.kernels.threads import thread_count
from kohort.problem.encoding.layout import Lineages
from kohort.problem.problem import Problem

_SECONDS_AT_A_TIME = 0.1  # between two looks at the clock
_RUNG, _ENOUGH = 1.5, 30_000  # to guess their number: k is divided by 1.5 until 30,000 are found
_LEAST_SAMPLED = 5  # records of a sample that a closed record must have to be counted
_FLATTENING = 1.4  # their growth falls in proportion to this power of log k, as observed on Adult


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

    def subset(self, kept: np.ndarray) -> ClosedRecords:
        """Those of the records that are `kept`, with their supports."""
        length = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(length[kept])])
        rows = self.rows[np.repeat(kept, length)]
        return ClosedRecords(self.nodes[kept], self.weight[kept], start, rows, complete=False)


@dataclass(frozen=True, eq=False)
class MinedRows:
    """Distinct rows to mine: all rows of a problem, or a part of them."""

    lineages: Lineages
    node_start: np.ndarray  # per attribute: its first node among all
    counts: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> MinedRows:
        coded = problem.coded
        return cls(coded.lineages, coded.node_start, coded.rows.counts.astype(np.int64))

    def part(self, rows: np.ndarray) -> MinedRows:
        """The table with only the given rows."""
        lineages = self.lineages._replace(node=np.ascontiguousarray(self.lineages.node[:, rows]))
        return MinedRows(lineages, self.node_start, self.counts[rows])

    def nodes_at(self, attribute: int, depth: int) -> np.ndarray | None:
        """The node of each row at a depth of an attribute's hierarchy, or None if that is not as deep."""
        level = self.lineages.level[attribute] + depth
        return self.lineages.node[level] if level < self.lineages.level[attribute + 1] else None

    def closure(self) -> np.ndarray:
        """The lowest node of each attribute that covers all rows."""
        nodes = np.empty(len(self.node_start), dtype=np.int64)
        for j in range(len(nodes)):
            depth = 0
            below = self.nodes_at(j, depth)
            while below is not None and below[0] >= 0 and (below == below[0]).all():
                nodes[j] = below[0]
                depth += 1
                below = self.nodes_at(j, depth)
        return nodes


def can_mine(problem: Problem) -> bool:
    """Whether groups are published as nodes of hierarchies, so that closed records can be mined."""
    return not problem.tight and all(isinstance(a.domain, Hierarchy) for a in problem.attributes)


def record_costs(problem: Problem, closed: ClosedRecords) -> np.ndarray:
    """The cost of one record published as each closed record."""
    return costs_of_nodes(problem, closed.nodes)


def costs_of_nodes(problem: Problem, nodes: np.ndarray) -> np.ndarray:
    """The cost of one record published as the nodes of each row."""
    total = np.zeros(len(nodes))
    for cost, node in zip(problem.coded.node_costs, nodes.T):
        total += cost[node]
    return total


def mine_closed_records(problem: Problem, *, k: int | None = None, run: Run | None = None) -> ClosedRecords:
    """All closed generalized records with a support of at least k records (default: the problem's k).

    Time O(rows in the support * attributes) per record found, on all cores.
    """
    return mine(MinedRows.of(problem), problem.k if k is None else k, run=run or Run())


def mine(
    table: MinedRows,
    k: int,
    *,
    max_records: int = 2**62,
    max_support_rows: int = 2**62,
    wanted: Callable[[np.ndarray], np.ndarray] | None = None,
    run: Run,
) -> ClosedRecords:
    """All closed generalized records of a table with a support of at least k records.

    Stops, incomplete, at about `max_records` records or when the time is up; keeps no supports if they would
    hold more than `max_support_rows` rows in all.

    wanted  tells which of some records are kept, given by their nodes; None: all. Those left out take no
            memory for long
    """
    found, tasks = _first_records(table, k)
    found = [_wanted_only(part, wanted, table.node_start) for part in found]
    budget = _Budget(max_records - len(found), max_support_rows)
    if budget.records_left < 0:
        found.append((*_nothing(len(table.node_start)), False))

    def work(task: MiningTask) -> tuple:
        if budget.records_left <= 0 or mining.out_of_time:
            return (*_nothing(len(task.above)), False)
        most = budget.most()
        mined = extend_closed(table.lineages, table.counts, k, task, most, budget.rows_left)
        mined = _wanted_only(mined, wanted, table.node_start)
        budget.take(mined)
        return mined

    with ThreadPoolExecutor(thread_count()) as pool, run.until_failure() as mining:
        doing = [pool.submit(work, task) for task in tasks]
        for number, task in enumerate(doing):
            _wait_for(task, budget, mining)
            run.report("mining closed records", (number + 1) / len(tasks))
            found.append(task.result())
    return _joined(found, table.node_start, with_supports=budget.rows_left > 0)


def _wanted_only(
    mined: tuple, wanted: Callable[[np.ndarray], np.ndarray] | None, node_start: np.ndarray
) -> tuple:
    """The records of a task that are wanted."""
    if wanted is None:
        return mined
    nodes, weight, start, rows, complete = mined
    kept, length = wanted(nodes - node_start.astype(np.int32)), np.diff(start)
    rows = rows[np.repeat(kept, length)] if len(rows) else rows
    return nodes[kept], weight[kept], np.concatenate([[0], np.cumsum(length[kept])]), rows, complete


def _wait_for(task: Future, budget: _Budget, run: Run) -> None:
    """Wait for a task, and end all of them when the time is up or the wait is interrupted."""
    try:
        while not wait([task], _SECONDS_AT_A_TIME).done:
            if run.out_of_time:
                budget.stop()
    except BaseException:
        budget.stop()
        raise


def _first_records(table: MinedRows, k: int) -> tuple[list[tuple], list[MiningTask]]:
    """The most general record and those next to it, and enough tasks for many cores to find all others."""
    rows = np.arange(len(table.counts), dtype=np.int32)
    root = table.closure().astype(np.int32)
    found, tasks = [_found(root, rows, table.counts)], []
    for attribute, child in narrowings(table.lineages, table.counts, k, root, 0, rows):
        inside = rows[table.nodes_at(attribute, table.lineages.depth[child]) == child]
        record = np.empty_like(root)
        if not narrow(table.lineages, inside, 0, len(inside), root, attribute, record):
            continue
        found.append(_found(record, inside, table.counts))
        below = narrowings(table.lineages, table.counts, k, record, attribute, inside)
        tasks += [MiningTask(record, inside, int(step[0]), int(step[1])) for step in below]
    return found, tasks


def guess_number(table: MinedRows, k: int, *, run: Run, copies: float = 1.0) -> float:
    """An estimate of the number of closed records, mostly within a factor of two, in a few seconds.

    copies  how many records each one stands for, where the table is a sample: k is that of the whole table

    Mines those with large supports first, then with smaller ones, until there are some ten thousand. From
    there, their number is assumed to grow by a power of 1 / k that falls with k as it does on real tables.
    A far extrapolation shows no more than that there are many.
    """
    frequent = int(table.counts.sum() * copies)
    sizes: list[tuple[float, float]] = []
    while not sizes or sizes[-1][1] < math.log(_ENOUGH / 3):
        frequent = max(k, int(frequent / _RUNG))
        if copies > 1 and frequent < _LEAST_SAMPLED * copies:
            break
        mined = mine(table, math.ceil(frequent / copies), max_records=_ENOUGH, max_support_rows=0, run=run)
        if not mined.complete:
            break
        if frequent == k:
            return len(mined)
        sizes.append((math.log(frequent), math.log(len(mined))))
    if len(sizes) < 2:
        return math.inf
    (x0, y0), (x1, y1) = sizes[-2:]
    z0, z1, z = (x ** (1 + _FLATTENING) for x in (x0, x1, math.log(k)))
    return math.exp(min(y1 + (y1 - y0) * (z1 - z) / (z0 - z1), 700.0))


class _Budget:
    """How many records may still be found, and rows kept. Threads only count down, so they need no lock."""

    def __init__(self, records: int, rows: int) -> None:
        self.records_left = records
        self.rows_left = rows
        self._most: list[np.ndarray] = []

    def most(self) -> np.ndarray:
        """How many records a task may find, in an array so that it can be lowered while the task runs."""
        self._most.append(np.array([self.records_left], dtype=np.int64))
        return self._most[-1]

    def stop(self) -> None:
        """End all tasks: the time is up."""
        self.records_left = 0
        for most in self._most:
            most[0] = 0

    def take(self, mined: tuple) -> None:
        _, weight, _, rows, complete = mined
        self.records_left = max(self.records_left - len(weight), 0) if complete else 0
        dropped = len(weight) > 0 and len(rows) == 0
        self.rows_left = 0 if dropped else max(self.rows_left - len(rows), 0)


def _nothing(r: int) -> tuple:
    rows = np.zeros(0, dtype=np.int32)
    return np.zeros((0, r), dtype=np.int32), np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), rows


def _found(record: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> tuple:
    return record[None, :], counts[rows].sum(keepdims=True), np.array([0, len(rows)]), rows, True


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

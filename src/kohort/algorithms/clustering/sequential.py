"""Sequential clustering: records move between clusters while the cost falls (Goldberger and Tassa, 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.clustering.agglomerative import STOPPED, join_clusters
from kohort.algorithms.clustering.hilbert import hilbert_order
from kohort.algorithms.clustering.kernels.cluster_cells import RowCells
from kohort.algorithms.clustering.kernels.sequential import (
    Partition,
    Scan,
    cut_in_two,
    fill_partition,
    move_rows,
)
from kohort.algorithms.clustering.row_cells import cluster_tables, rows_of
from kohort.algorithms.refusals import refuse_other_costs
from kohort.algorithms.run import Run
from kohort.parameters import Within
from kohort.problem.counted_cells import groups_from_pieces
from kohort.problem.encoding.layout import Tables
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

BATCH = 200_000_000  # cells between two looks at the clock


@dataclass(frozen=True)
class Sequential(Algorithm):
    """Sequential clustering of efficient anonymizations with enhanced utility (Goldberger and Tassa, 2010).

    Starts with clusters of about alpha * k records. In every pass each record, in random order, moves to the
    cluster where the total cost falls most, if it falls; a record that is alone moves in any case, which
    dissolves its cluster. Then clusters of more than omega * k records are split at random into halves. When
    nothing moves any more, clusters of fewer than k records are joined, the nearest two first, and records
    left over join the groups where they add the least cost.

    Equal records move together; rows with k copies or more are groups from the beginning. Not in the paper:
    `polish`, `scan` and `start="hilbert"`.

    start   hilbert: neighbours along the Hilbert curve; random, as in the paper: where attributes have few
            values, random clusters may cover everything, so that no single move helps and nothing moves
    alpha   how many times k records the first clusters hold
    omega   clusters of more than omega * k records are split
    passes  the most passes over all records, before the clusters are joined and again when they are polished
    scan    a record tries all clusters if there are no more than this; else it tries those that hold its 32
            neighbours along the Hilbert curve, and this many others, numbered on from a random one
    polish  whether groups of 2k records or more are cut along the Hilbert curve at the end, where that costs
            least, and records move once more, as long as every group keeps k

    O(rows * min(clusters, scan) * attributes) per pass.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 41, 22, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], algorithm=Sequential(),
    ...     shuffle=False,
    ... )
    >>> release.table["age"].to_pylist()
    ['[21, 22]', '[41, 42]', '[21, 22]', '[41, 42]']
    """

    name: ClassVar[str] = "sequential"
    summary: ClassVar[str] = "moves records between clusters while the cost falls; low loss in seconds"
    paper: ClassVar[str] = (
        "Goldberger, Tassa: Efficient anonymizations with enhanced utility, Trans. Data Privacy 3 (2010)"
    )
    promise: ClassVar[str] = "no bound on the loss"
    recoding: ClassVar[type[Groups]] = Groups

    start: Literal["random", "hilbert"] = "hilbert"
    alpha: Annotated[float, Within(above=0, most=1)] = 0.2
    omega: Annotated[float, Within(1)] = 1.5
    passes: Annotated[int, Within(1, 1_000_000_000)] = 8
    scan: Annotated[int, Within(1, 1_000_000_000)] = 32_768
    polish: bool = False

    def refuse(self, problem: Problem) -> None:
        refuse_other_costs(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        tables = cluster_tables(problem)
        rows = rows_of(problem, tables)
        moving = _Moving(problem, rows, tables, self, run)
        pieces = join_clusters(
            problem, rows, tables, moving.clusters(), distance="added", shed=False, run=run
        )
        if not pieces.complete:
            return Groups(
                groups_from_pieces(problem.rows.of_record, pieces.row, pieces.copies, pieces.group),
                notes=(STOPPED,),
            )
        groups = moving.polished(pieces.group) if self.polish else pieces.group
        return Groups(groups[problem.rows.of_record].astype(np.int32), notes=moving.notes)


class _Moving:
    """The state of a run: rows with their cells and costs, the order of the curve, and the options."""

    def __init__(
        self, problem: Problem, rows: RowCells, tables: Tables, options: Sequential, run: Run
    ) -> None:
        self.k, self.monotone = problem.k, problem.cost.monotone
        self.rows, self.tables, self.options, self.run = rows, tables, options, run
        self.rng = np.random.default_rng(problem.seed)
        self.row_at = hilbert_order(problem)
        self.place = np.argsort(self.row_at)
        self.few = np.flatnonzero(rows.copies < self.k)  # the others are groups of their own
        self.notes: tuple[str, ...] = ()

    def clusters(self) -> np.ndarray:
        """The cluster of each row when nothing moves any more, or the passes or the time run out."""
        cluster_of_row = self._first_clusters()
        for number in range(self.options.passes):
            self.run.report("moving records", number / self.options.passes)
            partition = self._partition(cluster_of_row)
            moved = self._pass(partition, self.few, keep=0)
            cluster_of_row, n_split = self._split(_dense(partition.cluster))
            if self.run.out_of_time or not (moved or n_split):
                break
        self.run.report("moving records", 1.0)
        alone = cluster_of_row < 0
        cluster_of_row[alone] = cluster_of_row.max(initial=-1) + 1 + np.arange(alone.sum())
        return cluster_of_row

    def polished(self, group_of_row: np.ndarray) -> np.ndarray:
        """The group of each row after cuts and moves that keep k records in each and never raise the cost."""
        every_row = np.arange(len(group_of_row))
        for number in range(self.options.passes):
            self.run.report("polishing", number / self.options.passes)
            if self.run.out_of_time:
                break
            smaller, n_cut = self._cut(group_of_row)
            partition = self._partition(smaller)
            moved = self._pass(partition, every_row, keep=self.k)
            group_of_row = _dense(partition.cluster)
            if not (moved or n_cut):
                break
        self.run.report("polishing", 1.0)
        return group_of_row

    def _cut(self, group_of_row: np.ndarray) -> tuple[np.ndarray, int]:
        """Cut groups of 2k records or more along the curve until none can be cut.

        Returns the group of each row, and by how much the number of groups grew.
        """
        n_before, n_groups = -1, int(group_of_row.max()) + 1
        n_first = n_groups
        while n_groups > n_before:
            in_order = self.row_at[np.argsort(group_of_row[self.row_at], kind="stable")]
            group_of_row = cut_in_two(self.rows, self.tables, group_of_row, in_order, self.k)
            n_before, n_groups = n_groups, int(group_of_row.max()) + 1
        return group_of_row, n_groups - n_first

    def _first_clusters(self) -> np.ndarray:
        """The first cluster of each row: rows of fewer than k copies in clusters of equal size, others -1."""
        copies = self.rows.copies
        in_order = self.rng.permutation(self.few)
        if self.options.start == "hilbert":
            in_order = self.row_at[copies[self.row_at] < self.k]
        n_records = int(copies[in_order].sum())
        n_clusters = max(1, int(n_records / max(1.0, self.options.alpha * self.k)))
        before = np.cumsum(copies[in_order]) - copies[in_order]
        cluster_of_row = np.full(len(copies), -1)
        cluster_of_row[in_order] = before * n_clusters // max(n_records, 1)
        return _dense(cluster_of_row)

    def _partition(self, cluster_of_row: np.ndarray) -> Partition:
        r, n_rows, n = len(self.rows.low), len(cluster_of_row), int(cluster_of_row.max()) + 1
        partition = Partition(
            low=np.zeros((r, n), dtype=np.int32),
            high=np.zeros((r, n), dtype=np.int32),
            size=np.zeros(n, dtype=np.int64),
            cost=np.zeros(n),
            first=np.zeros(n, dtype=np.int64),
            cluster=cluster_of_row.astype(np.int64),
            next=np.zeros(n_rows, dtype=np.int64),
            previous=np.zeros(n_rows, dtype=np.int64),
        )
        fill_partition(partition, self.rows, self.tables)
        return partition

    def _pass(self, partition: Partition, members: np.ndarray, *, keep: int) -> int:
        """Let each row move once, in random order, unless the time runs out; return how many moved."""
        n_clusters, scan = len(partition.size), self.options.scan
        order = self.rng.permutation(members)
        windows = np.zeros(len(order), dtype=np.int64)
        if n_clusters > scan:
            windows = self.rng.integers(n_clusters, size=len(order))
            self.notes = (
                f"Each record was tried in {scan:,} clusters and in those of its neighbours, not in all "
                "clusters (see 'scan').",
            )
        batch = max(1, BATCH // (max(1, min(n_clusters, scan)) * len(self.rows.low)))
        moved = 0
        for start in range(0, len(order), batch):
            some = slice(start, start + batch)
            trying = Scan(scan, windows[some], self.row_at, self.place)
            moved += move_rows(partition, self.rows, self.tables, order[some], trying, keep, self.monotone)
            if self.run.out_of_time:
                break
        return moved

    def _split(self, cluster_of_row: np.ndarray) -> tuple[np.ndarray, int]:
        """Split clusters of more than omega * k records into two random halves each.

        Returns the cluster of each row, and how many clusters were split.
        """
        in_order = self.rng.permutation(self.few)
        in_order = in_order[np.argsort(cluster_of_row[in_order], kind="stable")]
        cluster, copies = cluster_of_row[in_order], self.rows.copies[in_order]
        size = np.bincount(cluster, weights=copies)
        before = np.cumsum(copies) - copies
        middle = before - before[np.searchsorted(cluster, cluster)] + copies / 2
        large = size[cluster] > self.options.omega * self.k
        second = large & (middle > size[cluster] / 2)
        halves = cluster_of_row.copy()
        halves[in_order[second]] += len(size)
        return _dense(halves), len(np.unique(cluster[large]))


def _dense(cluster_of_row: np.ndarray) -> np.ndarray:
    """The clusters renumbered from 0 without gaps; -1 stays."""
    member = cluster_of_row >= 0
    numbers = np.full(len(cluster_of_row), -1)
    numbers[member] = np.unique(cluster_of_row[member], return_inverse=True)[1]
    return numbers

"""Agglomerative: the nearest clusters are joined until all have k records (Gionis, Mazza and Tassa, 2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.clustering.hilbert import cut_into_runs, hilbert_order
from kohort.algorithms.clustering.kernels.agglomerative import (
    ADDED,
    LOG,
    PLAIN,
    RATIO,
    find_nearest,
    join_leftovers,
    join_nearest,
)
from kohort.algorithms.clustering.kernels.cluster_cells import RowCells
from kohort.algorithms.clustering.kernels.growing_clusters import COUNTS, GrowingClusters, fill_clusters
from kohort.algorithms.clustering.row_cells import cluster_tables, rows_of
from kohort.algorithms.refusals import refuse_other_costs
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.problem.counted_cells import groups_from_pieces
from kohort.problem.encoding.layout import Tables
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

Distance = Literal["log", "added", "plain", "ratio"]
KINDS: dict[Distance, int] = {"log": LOG, "added": ADDED, "plain": PLAIN, "ratio": RATIO}
BATCH = 200_000_000  # cells between two looks at the clock
STOPPED = "Stopped at the time limit: clusters that were still too small were cut from the Hilbert curve."


@dataclass(frozen=True)
class Agglomerative(Algorithm):
    """The modified agglomerative algorithm of k-anonymization revisited (Gionis, Mazza and Tassa, 2008).

    Starts with every distinct row as a cluster of its own (equal records are together from the beginning)
    and repeatedly joins the two nearest clusters. A cluster of k records is finished. One that has more
    sheds the records whose absence lowers its cost most, until it has k; they start again as clusters of
    their own. Rows with k copies or more are finished at once. Records left over at the end join the groups
    where they add the least cost.

    distance  between clusters A and B, with d(A) the cost of a record published as the closure of A:
              log    (d(A + B) - d(A) - d(B)) / log |A + B|
              plain   d(A + B) - d(A) - d(B)
              added   |A + B| d(A + B) - |A| d(A) - |B| d(B), the cost that joining adds
              ratio   d(A + B) / (d(A) + d(B) + 0.1)
    shed      whether clusters of more than k records shed the surplus

    Each cluster remembers its nearest one, so there is no matrix: memory is linear in the rows, and time is
    O(rows^2 * attributes) in practice.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 41, 22, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], algorithm=Agglomerative(),
    ...     shuffle=False,
    ... )
    >>> release.table["age"].to_pylist()
    ['[21, 22]', '[41, 42]', '[21, 22]', '[41, 42]']
    """

    name: ClassVar[str] = "agglomerative"
    summary: ClassVar[str] = "joins the nearest clusters until each has k records; quadratic in the rows"
    paper: ClassVar[str] = "Gionis, Mazza, Tassa: k-anonymization revisited, ICDE 2008"
    promise: ClassVar[str] = "no bound on the loss"
    recoding: ClassVar[type[Groups]] = Groups

    distance: Distance = "log"
    shed: bool = True

    def refuse(self, problem: Problem) -> None:
        refuse_other_costs(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        tables = cluster_tables(problem)
        rows = rows_of(problem, tables)
        every_row = np.arange(len(rows.copies))
        pieces = join_clusters(
            problem, rows, tables, every_row, distance=self.distance, shed=self.shed, run=run
        )
        notes = () if pieces.complete else (STOPPED,)
        return Groups(
            groups_from_pieces(problem.rows.of_record, pieces.row, pieces.copies, pieces.group), notes=notes
        )


class ClusterPieces(NamedTuple):
    """Pieces of groups: how many copies of which row are in which group.

    complete  whether the search ended before the time limit
    """

    row: np.ndarray
    copies: np.ndarray
    group: np.ndarray
    complete: bool


def join_clusters(
    problem: Problem,
    rows: RowCells,
    tables: Tables,
    cluster_of_row: np.ndarray,
    *,
    distance: Distance,
    shed: bool,
    run: Run,
) -> ClusterPieces:
    """Join clusters of fewer than k records until there are none left.

    cluster_of_row  the cluster that each row starts in, numbered from 0
    """
    clusters = _allocate(rows, cluster_of_row, problem.k, shed)
    fill_clusters(clusters, rows, tables, cluster_of_row, problem.k)
    logs = np.array([math.log(max(size, 2)) for size in range(2 * problem.k)])
    complete = _find_nearest(clusters, tables, KINDS[distance], logs, run)
    if complete:
        complete = _join(clusters, rows, tables, KINDS[distance], logs, problem.k, shed, run)
    n = int(clusters.counts[0].n_pieces)
    pieces = ClusterPieces(clusters.row[:n], clusters.copies[:n], clusters.group[:n], complete)
    if not complete:
        pieces = _cut_from_curve(problem, rows, tables, pieces, run)
    join_leftovers(rows, tables, pieces.row, pieces.copies, pieces.group)
    return pieces


def _allocate(rows: RowCells, cluster_of_row: np.ndarray, k: int, shed: bool) -> GrowingClusters:
    """Empty arrays large enough for all clusters and pieces: with shedding, as many as records are open."""
    size = np.bincount(cluster_of_row, weights=rows.copies)
    most = int(size[size < k].sum()) if shed else int((size < k).sum())
    room = most + most // 7 + 2 * k + 8  # holes are closed when they make up an eighth
    n_pieces = len(rows.copies) + (most if shed else 0)
    r = len(rows.low)
    return GrowingClusters(
        low=np.zeros((r, room), dtype=np.int32),
        high=np.zeros((r, room), dtype=np.int32),
        size=np.zeros(room, dtype=np.int64),
        cost=np.zeros(room),
        nearest=np.zeros(room, dtype=np.int64),
        distance=np.zeros(room),
        first=np.zeros(room, dtype=np.int64),
        last=np.zeros(room, dtype=np.int64),
        next=np.zeros(n_pieces, dtype=np.int64),
        row=np.zeros(n_pieces, dtype=np.int64),
        copies=np.zeros(n_pieces, dtype=np.int64),
        group=np.zeros(n_pieces, dtype=np.int64),
        counts=np.zeros(1, dtype=COUNTS).view(np.recarray),
    )


def _find_nearest(clusters: GrowingClusters, tables: Tables, kind: int, logs: np.ndarray, run: Run) -> bool:
    """Find the nearest younger cluster of every cluster, on all cores; return False if the time ran out."""
    n = int(clusters.counts[0].n_open)
    batch = max(64, BATCH // max(n * len(clusters.low), 1))
    for start in range(0, n, batch):
        run.report("finding the nearest clusters", 1 - ((n - start) / n) ** 2)
        if run.out_of_time:
            return False

        def find(some: slice, start: int = start) -> None:
            find_nearest(clusters, tables, kind, logs, start + some.start, start + some.stop)

        in_threads(find, n - np.arange(start, min(start + batch, n)))
    return True


def _join(
    clusters: GrowingClusters,
    rows: RowCells,
    tables: Tables,
    kind: int,
    logs: np.ndarray,
    k: int,
    shed: bool,
    run: Run,
) -> bool:
    """Join open clusters until at most one is left; return False if the time ran out before."""
    n, share = max(int(clusters.counts[0].n_open), 1), 0.0
    more = True
    while more:
        run.report("joining clusters", share)
        if run.out_of_time:
            return int(clusters.counts[0].n_open) <= 1
        more = join_nearest(clusters, rows, tables, kind, logs, k, shed, BATCH)
        share = max(share, 1 - int(clusters.counts[0].n_open) / n)
    run.report("joining clusters", 1.0)
    return True


def _cut_from_curve(
    problem: Problem, rows: RowCells, tables: Tables, pieces: ClusterPieces, run: Run
) -> ClusterPieces:
    """The pieces, where those without a group are put into runs along the Hilbert curve, which is fast."""
    still_open = pieces.group < 0
    if pieces.copies[still_open].sum() < problem.k:
        return pieces
    place = np.argsort(hilbert_order(problem))
    open_rows = np.repeat(pieces.row[still_open], pieces.copies[still_open])
    row_at = open_rows[np.argsort(place[open_rows], kind="stable")]
    run_at, _ = cut_into_runs(rows, tables, row_at, problem.k, run)
    finished = pieces.group[~still_open]
    return ClusterPieces(
        row=np.concatenate([pieces.row[~still_open], row_at]),
        copies=np.concatenate([pieces.copies[~still_open], np.ones_like(row_at)]),
        group=np.concatenate([finished, run_at + finished.max(initial=-1) + 1]),
        complete=False,
    )

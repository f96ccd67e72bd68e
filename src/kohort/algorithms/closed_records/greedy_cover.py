"""A greedy cover of the records by the supports of closed records, made disjoint (Kenig and Tassa, 2012)."""

from __future__ import annotations

import math

import numpy as np

from kohort.algorithms.closed_records.kernels.greedy_cover import cover_greedily, new_cover
from kohort.algorithms.closed_records.kernels.supports import Sets, bit_sets, rarest_first
from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, record_costs
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.run import Run
from kohort.problem.counted_cells import first_slots
from kohort.problem.problem import Problem

_SETS_AT_A_TIME = 500_000  # sets examined between two looks at the clock


def disjoint_cover(table: MinedRows, closed: ClosedRecords, problem: Problem, run: Run) -> np.ndarray | None:
    """The cluster of each slot after GEN-COVER-CF and Algorithm 2, which makes the cover disjoint.

    None when the time is up.
    """
    sets, slots = cover_sets(table, closed, problem), first_slots(table.counts)
    cover = new_cover(sets, slots, problem.k)
    while cover.counts[0].left:
        run.report("covering", 1 - float(cover.counts[0].left / slots[-1]))
        if run.out_of_time:
            return None
        cover_greedily(sets, slots, problem.k, cover, _SETS_AT_A_TIME)
    return np.unique(cover.owner, return_inverse=True)[1]


def cover_sets(table: MinedRows, closed: ClosedRecords, problem: Problem) -> Sets:
    """The supports of closed records as sets to cover with."""
    words = np.zeros((0, 0), dtype=np.uint64)
    nodes = np.zeros((0, 0), dtype=np.int32)
    if not closed.has_supports:
        nodes, words = _bit_sets(table, closed)
    return Sets(record_costs(problem, closed), closed.weight, closed.start, closed.rows, nodes, words)


def _bit_sets(table: MinedRows, closed: ClosedRecords) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of each closed record, rarest first, and the rows under each node as bits."""
    n_rows, n_nodes = len(table.counts), len(table.lineages.depth)
    rows_under = np.bincount(table.lineages.node[table.lineages.node >= 0], minlength=n_nodes)
    used = np.zeros(n_nodes, dtype=bool)
    nodes = closed.nodes + table.node_start.astype(np.int32)
    for column in nodes.T:
        used[column] = True
    used &= rows_under < n_rows
    number = np.where(used, np.cumsum(used) - 1, -1)
    words = bit_sets(table.lineages.node, number, int(used.sum()))
    return rarest_first(nodes, number, rows_under, n_rows), words


def cover_guarantee(problem: Problem) -> float | None:
    """The approximation factor of Theorem 4, or None where it does not hold.

    It holds where the cost is monotone and is the one that is measured, and where no record may be withheld:
    the theorem is about releases that publish all records.
    """
    if not problem.cost.monotone or problem.tight or in_measured_units(problem, 0.0) is None:
        return None
    if problem.max_withheld:
        return None
    return 2 * (1 + math.log(2 * problem.k))

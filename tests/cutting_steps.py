"""The steps of cutting groups, called one at a time."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.mondrian.cutting import cut_table_of, new_workspace
from kohort.algorithms.mondrian.kernels.cut_parts import cut_groups
from kohort.algorithms.mondrian.kernels.cut_table import CUT, DEAL, FIND, PART, Steps


def table_in_order(problem, order, *, strict=False, widest=False, masses=None):
    """The records of a problem in this order, as one group."""
    table = cut_table_of(problem, strict=strict, widest=widest)
    records = table.records
    rows = np.ascontiguousarray(records.rows[order])
    records = records._replace(rows=rows, packed=rows.view(np.int64), number=records.number[order])
    if masses is not None:
        records = records._replace(masses=np.asarray(masses, dtype=np.float64)[order])
    return table._replace(records=records)


def find_cuts(table, starts, ends, n_cuts):
    """The best cuts of each group, groups by cuts."""
    cuts = np.empty((len(starts), n_cuts), dtype=CUT).view(np.recarray)
    _do(table, starts, ends, Steps(FIND, cuts, np.zeros(0, np.int32), np.zeros(0, np.int64)), n_cuts)
    return cuts


def part_records(table, starts, ends, cuts):
    """The part of each record after the first of the cuts of each group, and the number of parts."""
    parts, n_parts = np.empty((ends - starts).sum(), np.int32), np.empty(len(starts), np.int64)
    _do(table, starts, ends, Steps(PART, cuts, parts, n_parts))
    return parts, n_parts


def deal_out(table, starts, ends, parts, n_parts):
    """Sort the records of each group by part."""
    no_cuts = np.empty((0, 0), dtype=CUT).view(np.recarray)
    _do(table, starts, ends, Steps(DEAL, no_cuts, parts, n_parts))


def _do(table, starts, ends, steps, n_cuts=1):
    space = new_workspace(table, int((ends - starts).max()), n_cuts)
    cut_groups(table, space, starts, ends, 0, np.zeros(len(table.records.rows), dtype=bool), steps)

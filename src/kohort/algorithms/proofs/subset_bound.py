"""A weak lower bound on the cost of any release with tight labels or free intervals.

The records of a group agree in some set of columns, perhaps in none. In each other column, the group has a
second value, and enough values to cover k of the records that agree in the set. This gives a least cost of a
record for each set; the least over all sets of columns is a lower bound on the cost of the record.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.proofs.kernels.subset_bound import lower_least_costs
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.refusals import refuse_wide_hierarchies
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem

_MOST_WORK = 200_000_000  # cells of distinct rows, over all sets of columns
_MOST_COLUMNS = 27  # more columns have more sets than `_MOST_WORK`
_ROUNDING = 1e-9


def subset_bound(problem: Problem, run: Run) -> float | None:
    """A lower bound on the cost of any release, in the units of the chosen cost.

    Holds for monotone costs, under any further model, and where records may be withheld, since a withheld one
    costs no less than any other. None for other costs, when the time is up, or where it would take long: the
    number of sets doubles with each column. At worst O(2^columns * rows * columns); a set in which fewer than
    k records agree with a record is skipped for that record, and so are its supersets.
    """
    if not problem.cost.metric or len(problem.attributes) > _MOST_COLUMNS:
        return None
    leaves = problem.coded.searched_rows.astype(np.int64)
    records = problem.rows.counts.astype(np.int64)
    if 2 ** leaves.shape[1] * leaves.size > _MOST_WORK:
        return None
    refuse_wide_hierarchies(problem)
    search = _Subsets(problem, leaves, records)
    if not search.visit(np.arange(len(leaves)), np.zeros(len(leaves), dtype=np.int64), (), run):
        return None
    return in_measured_units(problem, float(np.dot(records, search.least)) * (1 - _ROUNDING))


class _Subsets:
    """The search over all sets of columns, each with the rows that agree in it with k or more records."""

    def __init__(self, problem: Problem, leaves: np.ndarray, records: np.ndarray) -> None:
        self.cells = problem.coded.cell_costs
        self.k, self.leaves, self.records = problem.k, leaves, records
        self.least = np.full(len(leaves), np.inf)

    def visit(self, rows: np.ndarray, class_of: np.ndarray, columns: tuple[int, ...], run: Run) -> bool:
        """Lower the least costs of these rows, by classes that agree in `columns`; then add a column.

        Returns whether there was time for all.
        """
        if run.out_of_time:
            return False
        n_columns = self.leaves.shape[1]
        if len(columns) == 1:
            run.report("proving a weak bound", columns[0] / n_columns)
        order = np.argsort(class_of, kind="stable")
        start = np.searchsorted(class_of[order], np.arange(class_of.max() + 2))
        equal = np.isin(np.arange(n_columns), columns)
        lower_least_costs(
            self.cells, self.leaves, self.records, self.k, rows[order], start, equal, self.least
        )
        for column in range(columns[-1] + 1 if columns else 0, n_columns):
            finer = class_of * (int(self.leaves[:, column].max()) + 1) + self.leaves[rows, column]
            finer = np.unique(finer, return_inverse=True)[1]
            enough = np.bincount(finer, weights=self.records[rows])[finer] >= self.k
            if enough.any():
                kept = np.unique(finer[enough], return_inverse=True)[1]
                if not self.visit(rows[enough], kept, (*columns, column), run):
                    return False
        return True

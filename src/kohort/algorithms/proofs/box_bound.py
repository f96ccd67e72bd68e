"""A lower bound on the cost of any release with tight labels or free intervals, from the cheapest boxes.

Every record is published with k - 1 others in some box: an interval, set or node per column. So it costs at
least what the cheapest box does that holds it and k records in all, and the sum over records is a bound.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.group_costs import costs_by_group
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows, least_box_costs, new_box_search
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.refusals import refuse_wide_hierarchies
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["box_bound"]

_AT_A_TIME = 64  # rows between two looks at the clock
_NODES = (1, 60, 600)  # of the search around a row: all rows get the first, then those not exact the next
_MOST_LEVELS, _MOST_ROOM = 48, 30_000_000  # cells of candidates
_ROUNDING = 1e-9


def box_bound(problem: Problem, groups: Groups, run: Run) -> float | None:
    """A lower bound on the cost of any release, in the units of the chosen cost; None for other costs.

    groups  any release: what a record costs there need not be exceeded

    Holds for monotone costs, under any further model, and where records may be withheld, since a withheld one
    costs no less than any other. Where the time is up, the bounds of some rows are weaker.
    """
    if not problem.cost.metric:
        return None
    refuse_wide_hierarchies(problem)
    leaves = problem.coded.searched_rows.astype(np.int64)
    counts = problem.rows.counts.astype(np.int64)
    rows = BoxRows(problem.coded.cell_costs, leaves, counts, problem.k)
    above = _known_costs(problem, groups)
    least = np.zeros(len(leaves))
    for number, nodes in enumerate(_NODES):
        todo = np.flatnonzero(least < above * (1 - _ROUNDING)) if number else np.arange(len(leaves))
        if not _search(rows, todo, above, nodes, least, run):
            break
    return in_measured_units(problem, float(np.dot(counts, least)) * (1 - _ROUNDING))


def _search(
    rows: BoxRows, todo: np.ndarray, above: np.ndarray, nodes: int, least: np.ndarray, run: Run
) -> bool:
    """Raise the least costs of some rows; whether there was time for all."""
    n, columns = rows.leaves.shape
    levels = int(np.clip(_MOST_ROOM // max(n * columns, 1), 2, _MOST_LEVELS)) if nodes > 1 else 2

    parts = np.array_split(todo, max(1, len(todo) // _AT_A_TIME))

    def find(some: slice) -> None:
        search = new_box_search(rows, levels)
        for part in parts[some]:
            if run.out_of_time:
                return
            known = above.copy()
            found = least_box_costs(rows, search, part, known, nodes)
            least[part] = np.maximum(least[part], found)
            above[part] = np.minimum(above[part], known[part])

    in_threads(find, np.full(len(parts), n))
    return not run.out_of_time


def _known_costs(problem: Problem, groups: Groups) -> np.ndarray:
    """Per distinct row the least cost of its records in some groups; of all in one where it is withheld."""
    together = np.zeros(problem.n_records, dtype=np.int64)
    rows = problem.coded.searched_rows[problem.rows.of_record].astype(np.int32)
    cost = np.full(problem.n_records, _group_costs(problem, rows, together)[0])
    kept = np.flatnonzero(~groups.withheld)
    if len(kept):
        group = groups.group_of_record[kept].astype(np.int64)
        cost[kept] = np.minimum(cost[kept], _group_costs(problem, rows[kept], group)[group])
    least = np.full(len(problem.rows.counts), np.inf)
    np.minimum.at(least, problem.rows.of_record, cost)
    return least


def _group_costs(problem: Problem, rows: np.ndarray, group: np.ndarray) -> np.ndarray:
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(group.max() + 2))
    return costs_by_group(problem.coded.tables, rows, order, start)

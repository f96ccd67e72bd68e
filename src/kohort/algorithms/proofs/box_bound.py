"""A lower bound on the cost of any release with tight labels or free intervals, from the cheapest boxes.

Every record is published with k - 1 others in some box: an interval, set or node per column. So it costs at
least what the cheapest box does that holds it and k records in all, and the sum over records is a bound.
Prices that no box can pay add up to more (`box_prices`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.proofs.box_prices import box_prices
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows, least_box_costs, new_box_search
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.algorithms.refusals import refuse_wide_hierarchies
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.problem.problem import Problem
from kohort.problem.proof import BoxProof
from kohort.recoding.groups import Groups

_AT_A_TIME = 256  # rows between two looks at the clock; boxes that are found for one are known to the others
_NODES = (60, 600)  # of the search around a row: all rows get the first, then those not exact the next
_MOST_LEVELS, _MOST_ROOM = 48, 30_000_000  # cells of candidates
_SHARE_FOR_CHEAPEST, _SHORT_SHARE, _SECONDS = 0.1, 0.6, 1.0  # of the time; where it is short, up to a second
_SHARE_FOR_NEIGHBOURS = 0.8  # of that
_ROUNDING = 1e-9


class BoxBound(NamedTuple):
    """A lower bound in the units of the chosen cost, and prices that prove it, where these prove most."""

    value: float | None
    proof: BoxProof | None = None


def box_bound(problem: Problem, groups: Groups, run: Run, most_work: int | None = None) -> BoxBound | None:
    """A lower bound on the cost of any release; None for costs that are not known to have one.

    groups     any release: what a record costs there need not be exceeded
    most_work  of proving prices, so that these do not depend on the clock; None: any

    Holds for monotone costs, under any further model, and where records may be withheld. First each row is
    bounded by the cheapest box around it, or where the time is up by its nearest rows. Then prices are
    searched that no box can pay, which may add up to more.
    """
    if not problem.cost.metric:
        return None
    refuse_wide_hierarchies(problem)
    leaves, counts = problem.coded.searched_rows.astype(np.int32), problem.rows.counts.astype(np.int64)
    rows = BoxRows(problem.coded.cell_costs, leaves, counts, problem.k)
    release = _release_costs(problem, groups)
    searching = run.share_of_time(_share_for_cheapest(run)) if most_work is None else run.at_most(_SECONDS)
    least = cheapest_boxes(problem, rows, release, searching)
    weaker = _in_units(problem, _sum_of_prices(problem, least, release.most))
    if weaker is None or not release.boxes or run.out_of_time:
        return BoxBound(weaker)
    price = box_prices(rows, release.of_row, release.boxes, release.of_group, run, most_work)
    if price is None:
        return BoxBound(weaker)
    value = _in_units(problem, _sum_of_prices(problem, price, release.most)) or 0.0
    return BoxBound(weaker) if value <= weaker else BoxBound(value, BoxProof(price))


def _in_units(problem: Problem, total: float) -> float | None:
    """A sum of prices as a bound in the units of the chosen cost, below what rounding may add."""
    return in_measured_units(problem, total * (1 - _ROUNDING))


def _share_for_cheapest(run: Run) -> float:
    left = run.seconds_left
    return max(_SHARE_FOR_CHEAPEST, min(_SHORT_SHARE, _SECONDS / left)) if left else _SHARE_FOR_CHEAPEST


def _sum_of_prices(problem: Problem, price: np.ndarray, most: float) -> float:
    """The sum of all prices, where records that may be withheld cost at most `most`: all as one group."""
    of_record = np.sort(np.repeat(price, problem.rows.counts))
    withheld = of_record[problem.n_records - problem.max_withheld :]
    return float(of_record.sum() - np.maximum(withheld - most, 0.0).sum())


def cheapest_boxes(problem: Problem, rows: BoxRows, release: _Release, run: Run) -> np.ndarray:
    """Per distinct row a lower bound on the cost of a box around it that holds k records."""
    neighbours = NeighbourGraph.of(problem).nearest(problem.k, run.share_of_time(_SHARE_FOR_NEIGHBOURS))
    above = release.of_row.copy()
    least = np.zeros(len(above)) if neighbours is None else np.minimum(neighbours.radius, above)
    for nodes in _NODES:
        todo = np.flatnonzero(least < above * (1 - _ROUNDING))
        if not len(todo) or not _search(rows, todo, above, nodes, least, run):
            break
    return least


def _search(
    rows: BoxRows, todo: np.ndarray, above: np.ndarray, nodes: int, least: np.ndarray, run: Run
) -> bool:
    """Raise the least costs of some rows; whether there was time for all."""
    n, columns = rows.leaves.shape
    levels = int(np.clip(_MOST_ROOM // max(n * columns, 1), 2, _MOST_LEVELS))

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


class _Release(NamedTuple):
    """What records cost in a release: the least per distinct row, per group, and all in one group."""

    of_row: np.ndarray
    of_group: np.ndarray
    boxes: list[np.ndarray]  # the distinct rows of each group
    most: float


def _release_costs(problem: Problem, groups: Groups) -> _Release:
    """The costs of a release. Withheld records cost what they would cost with all records in one group."""
    of_record = problem.rows.of_record
    rows = problem.coded.searched_rows[of_record].astype(np.int32)
    most = float(_group_costs(problem, rows, np.zeros(len(rows), dtype=np.int64))[0])
    of_row, kept = np.full(len(problem.rows.counts), most), np.flatnonzero(~groups.withheld)
    if not len(kept):
        return _Release(of_row, np.empty(0), [], most)
    group = groups.group_of_record[kept].astype(np.int64)
    of_group = _group_costs(problem, rows[kept], group)
    np.minimum.at(of_row, of_record[kept], of_group[group])
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(1, groups.n_groups))
    boxes = [np.unique(part).astype(np.int32) for part in np.split(of_record[kept][order], start)]
    return _Release(of_row, of_group, boxes, most)


def _group_costs(problem: Problem, rows: np.ndarray, group: np.ndarray) -> np.ndarray:
    """What a record of each group costs."""
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(group.max() + 2))
    return costs_by_group(problem.coded.tables, rows, order, start)

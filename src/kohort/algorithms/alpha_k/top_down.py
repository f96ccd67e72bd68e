"""Top-down local recoding: all records as one group, specialized while it is safe (Wong et al., 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.algorithms.alpha_k.kernels.top_down import CellTable, specialize
from kohort.algorithms.alpha_k.local_recoding import LocalRecoding, alpha_demands
from kohort.algorithms.run import Run
from kohort.problem.counted_cells import CountedCells
from kohort.problem.problem import Problem
from kohort.problem.promises.exact import integers
from kohort.recoding.groups import Groups

BATCH = 5_000_000  # cells times attributes between two looks at the clock


@dataclass(frozen=True)
class TopDown(LocalRecoding):
    """Top-down local recoding for (alpha, k)-anonymity (Wong et al., Algorithm 2, for many attributes).

    Starts with all records as one group. A group is specialized in the attribute that specializes most of
    its records (on ties the one with fewest branches): each child of its node in that attribute that
    satisfies the models becomes a group. The others are left behind, as a group that may be specialized
    again. If that one fails the models, it gets records from the children: as few as will do, of those that
    can be specialized least, as far as children can spare them; if they cannot, whole children join it, the
    smallest first.

    How far records can be specialized is found by trial, without moving any, for 1,000 distinct records or
    more of the smallest children. A group is published as the smallest generalized record that covers it.

    O(depth * distinct rows * attributes), where depth is how often a record is specialized.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"postcode": ["4351", "4351", "4351", "4352"], "ill": ["n", "c", "n", "n"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"postcode": ko.mask()}, sensitive=["ill"], algorithm="top-down",
    ...     privacy=[ko.KAnonymity(2), ko.AlphaDeassociation("ill", 0.5, values=["c"])],
    ...     shuffle=False,
    ... )
    >>> release.table["postcode"].to_pylist()
    ['4351', '4351', '435*', '435*']
    """

    name: ClassVar[str] = "top-down"
    summary: ClassVar[str] = (
        "specializes groups, attribute by attribute, as long as they stay safe; near-linear"
    )
    scheme_search: ClassVar[str | None] = "top-down-search"

    def solve(self, problem: Problem, run: Run) -> Groups:
        cells = CountedCells.of(problem)
        table, trees = cell_table(cells), problem.coded.trees
        left = np.arange(len(cells.counts), dtype=np.int32), cells.counts, np.zeros(1, dtype=np.int64)
        finished: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        notes = self.rounding_notes(problem)
        while len(left[2]):
            run.report("specializing", 1 - int(left[1].sum()) / problem.n_records)
            if run.out_of_time:
                notes += ("Stopped at the time limit: some groups could still be specialized.",)
                finished.append((left[0], left[1], np.diff(left[2], append=len(left[0]))))
                break
            *rest, cells_done, counts_done, sizes = specialize(table, trees, *left, BATCH)
            left = tuple(rest)
            finished.append((cells_done, counts_done, sizes))
        run.report("specializing", 1.0)
        of_cells, counts, sizes = (np.concatenate(parts) for parts in zip(*finished))
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return Groups(cells.groups(of_cells, counts, groups), notes=notes)


def cell_table(cells: CountedCells) -> CellTable:
    """The cells of a problem, and the limits that k and alpha set for groups of them, as arrays."""
    demands = alpha_demands(cells)
    n = cells.problem.n_records
    value = np.full((len(cells.counts), len(demands)), -1, dtype=np.int64)
    room = np.zeros((len(demands), n + 1), dtype=np.int64)
    n_values = 0
    for place, demand in enumerate(demands):
        value[:, place] = np.where(demand.value_of_cell < 0, -1, demand.value_of_cell + n_values)
        sizes = integers(np.arange(n + 1), n * demand.alpha.numerator)
        room[place] = sizes * demand.alpha.numerator // demand.alpha.denominator
        n_values += demand.n_values
    return CellTable(cells.leaves, value, room, cells.problem.k, n_values)

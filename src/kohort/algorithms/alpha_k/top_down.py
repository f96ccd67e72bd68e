"""The demands of (alpha, k)-anonymity, for algorithms that count sensitive records while they search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.alpha_k.kernels.top_down import CellTable, specialize
from kohort.algorithms.refusals import refuse_other_costs, refuse_without_hierarchies
from kohort.algorithms.run import Run
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.problem.costs import Cost
from kohort.problem.counted_cells import CountedCells
from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, KAnonymity, Model
from kohort.problem.promises.exact import integers
from kohort.recoding.groups import Groups


@dataclass(frozen=True, eq=False)
class Demand:
    """The demand that no sensitive value makes up more than the share alpha of an equivalence class.

    value_of_cell  the sensitive value of each cell, -1 for none; values bounded together count as one
    """

    alpha: Fraction
    value_of_cell: np.ndarray
    n_values: int


def refuse_alpha_k(algorithm: Algorithm, problem: Problem) -> None:
    """Raise UnsupportedError for a problem that the local methods of Wong et al. cannot solve."""
    refuse_other_costs(algorithm, problem)
    refuse_without_hierarchies(problem)
    try:
        replace(problem, models=tuple(alpha_k_models(problem)))
    except InfeasibleError as error:  # the problem itself can be solved: alpha is rounded up
        raise UnsupportedError(
            f"{algorithm.name} does not round alpha up, and without that {error} "
            "Choose incognito, which does round it up."
        ) from None


def alpha_k_models(problem: Problem) -> list[Model]:
    """The models for k and alpha. Alpha is not rounded up: that is stricter, and survives unions."""
    k = [model for model in problem.models if isinstance(model, KAnonymity)]
    alpha = [
        replace(model, rounding="none") for model in problem.models if isinstance(model, AlphaDeassociation)
    ]
    return [*(k or [KAnonymity(1)]), *alpha]


def rounding_notes(problem: Problem, name: str) -> tuple[str, ...]:
    """A note that alpha was applied more strictly than requested, if it was."""
    if all(model.survives_unions for model in problem.models):
        return ()
    return (f"alpha was not rounded up, though the spec allows it: {name} is stricter than requested.",)


def alpha_demands(cells: CountedCells) -> list[Demand]:
    """The demands for alpha, without those that every class satisfies anyway."""
    demands = []
    for model in alpha_k_models(cells.problem):
        if isinstance(model, AlphaDeassociation) and model.asked < 1:
            demands.append(_demand(model, cells))
    return demands


def _demand(model: AlphaDeassociation, cells: CountedCells) -> Demand:
    codes = cells.codes[model.attribute].astype(np.int64)
    sensitive = cells.problem.sensitive[model.attribute]
    if model.values is None:
        return Demand(model.asked, codes, sensitive.n_values)
    listed = np.isin(codes, sensitive.context.codes(model.values))
    if model.combine or len(model.values) == 1:
        return Demand(model.asked, np.where(listed, 0, -1), 1)
    return Demand(model.asked, np.where(listed, codes, -1), sensitive.n_values)


BATCH = 5_000_000  # cells times attributes between two looks at the clock


@dataclass(frozen=True)
class TopDown(Algorithm):
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
    paper: ClassVar[str] = "Wong, Li, Fu, Wang: (alpha, k)-anonymous data publishing, JIIS 33 (2009)"
    promise: ClassVar[str] = "no bound on the loss"
    recoding: ClassVar[type[Groups]] = Groups
    scheme_search: ClassVar[str | None] = "top-down-search"

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.separable

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return model.only_counts or model.bounds_shares

    def refuse(self, problem: Problem) -> None:
        refuse_alpha_k(self, problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        cells = CountedCells.of(problem)
        table, trees = cell_table(cells), problem.coded.trees
        left = np.arange(len(cells.counts), dtype=np.int32), cells.counts, np.zeros(1, dtype=np.int64)
        finished: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        notes = rounding_notes(problem, self.name)
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

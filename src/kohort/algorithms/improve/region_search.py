"""improve for tables of any size: regions of similar groups are searched on all cores, then other regions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import numpy as np

from kohort.algorithms.compact_rows import compact_rows
from kohort.algorithms.improve.group_search import GroupSearch, cut_large
from kohort.algorithms.improve.kernels.group_ejection import MOST_CHANGED
from kohort.algorithms.improve.kernels.local_pairs import fill_pairs
from kohort.algorithms.improve.model_rules import only_counts_records, promises_for, promises_of
from kohort.algorithms.mondrian.cutting import cells_of
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.run import Run, Standing
from kohort.kernels.threads import thread_count
from kohort.problem.encoding.layout import ATTRIBUTE, SET, TREE, CellCosts, Tables
from kohort.problem.encoding.tables import attribute_of_node
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

_GROUPS, _MOST_GROUPS = 250, 2_000  # in a region of the first turn, and of later ones: twice as many each
_ROUNDS, _MOST_ROUNDS = 12, 48  # per group in the first turn, and in later ones: twice as many each
_SPREAD = 1.0  # of the logarithms of random weights
_DRAWN = 4  # records for a round: dear groups have more to win
_ENOUGH = 2  # times k: of more equal records that make up a group, the others are set aside


def regrouped_in_regions(
    problem: Problem, groups: Groups, run: Run, worth: float, *, turns: Iterable[int] | None = None
) -> Groups:
    """Groups of less cost, or the same ones, that satisfy every model.

    turns  the numbers of the turns to make: those of a higher number have other and larger regions, and more
           rounds; 0 takes neighbours among the groups for similar; None: all from 0 on

    In each turn the groups are parted into regions of similar groups. A region is searched by itself, by ruin
    and recreate, in terms of the leaves that its records have; rules that compare with the whole table still
    do so. The regions of a turn lie across those of the last one. Ends when the time is up, or when a turn
    lowers the cost by less than the share `worth`. Deterministic for a seed but for the time limit.
    Memory: O(records * attributes).
    """
    search = _RegionSearch(problem, groups)
    for number, turn in enumerate(count() if turns is None else turns):
        before = search.total
        search.make_turn(turn, run)
        if run.out_of_time or (number > 0 and not 0 < search.total < before * (1 - worth)):
            break
    return replace(groups, group_of_record=search.group_of_record(), guarantee=None)


class _RegionSearch:
    """The records that are searched, their groups, and the total cost of these, once it is known."""

    def __init__(self, problem: Problem, groups: Groups) -> None:
        self.problem = problem
        self.only_k = only_counts_records(problem)
        self.given = groups.group_of_record
        rows, searched = compact_rows(problem), self.given >= 0
        if self.only_k:
            searched[_surplus(rows, self.given, problem.k)] = False
        self.records = np.flatnonzero(searched).astype(np.int32)
        self.rows = rows if searched.all() else rows[self.records]
        self.group, self.n_groups = self.given[self.records], groups.n_groups
        self.promises = promises_of(problem, np.arange(problem.n_records), MOST_CHANGED, MOST_CHANGED)
        self.total = np.inf

    def make_turn(self, turn: int, run: Run) -> None:
        """Search all regions of a turn, as far as there is time."""
        regions = self._regions(turn)
        group, n_groups, total = np.empty_like(self.group), 0, 0.0
        with ThreadPoolExecutor(thread_count()) as pool, run.until_failure() as running:
            searching = [
                pool.submit(self._searched, part, (self.problem.seed, turn, number), running)
                for number, part in enumerate(regions)
            ]
            for number, (part, one) in enumerate(zip(regions, searching)):
                run.report(self._standing(), max(run.gone, number / len(regions) / 2 if turn == 0 else 0.0))
                cost, labels = one.result()
                group[part] = labels + n_groups
                n_groups, total = n_groups + int(labels.max()) + 1, total + cost
        self.group, self.n_groups, self.total = group, n_groups, total

    def _standing(self) -> str:
        words = "ruining and recreating groups, region by region"
        reached = in_measured_units(self.problem, self.total) if np.isfinite(self.total) else None
        whole = len(self.records) == self.problem.n_records
        return Standing(f"{words}: {reached:.4f}", reached) if reached is not None and whole else words

    def _regions(self, turn: int) -> list[np.ndarray]:
        """The records of each region, a run of groups as they were given, or a cell of similar groups.

        First groups are taken in the order in which they were given, in which those that were cut from each
        other are neighbours. Then one record of each is cut into cells by mondrian, with random weights of
        attributes, so that cells of different turns lie across each other.
        """
        size = min(_GROUPS * 2**turn, _MOST_GROUPS)
        region = np.arange(self.n_groups) // size
        if turn > 0:
            first = np.empty(self.n_groups, dtype=np.int64)
            first[self.group[::-1]] = np.arange(len(self.group))[::-1]
            weighted = _weighted_tables(self.problem.coded.tables, _random_weights(self.problem, turn))
            region = cells_of(self.rows[first], weighted, size // 2)
        of_record = region[self.group]
        order = np.argsort(of_record, kind="stable").astype(np.int32)
        return np.split(order, np.cumsum(np.bincount(of_record))[:-1])

    def _searched(self, part: np.ndarray, seed: tuple[int, int, int], run: Run) -> tuple[float, np.ndarray]:
        """The total cost of a region, and the group of each of its records, numbered from 0.

        Infinite if it is not searched: there was no time, or it is one group of very many leaves, such as a
        column of names that nothing tells apart. A region with too many leaves is halved first.
        """
        labels = np.unique(self.group[part], return_inverse=True)[1]
        if run.out_of_time:
            return np.inf, labels
        rows = self.rows[part, : len(self.problem.attributes)]
        leaves = present_leaves(rows)
        n_groups = int(labels.max()) + 1
        if n_groups > 1 and not _fits_memory(leaves, n_groups):
            halves = [np.flatnonzero((labels < n_groups // 2) == first) for first in (True, False)]
            (cost, found), (other_cost, other) = (self._searched(part[half], seed, run) for half in halves)
            labels[halves[0]], labels[halves[1]] = found, other + int(found.max()) + 1
            return cost + other_cost, labels
        if not _can_be_searched(leaves):
            return np.inf, labels
        cells, rows = local_cells(self.problem.coded.tables, rows, leaves)
        return self._regrouped(
            GroupSearch(cells, rows, promises_for(self.promises, self.records[part]), _DRAWN),
            labels,
            part,
            seed,
            run,
        )

    def _regrouped(
        self, search: GroupSearch, labels: np.ndarray, part: np.ndarray, seed: tuple[int, int, int], run: Run
    ) -> tuple[float, np.ndarray]:
        """The groups after the rounds of this turn; those before, if not all models hold exactly."""
        turn, everything = seed[1], np.arange(len(part))
        costly = _are_unlike(search.rows, labels)
        if turn == 0 and self.only_k:
            cut = np.where(costly[labels], cut_large(self.problem, search.rows, labels), -1 - labels)
            labels = np.unique(cut, return_inverse=True)[1]
        rounds = min(_ROUNDS * 2**turn, _MOST_ROUNDS) * int(costly.sum())
        cost, found = search.regrouped_part(labels, everything, seed, rounds, run, lambda: 0.0)
        if self.only_k or self.problem.satisfied(found, self.records[part], int(found.max()) + 1).all():
            return cost, found
        return search.regrouped_part(labels, everything, seed, 0, run, lambda: 0.0)

    def group_of_record(self) -> np.ndarray:
        """The group of each record; equal records that were set aside make up groups of their own."""
        found = np.full(self.problem.n_records, -1, dtype=np.int32)
        found[self.records] = self.group
        aside = np.flatnonzero((found < 0) & (self.given >= 0))
        found[aside] = self.n_groups + np.unique(self.given[aside], return_inverse=True)[1]
        return found


def _random_weights(problem: Problem, turn: int) -> np.ndarray:
    """Weights of attributes by which the regions of a turn are cut: across those of other turns."""
    rng = np.random.default_rng((problem.seed, turn))
    return np.exp(_SPREAD * rng.normal(size=len(problem.attributes)))


def _weighted_tables(tables: Tables, weights: np.ndarray) -> Tables:
    """The tables with the costs of each attribute multiplied by its weight."""
    n_leaves = np.diff(np.append(tables.leaf_start, len(tables.leaf_cost)))
    return tables._replace(
        base=tables.base * weights,
        slope=tables.slope * weights,
        full=tables.full * weights,
        leaf_cost=tables.leaf_cost * np.repeat(weights, n_leaves),
        node_cost=tables.node_cost * weights[attribute_of_node(tables)],
    )


def _are_unlike(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Per group, whether its records differ."""
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    ordered = rows[order]
    differs = np.minimum.reduceat(ordered, start) < np.maximum.reduceat(ordered, start)
    return np.asarray(differs.any(axis=1))


def _surplus(rows: np.ndarray, group: np.ndarray, k: int) -> np.ndarray:
    """Records that can be set aside: in groups of equal records all after the first ones, where k are left.

    They cost nothing whatever becomes of the others, of which some can still be spared for other groups.
    """
    size = np.bincount(group[group >= 0])
    large = size >= (_ENOUGH + 1) * k
    records = np.flatnonzero(large[group] & (group >= 0))
    if not len(records):
        return records
    labels = np.unique(group[records], return_inverse=True)[1]
    alike = ~_are_unlike(rows[records], labels)[labels]
    records, labels = records[alike], labels[alike]
    order = np.argsort(labels, kind="stable")
    rank = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])
    return records[order[rank >= _ENOUGH * k]]


_MOST_PAIRS, _MOST_COUNTS = 4_000_000, 400_000  # pairs of leaves of a column; groups times leaves
_LARGEST = 1 << 26  # pairs of leaves of a single group: half a gigabyte


def present_leaves(rows: np.ndarray) -> list[np.ndarray]:
    """Per attribute the leaves that occur, ascending."""
    return [np.unique(column) for column in rows.T]


def _fits_memory(leaves: Sequence[np.ndarray], n_groups: int) -> bool:
    """Whether the costs of all pairs of these leaves, and their counts in all groups, fit a cache."""
    numbers = np.array([len(some) for some in leaves])
    return bool((numbers**2).sum() <= _MOST_PAIRS and numbers.sum() * n_groups <= _MOST_COUNTS)


def _can_be_searched(leaves: Sequence[np.ndarray]) -> bool:
    """Whether the costs of all pairs of the leaves of a single group can be kept at all."""
    return sum(len(some) ** 2 for some in leaves) <= _LARGEST


def local_cells(
    tables: Tables, rows: np.ndarray, leaves: Sequence[np.ndarray]
) -> tuple[CellCosts, np.ndarray]:
    """The costs of cells over any two leaves that occur in these rows, and the rows in terms of these.

    leaves  the leaves that occur, as `present_leaves` gives them

    A column may have many thousand leaves where a region has a hundred. Leaves that occur are numbered from
    0, in their order, and the costs are those of the whole domain: intervals count the values between their
    ends whether they occur or not. Memory: the square of the leaves that occur.
    """
    about = np.zeros(rows.shape[1], dtype=ATTRIBUTE).view(np.recarray)
    local, pairs = np.empty(rows.shape, dtype=np.int32), []
    for a, present in enumerate(leaves):
        local[:, a] = np.searchsorted(present, rows[:, a])
        costs = np.zeros((len(present), len(present)) if tables.kind[a] != SET else (0, 0))
        fill_pairs(tables, a, present[: len(costs)].astype(np.int64), costs)
        pairs.append(costs.ravel())
        about[a].loners_from = np.searchsorted(present, tables.loners_from[a])
    about.kind = np.where(tables.kind == SET, SET, TREE)
    about.n_leaves = [len(present) for present in leaves]
    about.leaf_start = np.cumsum(about.n_leaves) - about.n_leaves
    about.pair_start = np.cumsum([0, *map(len, pairs)])[:-1]
    about.line_base, about.line_slope, about.whole = tables.base, tables.slope, tables.full
    return CellCosts(about, np.concatenate([*pairs, np.zeros(1)])), local

"""Progressive local recoding: safe records leave, the rest is generalized further (Wong et al., 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.algorithms.alpha_k.local_recoding import Demand, LocalRecoding, alpha_demands, alpha_k_models
from kohort.algorithms.kernels.class_tables import number_classes, sum_by_class
from kohort.algorithms.levels import level_nodes
from kohort.algorithms.run import Run
from kohort.algorithms.uniting.kernels.diversify import range_costs
from kohort.errors import InternalError
from kohort.kernels.grouping import ranges_by_group
from kohort.problem.counted_cells import CountedCells
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

DIGITS = 9  # entropies that differ by rounding only are equal; no attribute of 2 values comes near 0


@dataclass(frozen=True)
class Progressive(LocalRecoding):
    """Progressive local recoding for (alpha, k)-anonymity (Wong et al., Algorithm 1).

    Generalizes all records one level at a time, each time in the attribute whose values have the highest
    entropy. Along the way records leave, and are generalized no more:

    - *trunks*: of a class that satisfies the models, the largest part in which exactly the share alpha is
      sensitive (only where alpha bounds one value, or several as one);
    - *further removal*: other parts of at least k records that satisfy the models, as long as those that stay
      can still keep alpha. At most this many leave: |D| - |(D, s)| / alpha for every sensitive value s.

    If all classes satisfy the models, all leave. If fewer than k records are left at the end, they join the
    group where they add the least cost. A group is published as the smallest generalized record that covers
    it.

    O(levels * distinct rows * attributes), where levels is the sum over all hierarchies.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"postcode": ["4351", "4351", "4351", "4352"], "ill": ["n", "c", "n", "n"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"postcode": ko.mask()}, sensitive=["ill"], algorithm="progressive",
    ...     privacy=[ko.KAnonymity(2), ko.AlphaDeassociation("ill", 0.5, values=["c"])],
    ...     shuffle=False,
    ... )
    >>> release.table["postcode"].to_pylist()
    ['4351', '4351', '435*', '435*']
    """

    name: ClassVar[str] = "progressive"
    summary: ClassVar[str] = (
        "generalizes level by level, and sets records aside once they are safe; near-linear"
    )

    def solve(self, problem: Problem, run: Run) -> Groups:
        table = _Remaining(problem)
        notes = self.rounding_notes(problem)
        while len(table.cells):
            run.report("generalizing", 1 - int(table.counts.sum()) / problem.n_records)
            valid = table.valid()
            if valid.all():
                table.remove(table.counts.copy())
                break
            if run.out_of_time:
                notes += ("Stopped at the time limit: the remaining records were put into one group.",)
                table.remove_rest()
                break
            table.remove_trunks(valid)
            table.remove_further()
            if len(table.cells) and not table.generalize():
                table.remove_rest()
        run.report("generalizing", 1.0)
        return Groups(table.groups(), notes=notes)


class _Remaining:
    """The records that stay (`counts` of `cells`), generalized to `levels`, and those that have left."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.table = CountedCells.of(problem)
        self.models = alpha_k_models(problem)
        self.demands = alpha_demands(self.table)
        one_value = len(self.demands) == 1 and self.demands[0].n_values == 1
        self.simple = self.demands[0] if one_value else None  # the simple model: one value, or several as one
        self.nodes = [level_nodes(hierarchy).astype(np.int32) for hierarchy in problem.coded.hierarchies]
        self.levels = [0] * len(self.nodes)
        self.starts = np.cumsum([0, *(nodes.shape[1] for nodes in self.nodes)])[:-1]
        self.cells = np.arange(len(self.table.counts), dtype=np.int32)
        self.counts = self.table.counts.copy()
        self.left: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # cells, how many of each, groups
        self.n_groups = 0
        self._classify()

    def _classify(self) -> None:
        chosen = [nodes[level] for nodes, level in zip(self.nodes, self.levels)]
        columns, mapped = np.arange(len(chosen)), np.concatenate(chosen)
        radix = np.array([nodes.max() + 1 for nodes in chosen])
        self.class_of, first = number_classes(
            self.table.leaves, self.cells, columns, self.starts, mapped, radix
        )
        self.n_classes = len(first)

    def valid(self) -> np.ndarray:
        """Whether each class satisfies the models."""
        holds = [self.table.satisfied(m, self.cells, self.class_of, self.counts) for m in self.models]
        return np.logical_and.reduce(holds)

    def remove_trunks(self, valid: np.ndarray) -> None:
        """Remove the trunks of valid classes: as many records as possible with exactly the share alpha
        sensitive, if they are at least k."""
        if self.simple is None or self.simple.alpha.denominator > self.problem.n_records:
            return
        sensitive, others = self._by_sensitivity(self.simple)
        share = self.simple.alpha
        spare = share.denominator - share.numerator
        times = np.minimum(self._sum(sensitive) // share.numerator, self._sum(others) // spare)
        times[~valid | (times * share.denominator < self.problem.k)] = 0
        self.remove(self._first(sensitive, times * share.numerator) + self._first(others, times * spare))

    def remove_further(self) -> None:
        """Remove valid classes, or parts of them, while the records that stay can still keep alpha."""
        if not len(self.cells):
            return
        most = self._most_removable()
        sizes = sum_by_class(self.class_of, self.counts, self.n_classes)
        valid = np.flatnonzero(self.valid())
        total = np.cumsum(sizes[valid])
        n_whole = int(np.searchsorted(total, most, side="right"))
        wanted = np.zeros(self.n_classes, dtype=np.int64)
        wanted[valid[:n_whole]] = sizes[valid[:n_whole]]
        part = np.zeros_like(self.counts)
        if n_whole < len(valid):
            room = most - (int(total[n_whole - 1]) if n_whole else 0)
            part = self._part(int(valid[n_whole]), room)
        self.remove(np.where(wanted[self.class_of] > 0, self.counts, part))

    def _most_removable(self) -> int:
        """The most records that may leave, whatever their values, if the rest is to keep alpha (Lemma 5)."""
        n = int(self.counts.sum())
        most = n
        for demand in self.demands:
            values = demand.value_of_cell[self.cells]
            listed = values >= 0
            sums = np.bincount(values[listed], weights=self.counts[listed], minlength=1)
            needed = -(-int(sums.max()) * demand.alpha.denominator // demand.alpha.numerator)
            most = min(most, n - needed)
        return most

    def _part(self, of_class: int, most: int) -> np.ndarray:
        """How many records of each cell form a valid part of a valid class, at most `most` in all.

        All 0 if the part would have fewer than k records.
        """
        nothing = np.zeros_like(self.counts)
        if most < self.problem.k or self.simple is None:
            return nothing
        share = self.simple.alpha
        sensitive, others = self._by_sensitivity(self.simple)
        here = np.arange(self.n_classes) == of_class
        n_sensitive = np.minimum(self._sum(sensitive), most * share.numerator // share.denominator) * here
        n_others = np.minimum(self._sum(others), most - n_sensitive) * here
        n = int(n_sensitive.sum() + n_others.sum())
        if n < self.problem.k or int(n_sensitive.sum()) > share * n:
            return nothing
        return self._first(sensitive, n_sensitive) + self._first(others, n_others)

    def _by_sensitivity(self, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
        """How many records of each cell are sensitive, and how many are not."""
        sensitive = demand.value_of_cell[self.cells] >= 0
        return np.where(sensitive, self.counts, 0), np.where(sensitive, 0, self.counts)

    def _sum(self, counts: np.ndarray) -> np.ndarray:
        return sum_by_class(self.class_of, counts, self.n_classes)

    def _first(self, counts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """How many of the first `wanted` records of each class are in each cell."""
        order = np.argsort(self.class_of, kind="stable")
        in_order, class_of = counts[order], self.class_of[order]
        before = np.cumsum(in_order) - in_order
        start = np.flatnonzero(np.diff(class_of, prepend=-1))
        taken = np.empty_like(counts)
        taken[order] = np.clip(wanted[class_of] - (before - before[start][class_of]), 0, in_order)
        return taken

    def remove(self, taken: np.ndarray) -> None:
        """Let `taken` records of each cell leave, as one group per class."""
        leaving = taken > 0
        if not leaving.any():
            return
        groups = self.class_of[leaving] + self.n_groups
        self.left.append((self.cells[leaving], taken[leaving], groups))
        self.n_groups += self.n_classes
        self.counts -= taken
        stay = self.counts > 0
        self.cells, self.counts = self.cells[stay], self.counts[stay]
        if len(self.cells):
            self._classify()

    def generalize(self) -> bool:
        """Go one level up in the attribute of highest entropy; False if all records that stay look alike."""
        entropies = np.round([self._entropy(j) for j in range(len(self.nodes))], DIGITS)
        if entropies.max() <= 0:
            return False
        self.levels[int(np.argmax(entropies))] += 1
        self._classify()
        return True

    def _entropy(self, attribute: int) -> float:
        node = self.nodes[attribute][self.levels[attribute]][self.table.leaves[self.cells, attribute]]
        counts = np.bincount(node, weights=self.counts)
        share = counts[counts > 0] / counts.sum()
        return float(-(share * np.log2(share)).sum()) if len(share) > 1 else 0.0

    def remove_rest(self) -> None:
        """Let the remaining records leave as one group or, if they are fewer than k, join the cheapest group.

        They satisfy alpha, so the group they join still does.
        """
        n = int(self.counts.sum())
        if n >= self.problem.k:
            group = self.n_groups
        elif self.left:
            group = self._cheapest_group()
        else:
            raise InternalError("progressive: fewer than k records, and no group that they could join.")
        self.left.append((self.cells, self.counts, np.full(len(self.cells), group)))
        self.cells = self.cells[:0]

    def _cheapest_group(self) -> int:
        cells, copies, group = (np.concatenate(parts) for parts in zip(*self.left))
        numbers, group = np.unique(group, return_inverse=True)
        sizes = sum_by_class(group, copies, len(numbers))
        leaves, rest = self.table.leaves[cells], self.table.leaves[self.cells]
        ranges = [ranges_by_group(column, group, len(numbers)) for column in leaves.T]
        lo, hi = (np.column_stack(ends) for ends in zip(*ranges))
        tables = self.problem.coded.closure_tables
        alone = range_costs(tables, lo, hi) * sizes
        lo, hi = np.minimum(lo, rest.min(axis=0)), np.maximum(hi, rest.max(axis=0))
        together = range_costs(tables, lo, hi) * (sizes + int(self.counts.sum()))
        return int(numbers[np.argmin(together - alone)])

    def groups(self) -> np.ndarray:
        """The group of each record."""
        return self.table.groups(*(np.concatenate(parts) for parts in zip(*self.left)))

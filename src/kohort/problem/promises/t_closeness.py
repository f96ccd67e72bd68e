"""t-closeness: the sensitive values of a class are spread as in the whole table (Li et al., 2007).

Distances are a numerator and a denominator per class. They are computed from the cells that occur: what the
absent values add depends on the class size alone, or is found by a binary search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from kohort.errors import InputError
from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import (
    Column,
    Fractional,
    OneOf,
    at_most,
    integers,
    largest_ratio,
    readable,
    rounded_up,
)
from kohort.problem.promises.promise import NO_CONTEXT, ComparedModel, TallyRule, ValueContext, ValueTree

CELLS_AT_ONCE = 1_000_000
"""Keeps the working memory near 100 MB."""


class Distances(NamedTuple):
    """How far each class lies from the whole table: numerator / denominator."""

    numerator: np.ndarray
    denominator: np.ndarray


@dataclass(frozen=True)
class TCloseness(ComparedModel):
    """In every class, the distribution of a sensitive attribute lies within t of the whole table's.

    distance : the earth mover's distance, where moving a share from one value to another costs
        equal : 1
        ordered : the steps between them over the most steps possible
        hierarchical : the height of their lowest common ancestor over the height of the root
    """

    name = "t-closeness"
    spec_key = "closeness"
    stops = "learning much about a sensitive value by knowing somebody's class"
    leaves = "a rare value that becomes many times likelier; finding a record: ask for k as well"
    typical = "t: 0.2"
    limited_by = "t"
    attribute: Column
    t: Fractional
    distance: Annotated[str, OneOf(("equal", "ordered", "hierarchical"))] = "equal"

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        far, most = self._distances(counts, context), self.asked
        return at_most(far.numerator, most.denominator, far.denominator, most.numerator)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        numerator, denominator = self._distances(counts, context)
        t = float(self.asked)
        return (numerator / denominator).astype(float) - t, 1 - t

    def _distances(self, counts: ClassCounts, context: ValueContext) -> Distances:
        self._overall(counts, context)  # refused without it
        distance = self._distance(context)
        parts = [distance(piece) for piece in counts.pieces(CELLS_AT_ONCE)]
        nothing = Distances(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        return Distances(*map(np.concatenate, zip(nothing, *parts)))

    def _distance(self, context: ValueContext) -> Callable[[ClassCounts], Distances]:
        if self.distance == "equal":
            return partial(equal_distance, overall=context.overall)
        if self.distance == "ordered":
            if context.order is None:
                raise InputError(f"The ordered distance needs the 'order' of {self.attribute!r}.")
            return partial(ordered_distance, overall=context.overall, order=context.order)
        if context.tree is None:
            raise InputError(f"The hierarchical distance needs a 'hierarchy' of {self.attribute!r}.")
        return partial(hierarchical_distance, overall=context.overall, tree=context.tree)

    def tally_rule(self) -> TallyRule | None:
        return TallyRule("close", float(self.asked)) if self.distance == "equal" else None

    def describe(self) -> str:
        return (
            f"in every class the distribution of {self.attribute!r} lies within {readable(self.asked)} "
            f"of the whole table's ({self.distance} distance)"
        )

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        best = rounded_up(largest_ratio(*self._distances(whole_table, context)))
        return (
            f"t = {readable(self.asked)} is impossible: all records as one class lie {best} from the "
            f"distribution of {self.attribute!r} that they are compared with, so t must be {best} or more"
        )


def equal_distance(counts: ClassCounts, overall: np.ndarray) -> Distances:
    """The share by which values of a class exceed those of the table: the sum of max(0, c/n - q/N)."""
    total = int(overall.sum())
    bound = total * int(counts.sizes.max())
    sizes, count, overall = (integers(a, bound) for a in (counts.sizes, counts.count, overall))
    excess = np.maximum(count * total - overall[counts.value_of] * sizes[counts.class_of], 0)
    return Distances(np.add.reduceat(excess, counts.starts), sizes * total)


def ordered_distance(counts: ClassCounts, overall: np.ndarray, order: np.ndarray) -> Distances:
    """The sum over the m ranks of |cumulative c/n - cumulative q/N|, over m - 1."""
    ranks, rank_of = np.unique(order, return_inverse=True)
    m, total = len(ranks), int(overall.sum())
    cells = counts.recoded(rank_of, m)
    bound = 4 * m * total * int(cells.sizes.max())
    sizes = integers(cells.sizes, bound)
    in_rank = np.zeros(m, dtype=overall.dtype)
    np.add.at(in_rank, rank_of, overall)
    cumulative = np.cumsum(in_rank)
    before = np.concatenate(([0], np.cumsum(integers(cumulative, bound))))  # sums of cumulative
    apart = _sum_between_cells(cells, cumulative, before, integers(cells.count, bound), total)
    return Distances(apart + sizes * before[cells.value_of[cells.starts]], sizes * total * max(m - 1, 1))


def _sum_between_cells(
    cells: ClassCounts, cumulative: np.ndarray, before: np.ndarray, count: np.ndarray, total: int
) -> np.ndarray:
    """From each cell to the next, the class's cumulative count is constant and the table's is rising."""
    n = cells.sizes.astype(count.dtype)[cells.class_of]
    running = np.cumsum(count)
    in_class = running - np.repeat(running[cells.starts] - count[cells.starts], cells.distinct)
    here = in_class * total
    first, last = cells.value_of, np.append(cells.value_of[1:], 0)
    last[cells.starts + cells.distinct - 1] = len(cumulative)
    crossing = np.searchsorted(cumulative, -(-here // n))  # the table is ahead from here
    crossing = np.clip(crossing, first, last)
    behind = (crossing - first) * here - n * (before[crossing] - before[first])
    ahead = n * (before[last] - before[crossing]) - (last - crossing) * here
    return np.add.reduceat(behind + ahead, cells.starts)


def hierarchical_distance(counts: ClassCounts, overall: np.ndarray, tree: ValueTree) -> Distances:
    """The sum over the nodes of |c/n - q/N| below the node, times half the climb to its parent.

    It equals the paper's sum of height * min(surplus, deficit): what the children of a node exchange climbs
    up to it on one side and down on the other.
    """
    climb = np.where(tree.parent >= 0, tree.height[tree.parent] - tree.height, 0).astype(np.int64)
    total, height = int(overall.sum()), max(int(tree.height.max()), 1)
    bound = 4 * height * total * int(counts.sizes.max())
    below, climb = integers(_below_nodes(overall, tree), bound), integers(climb, bound)
    sizes = integers(counts.sizes, bound)
    apart = sizes * int((climb * below).sum())  # as if the class had no records below any node
    cells = counts.recoded(tree.leaf_node, len(tree.parent))
    for level in range(int(tree.depth.max()), 0, -1):
        apart = apart + _correction(cells, climb * (tree.depth == level), below, sizes, total)
        above = np.where(tree.depth == level, tree.parent, np.arange(len(tree.parent)))
        cells = cells.recoded(above, len(tree.parent))
    return Distances(apart, sizes * (total * 2 * height))


def _correction(
    cells: ClassCounts, climb: np.ndarray, below: np.ndarray, sizes: np.ndarray, total: int
) -> np.ndarray:
    """The weighted sum of |cN - qn| - qn over the cells of each class."""
    fair = below[cells.value_of] * sizes[cells.class_of]
    terms = climb[cells.value_of] * (np.abs(cells.count.astype(sizes.dtype) * total - fair) - fair)
    return np.add.reduceat(terms, cells.starts)


def _below_nodes(overall: np.ndarray, tree: ValueTree) -> np.ndarray:
    """The records of the whole table below each node."""
    below = np.zeros(len(tree.parent), dtype=overall.dtype)
    np.add.at(below, tree.leaf_node, overall)
    for level in range(int(tree.depth.max()), 0, -1):
        nodes = np.flatnonzero(tree.depth == level)
        np.add.at(below, tree.parent[nodes], below[nodes])
    return below

"""Enumeration trees over recodings, walked with bounds: the searches of Li and Li and of Bayardo and Agrawal.

Corrects Fig. 7 of Li and Li, which lists some recodings twice: the child of an applicator keeps this
applicator and those after it.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from kohort.algorithms.kernels.class_tables import sum_by_class
from kohort.algorithms.run import Run, Standing
from kohort.algorithms.schemes.kernels.recoding_bounds import OPEN, class_costs
from kohort.algorithms.schemes.partition_space import Partition, PartitionSpace
from kohort.algorithms.schemes.pricing import BestRecoding, Pricing, Recoded
from kohort.algorithms.schemes.scheme_search import SchemeSearch, as_partitions
from kohort.problem.problem import Problem
from kohort.recoding.columns import Partitions

_SEEDS = 20  # random recodings to begin with


@dataclass(frozen=True)
class EnumeratedSearch(SchemeSearch):
    """A search of a tree of all recodings, whose nodes apply one attribute after the other (section 3.2)."""

    node_pruning: bool = True
    applicator_pruning: bool = True
    seeding: bool = True
    modified_bfs: bool = True
    node_rearrangement: bool = True
    applicator_rearrangement: bool = True

    def solve(self, problem: Problem, run: Run) -> Partitions:
        pricing = Pricing(problem, self.spaces(problem))
        return as_partitions(pricing, _Walk(self, pricing).best_recoding(run))

    @abstractmethod
    def ends(self, pricing: Pricing) -> tuple[Recoded, Recoded]:
        """The recoding at the root of the tree, and the one that applying every attribute may lead to."""

    @abstractmethod
    def children(self, space: PartitionSpace, partition: Partition) -> Iterable[Partition]:
        """The children of a partition in the tree of the partitions of one attribute, made one by one."""

    @abstractmethod
    def random_child(
        self, space: PartitionSpace, partition: Partition, rng: np.random.Generator
    ) -> Partition | None:
        """A child of a partition, drawn at random; None if it has none."""

    @abstractmethod
    def bound(self, pricing: Pricing, recoded: Recoded, applicators: Sequence[int]) -> float:
        """A lower bound on the cost of every recoding that these applicators can reach from this one."""

    def useful(self, pricing: Pricing, recoded: Recoded, applicators: Sequence[int]) -> set[int]:
        """Applicators without which no recoding that they can reach is allowed."""
        return set()


@dataclass(frozen=True)
class BottomUp(EnumeratedSearch):
    """The search of Li and Li: an enumeration tree of all recodings, with bounds.

    The tree begins at the original values; a child merges some of them in one attribute. A record in a class
    of k or more stays in one, and its cost only grows, which bounds the costs of all nodes below a node. Each
    of the paper's techniques can be switched off, to see its effect.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    useful_applicators        where no record may be withheld: require attributes that must be generalized
    seeding                   begin with the best of some random recodings
    modified_bfs              check a node's bound again when its turn comes
    node_rearrangement        nodes of least bound first, not in the order they were found
    applicator_rearrangement  attributes that merge few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "bottom-up"
    scheme_search: ClassVar[str | None] = name
    summary: ClassVar[str] = (
        "finds the best recoding of whole columns under a scheme, starting from the finest; for small k"
    )
    paper: ClassVar[str] = (
        "Li, Li: Towards optimal k-anonymization, Data and Knowledge Engineering 65 (2008), sections 3 and 4"
    )

    useful_applicators: bool = True

    def ends(self, pricing: Pricing) -> tuple[Recoded, Recoded]:
        return pricing.finest, pricing.coarsest

    def children(self, space: PartitionSpace, partition: Partition) -> Iterable[Partition]:
        return space.coarser(partition)

    def random_child(
        self, space: PartitionSpace, partition: Partition, rng: np.random.Generator
    ) -> Partition | None:
        coarser = space.coarser(partition)
        return coarser[int(rng.integers(len(coarser)))] if coarser else None

    def bound(self, pricing: Pricing, recoded: Recoded, applicators: Sequence[int]) -> float:
        """A lower bound: published records cost no less below, withheld ones perhaps nothing (section 4.3.1).

        For discernibility, a withheld record costs at least k.
        """
        cells = pricing.cells(recoded)
        everybody = np.full(len(cells.sizes), pricing.problem.n_records)
        penalties = pricing.penalties(cells, recoded)
        least, state, _ = class_costs(cells.sizes, penalties, everybody, pricing.problem.k, 0.0)
        return float(least.sum() if pricing.discernible else least[state != OPEN].sum())

    def useful(self, pricing: Pricing, recoded: Recoded, applicators: Sequence[int]) -> set[int]:
        """Attributes without which a record would be withheld, where that is not allowed (section 4.4)."""
        if pricing.problem.max_withheld or not self.useful_applicators:
            return set()
        end = self.ends(pricing)[1]
        without = {
            j: tuple(end[i] if i in applicators and i != j else part for i, part in enumerate(recoded))
            for j in applicators
        }
        return {j for j, others in without.items() if pricing.evaluate(others).withheld}


@dataclass(frozen=True)
class TopDownSearch(EnumeratedSearch):
    """The rival of bottom-up: a tree of all recodings that begins at the coarsest one.

    The tree begins with all records as one class; a child splits a block of one attribute. A record in a
    class below k stays in one, and others cost no less than in the finest classes below the node, which
    bounds the costs of all nodes below it. Its techniques can be switched off like those of bottom-up.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    seeding                   begin with the best of some random recodings
    modified_bfs              check a node's bound again when its turn comes
    node_rearrangement        nodes of least bound first, not in the order they were found
    applicator_rearrangement  attributes that split few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "top-down-search"
    scheme_search: ClassVar[str | None] = name
    summary: ClassVar[str] = (
        "finds the best recoding of whole columns under a scheme, starting from the coarsest; for large k"
    )
    paper: ClassVar[str] = (
        "Bayardo, Agrawal: Data privacy through optimal k-anonymization, ICDE 2005; schemes: Li, Li (2008)"
    )

    def ends(self, pricing: Pricing) -> tuple[Recoded, Recoded]:
        return pricing.coarsest, pricing.finest

    def children(self, space: PartitionSpace, partition: Partition) -> Iterable[Partition]:
        return space.finer(partition)

    def random_child(
        self, space: PartitionSpace, partition: Partition, rng: np.random.Generator
    ) -> Partition | None:
        return space.random_finer(partition, rng)

    def bound(self, pricing: Pricing, recoded: Recoded, applicators: Sequence[int]) -> float:
        """A lower bound: withheld records stay so; others cost no less than in the finest classes below."""
        end, problem = self.ends(pricing)[1], pricing.problem
        finest = tuple(end[j] if j in applicators else part for j, part in enumerate(recoded))
        cells = pricing.cells(finest)
        class_of, first = pricing.classes(recoded, cells.first)
        sizes = sum_by_class(class_of, cells.sizes, len(first))[class_of]
        penalties = pricing.penalties(cells, finest)
        least, _, lost = class_costs(cells.sizes, penalties, sizes, problem.k, pricing.withheld_cost)
        return np.inf if lost > problem.max_withheld else float(least.sum())


@dataclass(frozen=True, eq=False)
class _Node:
    recoded: Recoded
    applicators: tuple[int, ...]
    bound: float


class _Walk:
    """The walk through a tree, and the best recoding it has met."""

    def __init__(self, search: EnumeratedSearch, pricing: Pricing) -> None:
        self.search, self.pricing = search, pricing
        self.root, self.end = search.ends(pricing)
        coarsest = pricing.coarsest
        self.best = BestRecoding(coarsest, pricing.evaluate(coarsest).cost, 0, 0.0, 0)
        self.nodes = 0

    def best_recoding(self, run: Run) -> BestRecoding:
        if self.search.seeding:
            self._seed(run)
        number = count()
        everything = tuple(range(len(self.pricing.spaces)))
        waiting: list[tuple[float, int, _Node]] = []

        def add(node: _Node) -> None:
            order = node.bound if self.search.node_rearrangement else 0.0
            heapq.heappush(waiting, (order, next(number), node))

        self._try(self.root)
        add(_Node(self.root, everything, self.search.bound(self.pricing, self.root, everything)))
        while waiting and not run.out_of_time:
            node = heapq.heappop(waiting)[2]
            if self._is_pruned(node.bound) and (self.search.modified_bfs or node.recoded == self.root):
                continue
            if self.nodes % 256 < 4:
                self._report(run, node.bound)
            children, complete = self._expanded(node, run)
            for child in children if complete else [*children, node]:
                add(child)
        bounds = [node.bound for _, _, node in waiting]
        cost = self.best.cost
        lowest = min([bound for bound in bounds if not bound >= self.best.limit], default=cost)
        return BestRecoding(self.best.recoded, cost, self.best.withheld, min(lowest, cost), self.nodes)

    def _seed(self, run: Run) -> None:
        """Try a few recodings drawn at random (section 4.4.1)."""
        rng = np.random.default_rng(self.pricing.problem.seed)
        for _ in range(_SEEDS):
            if run.out_of_time:
                break
            recoded = []
            for space, partition in zip(self.pricing.spaces, self.root):
                for _ in range(int(rng.integers(space.n))):
                    partition = self.search.random_child(space.space, partition, rng) or partition
                recoded.append(partition)
            self._try(tuple(recoded))

    def _expanded(self, node: _Node, run: Run) -> tuple[list[_Node], bool]:
        """The children of a node that may lead to something better, and whether there was time for all."""
        order = self._ordered(node)
        useful = self.search.useful(self.pricing, node.recoded, order)
        found: list[_Node] = []
        kept = [j for j in order if not self._is_useless(node, j, order, run)]
        for place, j in enumerate(kept):
            for child in self._children(node, j):
                if run.out_of_time:
                    return found, False
                self.nodes += 1
                self._try(child)
                bound = self.search.bound(self.pricing, child, kept[place:])
                if not self._is_pruned(bound):
                    found.append(_Node(child, tuple(kept[place:]), bound))
            if j in useful:  # children of later applicators never apply it
                break
        return found, True

    def _children(self, node: _Node, j: int) -> Iterable[Recoded]:
        for partition in self.search.children(self.pricing.spaces[j].space, node.recoded[j]):
            yield _with(node.recoded, j, partition)

    def _is_useless(self, node: _Node, j: int, order: Sequence[int], run: Run) -> bool:
        """Whether every child of an applicator is pruned, in whatever order applicators come."""
        return self.search.applicator_pruning and all(
            not run.out_of_time and self._is_pruned(self.search.bound(self.pricing, child, order))
            for child in self._children(node, j)
        )

    def _ordered(self, node: _Node) -> tuple[int, ...]:
        """The applicators by how many classes they change, fewest first (section 4.4.4)."""
        if not self.search.applicator_rearrangement:
            return node.applicators
        n_classes = len(self.pricing.classes(node.recoded)[1])
        changed = {
            j: abs(n_classes - len(self.pricing.classes(_with(node.recoded, j, self.end[j]))[1]))
            for j in node.applicators
        }
        return tuple(sorted(node.applicators, key=lambda j: (changed[j], j)))

    def _try(self, recoded: Recoded) -> None:
        found = self.pricing.evaluate(recoded)
        if found.withheld <= self.pricing.problem.max_withheld and found.cost < self.best.limit:
            self.best = BestRecoding(recoded, found.cost, found.withheld, 0.0, 0)

    def _is_pruned(self, bound: float) -> bool:
        return self.search.node_pruning and bound >= self.best.limit

    def _report(self, run: Run, bound: float) -> None:
        show, best, in_order = self.pricing.measured, self.best.cost, self.search.node_rearrangement
        share = min(max(bound / best, 0.0), 1.0) if best > 0 else 1.0
        gap = f", gap {best / bound - 1:.2%}" if bound > 0 and in_order else ""
        words = f"enumerating: best {show(best):.6g}, bound {show(bound):.6g}{gap}, {self.nodes:,} nodes"
        run.report(Standing(words, show(best), show(bound)), share if in_order else 0.0)


def _with(recoded: Recoded, j: int, partition: Partition) -> Recoded:
    return (*recoded[:j], partition, *recoded[j + 1 :])

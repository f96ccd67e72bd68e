"""Enumeration trees over recodings, walked with bounds: the searches of Li and Li and of Bayardo and Agrawal.

Corrects Fig. 7 of the paper, which lists some recodings twice: the child of an applicator keeps this
applicator and those after it.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import numpy as np

from kohort.algorithms.kernels.class_tables import sum_by_class
from kohort.algorithms.run import Run, Standing
from kohort.algorithms.schemes.best_recoding import BestRecoding
from kohort.algorithms.schemes.kernels.recoding_bounds import OPEN, class_costs
from kohort.algorithms.schemes.partition_space import Partition
from kohort.algorithms.schemes.pricing import Pricing, Recoded

_SEEDS = 20


class Pruning(Protocol):
    """Which of the techniques of section 4 are used."""

    @property
    def node_pruning(self) -> bool: ...

    @property
    def applicator_pruning(self) -> bool: ...

    @property
    def seeding(self) -> bool: ...

    @property
    def modified_bfs(self) -> bool: ...

    @property
    def node_rearrangement(self) -> bool: ...

    @property
    def applicator_rearrangement(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class _Node:
    recoded: Recoded
    applicators: tuple[int, ...]
    bound: float


class EnumerationTree(ABC):
    """A tree of all recodings, whose nodes apply one attribute after the other (section 3.2)."""

    def __init__(self, pricing: Pricing, pruning: Pruning) -> None:
        self.pricing, self.pruning = pricing, pruning
        self.k, self.most_withheld = pricing.problem.k, pricing.problem.max_withheld
        coarsest = pricing.coarsest
        self.best = BestRecoding(coarsest, pricing.evaluate(coarsest).cost, 0, 0.0, 0)
        self.nodes = 0

    # -- what makes a direction --------------------------------------------------------------------

    @property
    @abstractmethod
    def root(self) -> Recoded:
        """The recoding at the root of the tree."""

    @abstractmethod
    def children(self, j: int, partition: Partition) -> Iterable[Partition]:
        """The children of a partition of attribute j in the tree of its partitions, made one by one."""

    @abstractmethod
    def random_child(self, j: int, partition: Partition, rng: np.random.Generator) -> Partition | None:
        """A child of a partition of attribute j, drawn at random; None if it has none."""

    @abstractmethod
    def bound(self, recoded: Recoded, applicators: Sequence[int]) -> float:
        """A lower bound on the cost of every recoding that these applicators can reach from this one."""

    @abstractmethod
    def end(self, j: int) -> Partition:
        """The last partition that applying attribute j can lead to."""

    # -- the walk ----------------------------------------------------------------------------------

    def solve(self, run: Run) -> BestRecoding:
        if self.pruning.seeding:
            self._seed(run)
        number = count()
        everything = tuple(range(len(self.pricing.spaces)))
        waiting: list[tuple[float, int, _Node]] = []

        def add(node: _Node) -> None:
            order = node.bound if self.pruning.node_rearrangement else 0.0
            heapq.heappush(waiting, (order, next(number), node))

        self._try(self.root)
        add(_Node(self.root, everything, self.bound(self.root, everything)))
        while waiting and not run.out_of_time:
            node = heapq.heappop(waiting)[2]
            if self._is_pruned(node.bound) and (self.pruning.modified_bfs or node.recoded == self.root):
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
        """The best of a few recodings drawn at random (section 4.4.1)."""
        rng = np.random.default_rng(self.pricing.problem.seed)
        for _ in range(_SEEDS):
            if run.out_of_time:
                break
            recoded = []
            for j, partition in enumerate(self.root):
                for _ in range(int(rng.integers(self.pricing.spaces[j].n))):
                    partition = self.random_child(j, partition, rng) or partition
                recoded.append(partition)
            self._try(tuple(recoded))

    def _expanded(self, node: _Node, run: Run) -> tuple[list[_Node], bool]:
        """The children of a node that may lead to something better, and whether there was time for all."""
        order = self._ordered(node)
        useful = self._useful(node, order)
        found: list[_Node] = []
        kept = [j for j in order if not self._is_useless(node, j, order, run)]
        for place, j in enumerate(kept):
            for further in self.children(j, node.recoded[j]):
                if run.out_of_time:
                    return found, False
                child = _with(node.recoded, j, further)
                self.nodes += 1
                self._try(child)
                bound = self.bound(child, kept[place:])
                if not self._is_pruned(bound):
                    found.append(_Node(child, tuple(kept[place:]), bound))
            if j in useful:  # children of later applicators never apply it
                break
        return found, True

    def _is_useless(self, node: _Node, j: int, order: Sequence[int], run: Run) -> bool:
        """Whether every child of an applicator is pruned, in whatever order applicators come."""
        if not self.pruning.applicator_pruning:
            return False
        for further in self.children(j, node.recoded[j]):
            if run.out_of_time or not self._is_pruned(self.bound(_with(node.recoded, j, further), order)):
                return False
        return True

    def _ordered(self, node: _Node) -> tuple[int, ...]:
        """The applicators by how many classes they change, fewest first (section 4.4.4)."""
        if not self.pruning.applicator_rearrangement:
            return node.applicators
        n_classes = len(self.pricing.classes(node.recoded)[1])
        changed = {
            j: abs(n_classes - len(self.pricing.classes(_with(node.recoded, j, self.end(j)))[1]))
            for j in node.applicators
        }
        return tuple(sorted(node.applicators, key=lambda j: (changed[j], j)))

    def _useful(self, node: _Node, order: Sequence[int]) -> set[int]:
        """Applicators without which no recoding below the node is allowed."""
        return set()

    def _try(self, recoded: Recoded) -> None:
        found = self.pricing.evaluate(recoded)
        if found.withheld <= self.most_withheld and found.cost < self.best.limit:
            self.best = BestRecoding(recoded, found.cost, found.withheld, 0.0, 0)

    def _is_pruned(self, bound: float) -> bool:
        return self.pruning.node_pruning and bound >= self.best.limit

    def _report(self, run: Run, bound: float) -> None:
        show, best = self.pricing.measured, self.best.cost
        share = min(max(bound / best, 0.0), 1.0) if best > 0 else 1.0
        gap = f", gap {best / bound - 1:.2%}" if bound > 0 and self.pruning.node_rearrangement else ""
        words = f"enumerating: best {show(best):.6g}, bound {show(bound):.6g}{gap}, {self.nodes:,} nodes"
        run.report(
            Standing(words, show(best), show(bound)), share if self.pruning.node_rearrangement else 0.0
        )


class FromFinest(EnumerationTree):
    """Bottom-up: from the original values on, each child more general (Li and Li)."""

    @property
    def root(self) -> Recoded:
        return self.pricing.finest

    def children(self, j: int, partition: Partition) -> Iterable[Partition]:
        return self.pricing.spaces[j].space.coarser(partition)

    def random_child(self, j: int, partition: Partition, rng: np.random.Generator) -> Partition | None:
        coarser = self.pricing.spaces[j].space.coarser(partition)
        return coarser[int(rng.integers(len(coarser)))] if coarser else None

    def end(self, j: int) -> Partition:
        return self.pricing.coarsest[j]

    def bound(self, recoded: Recoded, applicators: Sequence[int]) -> float:
        """A lower bound: published records cost no less below, withheld ones perhaps nothing (section 4.3.1).

        For discernibility, a withheld record costs at least k.
        """
        cells = self.pricing.cells(recoded)
        penalties = self.pricing.penalties(cells, recoded)
        everybody = np.full(len(cells.sizes), self.pricing.problem.n_records)
        least, state, _ = class_costs(cells.sizes, penalties, everybody, self.k, 0.0)
        return float(least.sum() if self.pricing.discernible else least[state != OPEN].sum())

    def _useful(self, node: _Node, order: Sequence[int]) -> set[int]:
        """Attributes without which a record would be withheld, where that is not allowed (section 4.4)."""
        if self.most_withheld or not getattr(self.pruning, "useful_applicators", True):
            return set()
        found = set()
        for j in order:
            others = tuple(self.end(i) if i in order and i != j else p for i, p in enumerate(node.recoded))
            if self.pricing.evaluate(others).withheld:
                found.add(j)
        return found


class FromCoarsest(EnumerationTree):
    """Top-down: from one class of all records on, each child more specific (Bayardo and Agrawal, 2005)."""

    @property
    def root(self) -> Recoded:
        return self.pricing.coarsest

    def children(self, j: int, partition: Partition) -> Iterable[Partition]:
        return self.pricing.spaces[j].space.finer(partition)

    def random_child(self, j: int, partition: Partition, rng: np.random.Generator) -> Partition | None:
        return self.pricing.spaces[j].space.random_finer(partition, rng)

    def end(self, j: int) -> Partition:
        return self.pricing.finest[j]

    def bound(self, recoded: Recoded, applicators: Sequence[int]) -> float:
        """A lower bound: withheld records stay so; others cost no less than in the finest classes below."""
        finest = tuple(self.end(j) if j in applicators else part for j, part in enumerate(recoded))
        cells = self.pricing.cells(finest)
        class_of, first = self.pricing.classes(recoded, cells.first)
        sizes = sum_by_class(class_of, cells.sizes, len(first))[class_of]
        penalties = self.pricing.penalties(cells, finest)
        withheld_cost = self.pricing.withheld_cost
        least, _, lost = class_costs(cells.sizes, penalties, sizes, self.k, withheld_cost)
        return np.inf if lost > self.most_withheld else float(least.sum())


def _with(recoded: Recoded, j: int, partition: Partition) -> Recoded:
    return (*recoded[:j], partition, *recoded[j + 1 :])

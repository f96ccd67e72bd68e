"""The common part of bottom-up and top-down-search: their switches, and the walk through a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.enumeration_tree import EnumerationTree
from kohort.algorithms.schemes.pricing import Pricing
from kohort.algorithms.schemes.scheme_search import SchemeSearch, as_partitions
from kohort.problem.problem import Problem
from kohort.recoding.partitions import Partitions


@dataclass(frozen=True)
class EnumeratedSearch(SchemeSearch):
    """A search by an enumeration tree; each technique can be switched off."""

    tree: ClassVar[type[EnumerationTree]]

    node_pruning: bool = True
    applicator_pruning: bool = True
    seeding: bool = True
    modified_bfs: bool = True
    node_rearrangement: bool = True
    applicator_rearrangement: bool = True

    def solve(self, problem: Problem, run: Run) -> Partitions:
        pricing = Pricing(problem, self.spaces(problem))
        return as_partitions(pricing, self.tree(pricing, self).solve(run))

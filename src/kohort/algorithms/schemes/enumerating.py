"""What bottom-up and top-down-search share: their switches, and a tree to walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.enumeration import EnumerationTree
from kohort.algorithms.schemes.pricing import COSTS_OF_SCHEMES, Pricing
from kohort.algorithms.schemes.recode import (
    MODELS_OF_SCHEMES,
    Schemes,
    as_partitions,
    check_schemes,
    refuse_for_schemes,
)
from kohort.parameters import check_parameters
from kohort.problem.problem import Problem
from kohort.recoding.partitions import Partitions

__all__ = ["Enumerating"]


@dataclass(frozen=True)
class Enumerating:
    """A search by an enumeration tree; each technique can be switched off."""

    name: ClassVar[str]
    promise: ClassVar[str] = "the least cost of all recodings of the scheme"
    models: ClassVar[tuple[str, ...]] = MODELS_OF_SCHEMES
    costs: ClassVar[tuple[str, ...]] = COSTS_OF_SCHEMES
    summary: ClassVar[str]
    paper: ClassVar[str]
    tree: ClassVar[type[EnumerationTree]]

    scheme: Schemes = None
    node_pruning: bool = True
    applicator_pruning: bool = True
    seeding: bool = True
    modified_bfs: bool = True
    node_rearrangement: bool = True
    applicator_rearrangement: bool = True

    def __post_init__(self) -> None:
        check_parameters(self)
        check_schemes(self.scheme)

    def refuse(self, problem: Problem) -> None:
        refuse_for_schemes(self, problem, self.scheme)

    def solve(self, problem: Problem, run: Run) -> Partitions:
        pricing = Pricing(problem, refuse_for_schemes(self, problem, self.scheme))
        return as_partitions(pricing, self.tree(pricing, self).solve(run))

"""Bottom-up: from the original values on, values are merged as long as that may pay (Li and Li, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.run import Run
from kohort.algorithms.single_dimensional.enumeration import FromFinest, Pruning
from kohort.algorithms.single_dimensional.pricing import COSTS_OF_SCHEMES, Pricing
from kohort.algorithms.single_dimensional.recode import (
    MODELS_OF_SCHEMES,
    Schemes,
    as_partitions,
    check_schemes,
    refuse_for_schemes,
)
from kohort.problem.problem import Problem
from kohort.recoding.partitions import Partitions

__all__ = ["BottomUp"]


@dataclass(frozen=True)
class BottomUp:
    """The search of Li and Li: an enumeration tree of all recodings, with bounds.

    The tree begins at the original values; a child merges some of them in one attribute. Whoever is in a
    class of k stays so and only gets dearer, which bounds all that comes after a node. Each of the paper's
    techniques can be switched off, to see what it is worth.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    useful_applicators        where nobody may be withheld: insist on attributes that must be generalized
    seeding                   begin with the best of some random recodings
    modified_bfs              look at a node's bound again when its turn comes
    node_rearrangement        the least bound first, not the first come
    applicator_rearrangement  attributes that merge few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "bottom-up"
    summary: ClassVar[str] = (
        "the best recoding of whole columns under a scheme, enumerated from the finest one on; for small k"
    )
    paper: ClassVar[str] = (
        "Li, Li: Towards optimal k-anonymization, Data and Knowledge Engineering 65 (2008), sections 3 and 4"
    )
    promise: ClassVar[str] = "the least cost of all recodings of the scheme"
    models: ClassVar[tuple[str, ...]] = MODELS_OF_SCHEMES
    costs: ClassVar[tuple[str, ...]] = COSTS_OF_SCHEMES

    scheme: Schemes = None
    node_pruning: bool = True
    applicator_pruning: bool = True
    useful_applicators: bool = True
    seeding: bool = True
    modified_bfs: bool = True
    node_rearrangement: bool = True
    applicator_rearrangement: bool = True

    def __post_init__(self) -> None:
        check_schemes(self.scheme)

    def refuse(self, problem: Problem) -> None:
        refuse_for_schemes(self, problem, self.scheme)

    def solve(self, problem: Problem, run: Run) -> Partitions:
        pricing = Pricing(problem, refuse_for_schemes(self, problem, self.scheme))
        pruning = Pruning(
            node_pruning=self.node_pruning,
            applicator_pruning=self.applicator_pruning,
            useful_applicators=self.useful_applicators,
            seeding=self.seeding,
            modified_bfs=self.modified_bfs,
            node_rearrangement=self.node_rearrangement,
            applicator_rearrangement=self.applicator_rearrangement,
        )
        return as_partitions(pricing, FromFinest(pricing, pruning).solve(run))

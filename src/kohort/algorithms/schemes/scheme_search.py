"""The common part of all searches under a scheme: the scheme, the problems refused, and the recoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.schemes.partition_space import Partition, blocks_of
from kohort.algorithms.schemes.pricing import BestRecoding, Pricing
from kohort.algorithms.schemes.scheme_spaces import SchemeSpace, check_scheme, scheme_spaces
from kohort.errors import InputError
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.recoding.columns import Partitions


@dataclass(frozen=True)
class SchemeSearch(Algorithm):
    """A search for the best recoding of whole columns under a scheme.

    scheme  one for all columns, or one for each by name (`*`: all others); None: the default of each column
    """

    promise: ClassVar[str] = "the least cost of all recodings of the scheme"
    recoding: ClassVar[type[Partitions]] = Partitions
    withholds: ClassVar[bool] = True
    people = "refuses"
    takes_scheme: ClassVar[bool] = True

    scheme: str | Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scheme, Mapping):
            for scheme in self.scheme.values():
                check_scheme(scheme)
        elif self.scheme is not None:
            check_scheme(self.scheme)

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.monotone and (cost.counts_classmates or cost.prices_blocks)

    def refuse(self, problem: Problem) -> None:
        self.spaces(problem)

    def spaces(self, problem: Problem) -> list[SchemeSpace]:
        """The partitions of each attribute to search, or an error that says what to change."""
        self.refuse_cost(problem.cost)
        if isinstance(self.scheme, Mapping):
            names = [attribute.name for attribute in problem.attributes]
            for name in self.scheme:
                if name not in (*names, "*"):
                    raise InputError(f"A scheme is given for {name!r}, which is not a quasi-identifier.")
        return scheme_spaces(problem, self.scheme)


def as_partitions(pricing: Pricing, found: BestRecoding) -> Partitions:
    """The best recoding as it is published, with the proven bound and notes."""
    problem = pricing.problem
    class_of, first = pricing.classes(found.recoded)
    sizes = np.bincount(class_of, problem.rows.counts, minlength=len(first))
    withheld = (sizes < problem.k)[class_of][problem.rows.of_record]
    blocks = {
        space.attribute.name: _block_of_leaf(space, partition)
        for space, partition in zip(pricing.spaces, found.recoded)
    }
    cost, bound = pricing.measured(found.cost), max(pricing.measured(found.bound), 0.0)
    schemes = {space.attribute.name: space.scheme for space in pricing.spaces}
    proven = found.bound >= found.cost
    return Partitions(
        blocks,
        withheld,
        search={
            "attributes": schemes,
            "bound": bound,
            "gap": 0.0 if proven else (cost / bound - 1 if bound > 0 else None),
            "nodes": found.nodes,
        },
        in_domain=all(space.in_domain for space in pricing.spaces),
        notes=(_note(sorted(set(schemes.values())), proven, cost, bound, found.nodes),),
    )


def _block_of_leaf(space: SchemeSpace, partition: Partition) -> np.ndarray:
    """The block of each leaf of the domain; a leaf that no record has and no block takes in stays alone."""
    block_of = np.arange(space.attribute.n_leaves)
    for block in blocks_of(partition):
        leaves = space.leaves(block, partition)
        block_of[leaves] = leaves[0]
    return block_of


def _note(schemes: Sequence[str], proven: bool, cost: float, bound: float, nodes: int) -> str:
    names = ", ".join(schemes)
    looked = f"{nodes:,} {'node' if nodes == 1 else 'nodes'} examined"
    if proven:
        return f"Proven: no {names} recoding costs less ({looked})."
    gap = f", at most {cost / bound - 1:.1%} above the least cost" if bound > 0 else ""
    return (
        f"Stopped at the time limit with the best {names} recoding found{gap}; none costs less than "
        f"{bound:.6g} ({looked})."
    )

"""What the three searches share: what they refuse, and how what they found is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.schemes.branch_and_bound import Found
from kohort.algorithms.schemes.pricing import Pricing
from kohort.algorithms.schemes.schemes import SchemeSpace, check_scheme, scheme_spaces
from kohort.algorithms.schemes.spaces import Partition, blocks_of
from kohort.errors import InputError, UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.partitions import Partitions

__all__ = ["MODELS_OF_SCHEMES", "Schemes", "as_partitions", "check_schemes", "refuse_for_schemes"]

MODELS_OF_SCHEMES = ("k-anonymity",)
Schemes = str | Mapping[str, str] | None


def check_schemes(scheme: Any) -> None:
    """Refuse what names no scheme."""
    if isinstance(scheme, Mapping):
        for name in scheme.values():
            check_scheme(name)
    elif isinstance(scheme, str):
        check_scheme(scheme)


def refuse_for_schemes(algorithm: Algorithm, problem: Problem, scheme: Schemes) -> list[SchemeSpace]:
    """The spaces to search, or an error that says what to change."""
    if problem.cost.name not in algorithm.costs:
        raise UnsupportedError(
            f"{algorithm.name} cannot minimise {problem.cost.name!r}. "
            f"Choose one of {', '.join(algorithm.costs)}."
        )
    if isinstance(scheme, Mapping):
        names = [attribute.name for attribute in problem.attributes]
        for name in scheme:
            if name not in (*names, "*"):
                raise InputError(f"A scheme is given for {name!r}, which is not a quasi-identifier.")
    return scheme_spaces(problem, scheme)


def as_partitions(pricing: Pricing, found: Found) -> Partitions:
    """The best recoding as it is published, and what is proven about it."""
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
    """Per leaf of the domain its block; a leaf that nobody has and that no block takes in stays alone."""
    block_of = np.arange(space.attribute.n_leaves)
    for block in blocks_of(partition):
        leaves = space.leaves(block, partition)
        block_of[leaves] = leaves[0]
    return block_of


def _note(schemes: Sequence[str], proven: bool, cost: float, bound: float, nodes: int) -> str:
    names = ", ".join(schemes)
    looked = f"{nodes:,} {'node' if nodes == 1 else 'nodes'} looked at"
    if proven:
        return f"Proven: no {names} recoding costs less ({looked})."
    gap = f", at most {cost / bound - 1:.1%} above the least cost" if bound > 0 else ""
    return (
        f"Stopped at the time limit with the best {names} recoding found{gap}; none costs less than "
        f"{bound:.6g} ({looked})."
    )

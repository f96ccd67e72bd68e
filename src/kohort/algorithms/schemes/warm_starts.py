"""Where else a search may begin: with what is good without one of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.descent import Descent
from kohort.algorithms.schemes.pricing import Pricing, Recoded

__all__ = ["from_fewer_columns", "warm_starts"]

_STARTS = 6  # random ones, without each of the columns


def warm_starts(pricing: Pricing, run: Run, rng: np.random.Generator) -> Iterator[Recoded]:
    """Recodings to descend from, where they were seen to help: discernibility, and runs are merged.

    For other costs, for sets, and where only whole nodes are merged, random starts find what these find.
    """
    ways = {way for space in pricing.spaces for way in space.space.merging}
    if pricing.discernible and "runs" in ways and "sets" not in ways:
        yield from from_fewer_columns(pricing, run, rng)


def from_fewer_columns(pricing: Pricing, run: Run, rng: np.random.Generator) -> Iterator[Recoded]:
    """What descents find without one of the columns, for each of them; that one as coarse as can be.

    As the others are the best for that, the next descent decides this column first.
    """
    problem = pricing.problem
    for j in range(len(pricing.spaces)):
        attributes = (*problem.attributes[:j], *problem.attributes[j + 1 :])
        if run.out_of_time or not any(attribute.weight for attribute in attributes):
            continue
        spaces = [*pricing.spaces[:j], *pricing.spaces[j + 1 :]]
        fewer = Pricing(replace(problem, attributes=attributes), spaces)
        found = Descent(fewer).look_around(run, rng, _STARTS).recoded
        yield (*found[:j], pricing.coarsest[j], *found[j:])

"""Further starting points of a search: good recodings of the table without one of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.descent import Descent
from kohort.algorithms.schemes.pricing import Pricing, Recoded

__all__ = ["from_fewer_columns", "warm_starts"]

_STARTS = 6  # random starts without each of the columns


def warm_starts(pricing: Pricing, run: Run, rng: np.random.Generator) -> Iterator[Recoded]:
    """Recodings to descend from, where they have proved useful: discernibility, if runs are merged.

    For other costs, for sets, and where only whole nodes are merged, random starts find the same recodings.
    """
    ways = {way for space in pricing.spaces for way in space.space.merging}
    if pricing.discernible and "runs" in ways and "sets" not in ways:
        yield from from_fewer_columns(pricing, run, rng)


def from_fewer_columns(pricing: Pricing, run: Run, rng: np.random.Generator) -> Iterator[Recoded]:
    """The recodings that descents find without each of the columns, which is made as coarse as possible.

    Since the other columns are the best for that, the next descent decides this column first.
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

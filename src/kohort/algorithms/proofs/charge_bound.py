"""A lower bound on the cost of every release, from nearest records (Aggarwal et al., 2005, section 4.1)."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, Neighbours
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem

_MOST_ROWS = 20_000


def charge_bound(problem: Problem, graph: NeighbourGraph, neighbours: Neighbours) -> float | None:
    """A lower bound on the cost of every k-anonymous release, in the units of the chosen cost.

    Section 4.1: a record shares its class with k - 1 others, and the farthest of these is at least as far as
    its (k-1)-st nearest record. The class is published as something that covers both, and for a monotone
    cost, cell by cell, that costs no less than the closure of the two, which is their distance. A withheld
    record is published as `*`, which covers everything. So the sum of these distances is a bound for every
    separable, monotone cost: over hierarchies, intervals and sets alike, with any weights of attributes or
    records, under any further privacy model, and for algorithms of any kind. None where the measure is in
    other units than the search.
    """
    assert problem.cost.monotone and problem.cost.separable
    return in_measured_units(problem, float(np.dot(problem.row_masses, neighbours.radius)))


def lower_bound(problem: Problem, run: Run) -> float | None:
    """`charge_bound` where it is cheap: for at most 20,000 distinct rows and a cost that it holds for.

    None also when the time is up.
    """
    if not problem.cost.metric or problem.coded.has_more_rows_than(_MOST_ROWS):
        return None
    try:
        graph = NeighbourGraph.of(problem)
    except UnsupportedError:  # this cost of free intervals or sets is measured, not searched
        return None
    neighbours = graph.nearest(problem.k, run)
    return None if neighbours is None else charge_bound(problem, graph, neighbours)

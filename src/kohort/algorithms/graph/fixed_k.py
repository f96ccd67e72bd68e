"""Shared by the algorithms for one k: the problems they refuse, and what a factor of the graph proves."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.proofs.measured_units import in_measured_units, searches_what_is_measured
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph
from kohort.algorithms.refusals import refuse_without_graph
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem

_FOR_K = {2: "two-anonymity", 3: "three-anonymity"}


def refuse_other_k(algorithm: Algorithm, problem: Problem) -> None:
    """Raise UnsupportedError if k is not the one the algorithm is for, naming an algorithm for that k."""
    if _FOR_K.get(problem.k) != algorithm.name:
        (own,) = (k for k, name in _FOR_K.items() if name == algorithm.name)
        raise UnsupportedError(
            f"{algorithm.name} is for k = {own}, not k = {problem.k}. "
            f"Choose {_FOR_K.get(problem.k, 'forest')}."
        )
    refuse_without_graph(algorithm, problem)


def better_bound(problem: Problem, charge: float | None, weight: float) -> float | None:
    """The greater of two lower bounds on the cost: `charge`, and `weight` if no record may be withheld."""
    if charge is None or problem.max_withheld:
        return charge
    weighed = in_measured_units(problem, weight)
    return charge if weighed is None else max(charge, weighed)


def proven_factor(
    problem: Problem, graph: NeighbourGraph, groups: np.ndarray, bound: float | None, *, known: float | None
) -> float | None:
    """The approximation factor of the groups: `known` for an exact run, else their cost over the bound."""
    if bound is None or not searches_what_is_measured(problem):
        return None
    if known is not None:
        return known
    cost = in_measured_units(problem, float(np.dot(np.bincount(groups), graph.group_costs(groups))))
    return max(cost / bound, 1.0) if bound > 0 and cost is not None else None

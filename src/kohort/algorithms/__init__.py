"""Algorithms by their spec names."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.alpha_k.progressive import Progressive
from kohort.algorithms.alpha_k.top_down import TopDown
from kohort.algorithms.auto import Auto, resolved
from kohort.algorithms.closed_records.k_anon import KAnon
from kohort.algorithms.closed_records.k_anon_cf import KAnonCF
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.algorithms.clustering.agglomerative import Agglomerative
from kohort.algorithms.clustering.hilbert import Hilbert
from kohort.algorithms.clustering.sequential import Sequential
from kohort.algorithms.full_domain.full_domain import FullDomain
from kohort.algorithms.full_domain.incognito import Incognito
from kohort.algorithms.graph.forest import Forest
from kohort.algorithms.graph.three_anonymity import ThreeAnonymity
from kohort.algorithms.graph.two_anonymity import TwoAnonymity
from kohort.algorithms.improve.improve import Improve
from kohort.algorithms.items.apriori import AprioriItems
from kohort.algorithms.items.direct import DirectItems
from kohort.algorithms.items.items_algorithm import ItemsAlgorithm
from kohort.algorithms.items.optimal import OptimalItems
from kohort.algorithms.items.with_items import WithItems
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.bound_in_time import bound_of
from kohort.algorithms.run import Progress, Run
from kohort.algorithms.schemes import SEARCHES, for_scheme
from kohort.algorithms.solver import Solver
from kohort.algorithms.uniting.stars_together import StarsTogether
from kohort.algorithms.uniting.united import United
from kohort.errors import InputError, did_you_mean

__all__ = [
    "ALGORITHMS",
    "ITEMS_ALGORITHMS",
    "Algorithm",
    "ItemsAlgorithm",
    "Progress",
    "Run",
    "Solver",
    "StarsTogether",
    "United",
    "WithItems",
    "algorithm_named",
    "bound_of",
    "for_scheme",
    "is_for_items",
    "items_algorithm_named",
    "parameters_of",
    "resolved",
]

ALGORITHMS: dict[str, type[Algorithm]] = {
    algorithm.name: algorithm
    for algorithm in (
        Auto,
        Improve,
        KAnon,
        KAnonCF,
        Mondrian,
        Agglomerative,
        Sequential,
        Hilbert,
        FullDomain,
        Incognito,
        Progressive,
        TopDown,
        Forest,
        TwoAnonymity,
        ThreeAnonymity,
        Optimal,
        *SEARCHES,
    )
}

ITEMS_ALGORITHMS: dict[str, type[ItemsAlgorithm]] = {
    algorithm.name: algorithm for algorithm in (AprioriItems, DirectItems, OptimalItems)
}


def algorithm_named(name: str) -> Algorithm | ItemsAlgorithm:
    """The algorithm with this spec name and its default parameters."""
    known = ALGORITHMS | ITEMS_ALGORITHMS
    if name not in known:
        raise InputError(f"There is no algorithm {name!r}. {did_you_mean(name, known)}")
    return known[name]()


def items_algorithm_named(name: str) -> ItemsAlgorithm:
    """The algorithm for items with this spec name and its default parameters."""
    if name not in ITEMS_ALGORITHMS:
        raise InputError(f"There is no algorithm {name!r} for items. {did_you_mean(name, ITEMS_ALGORITHMS)}")
    return ITEMS_ALGORITHMS[name]()


def is_for_items(algorithm: Algorithm | ItemsAlgorithm | str) -> bool:
    """Whether an algorithm publishes items, and not the columns of a table."""
    return (algorithm if isinstance(algorithm, str) else algorithm.name) in ITEMS_ALGORITHMS


def parameters_of(algorithm: Algorithm | ItemsAlgorithm) -> dict[str, Any]:
    """The parameters of an algorithm by name."""
    assert is_dataclass(algorithm)
    return {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}

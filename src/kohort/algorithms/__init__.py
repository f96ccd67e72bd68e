"""Algorithms by their spec names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kohort.algorithms.algorithm import Algorithm, AnyAlgorithm, ItemsAlgorithm
from kohort.algorithms.alpha_k.progressive import Progressive
from kohort.algorithms.alpha_k.top_down import TopDown
from kohort.algorithms.auto import Auto
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
from kohort.algorithms.histories.over_histories import OverHistories
from kohort.algorithms.improve.improve import Improve
from kohort.algorithms.items.apriori import AprioriItems
from kohort.algorithms.items.direct import DirectItems
from kohort.algorithms.items.improve import ImproveItems
from kohort.algorithms.items.local import LocalItems
from kohort.algorithms.items.optimal import OptimalItems
from kohort.algorithms.items.vertical import VerticalItems
from kohort.algorithms.items.with_items import WithItems
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.bound_in_time import bound_of, time_for_bound
from kohort.algorithms.run import Progress, Run
from kohort.algorithms.schemes.bottom_up import BottomUp
from kohort.algorithms.schemes.optimal_recoding import OptimalRecoding
from kohort.algorithms.schemes.top_down_search import TopDownSearch
from kohort.algorithms.solver import Solver
from kohort.algorithms.uniting.counting_alike import CountingAlike
from kohort.algorithms.uniting.counting_people import CountingPeople, needs_uniting
from kohort.algorithms.uniting.stars_together import StarsTogether
from kohort.algorithms.uniting.united import United
from kohort.errors import InputError, UnsupportedError, did_you_mean

__all__ = [
    "ALGORITHMS",
    "EVERY_ALGORITHM",
    "ITEMS_ALGORITHMS",
    "Algorithm",
    "AnyAlgorithm",
    "CountingAlike",
    "CountingPeople",
    "ItemsAlgorithm",
    "OverHistories",
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
    "needs_uniting",
    "parameters_of",
    "time_for_bound",
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
        OptimalRecoding,
        BottomUp,
        TopDownSearch,
    )
}

ITEMS_ALGORITHMS: dict[str, type[ItemsAlgorithm]] = {
    algorithm.name: algorithm
    for algorithm in (AprioriItems, LocalItems, ImproveItems, VerticalItems, DirectItems, OptimalItems)
}


EVERY_ALGORITHM: dict[str, type[Algorithm] | type[ItemsAlgorithm]] = {**ALGORITHMS, **ITEMS_ALGORITHMS}


def algorithm_named(name: str) -> Algorithm | ItemsAlgorithm:
    """The algorithm with this spec name and its default parameters."""
    if name not in EVERY_ALGORITHM:
        raise InputError(f"There is no algorithm {name!r}. {did_you_mean(name, EVERY_ALGORITHM)}")
    return EVERY_ALGORITHM[name]()


def items_algorithm_named(name: str) -> ItemsAlgorithm:
    """The algorithm for items with this spec name and its default parameters."""
    if name not in ITEMS_ALGORITHMS:
        raise InputError(f"There is no algorithm {name!r} for items. {did_you_mean(name, ITEMS_ALGORITHMS)}")
    return ITEMS_ALGORITHMS[name]()


def is_for_items(algorithm: AnyAlgorithm | str) -> bool:
    """Whether an algorithm, given itself or by its spec name, publishes items and not quasi-identifiers."""
    return algorithm in ITEMS_ALGORITHMS if isinstance(algorithm, str) else algorithm.for_items


def parameters_of(algorithm: AnyAlgorithm) -> dict[str, Any]:
    """The parameters of an algorithm by name."""
    assert is_dataclass(algorithm)
    return {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}


def for_scheme(algorithm: Algorithm, scheme: str | None, schemes: Mapping[str, str]) -> Algorithm:
    """The algorithm that searches the requested schemes: the given one, or another in its place.

    scheme   the scheme of every column that `schemes` does not name; None: the default of its domain
    schemes  the schemes of single columns by name
    """
    if algorithm.scheme_search is None:
        names = ", ".join(name for name, search in ALGORITHMS.items() if search.takes_scheme)
        raise UnsupportedError(
            f"{algorithm.name} has no schemes. Leave 'scheme' out, or choose one of {names}."
        )
    search: Any = algorithm if algorithm.takes_scheme else ALGORITHMS[algorithm.scheme_search]()
    if search.scheme is not None:
        raise InputError("'scheme' is given twice: as a key of its own and as a parameter of the algorithm.")
    asked = dict(schemes) | ({} if scheme is None else {"*": scheme}) if schemes else scheme
    return replace(search, scheme=asked)

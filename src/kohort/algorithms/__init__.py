"""Algorithms by their spec names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kohort.algorithms.algorithm import Algorithm, AnyAlgorithm, ItemsAlgorithm
from kohort.algorithms.proofs.bound_in_time import bound_of, time_for_bound
from kohort.algorithms.registry import Registry
from kohort.algorithms.run import Progress, Run, Standing, Stop
from kohort.algorithms.solver import Solver
from kohort.algorithms.uniting.counting_people import CountingPeople, needs_uniting
from kohort.algorithms.uniting.stars_together import StarsTogether
from kohort.errors import InputError, UnsupportedError, did_you_mean

__all__ = [
    "ALGORITHMS",
    "EVERY_ALGORITHM",
    "ITEMS_ALGORITHMS",
    "Algorithm",
    "AnyAlgorithm",
    "CountingPeople",
    "ItemsAlgorithm",
    "Progress",
    "Run",
    "Solver",
    "Standing",
    "StarsTogether",
    "Stop",
    "algorithm_named",
    "bound_of",
    "for_scheme",
    "is_for_items",
    "items_algorithm_named",
    "needs_uniting",
    "parameters_of",
    "refuse_unknown_algorithm",
    "time_for_bound",
]

ALGORITHMS: Registry[type[Algorithm]] = Registry(
    __name__,
    {
        "auto": "auto:Auto",
        "improve": "improve.improve:Improve",
        "k-anon": "closed_records.k_anon:KAnon",
        "k-anon-cf": "closed_records.k_anon_cf:KAnonCF",
        "mondrian": "mondrian.mondrian:Mondrian",
        "agglomerative": "clustering.agglomerative:Agglomerative",
        "sequential": "clustering.sequential:Sequential",
        "hilbert": "clustering.hilbert:Hilbert",
        "mdav": "microaggregation.mdav:Mdav",
        "full-domain": "full_domain.full_domain:FullDomain",
        "incognito": "full_domain.incognito:Incognito",
        "progressive": "alpha_k.progressive:Progressive",
        "top-down": "alpha_k.top_down:TopDown",
        "forest": "graph.forest:Forest",
        "two-anonymity": "graph.fixed_k:TwoAnonymity",
        "three-anonymity": "graph.fixed_k:ThreeAnonymity",
        "optimal": "closed_records.optimal:Optimal",
        "optimal-recoding": "schemes.optimal_recoding:OptimalRecoding",
        "bottom-up": "schemes.enumeration:BottomUp",
        "top-down-search": "schemes.enumeration:TopDownSearch",
    },
)

ITEMS_ALGORITHMS: Registry[type[ItemsAlgorithm]] = Registry(
    __name__,
    {
        "apriori-items": "items.cuts:AprioriItems",
        "local-items": "items.local:LocalItems",
        "improve-items": "items.improve:ImproveItems",
        "vertical-items": "items.cuts:VerticalItems",
        "direct-items": "items.cuts:DirectItems",
        "optimal-items": "items.optimal:OptimalItems",
    },
)

EVERY_ALGORITHM = ALGORITHMS | ITEMS_ALGORITHMS


def algorithm_named(name: str) -> Algorithm | ItemsAlgorithm:
    """The algorithm with this spec name and its default parameters."""
    refuse_unknown_algorithm(name)
    return EVERY_ALGORITHM[name]()


def refuse_unknown_algorithm(name: str) -> None:
    """Raise InputError unless there is an algorithm with this spec name. Loads none."""
    if name not in EVERY_ALGORITHM:
        raise InputError(f"There is no algorithm {name!r}. {did_you_mean(name, EVERY_ALGORITHM)}")


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

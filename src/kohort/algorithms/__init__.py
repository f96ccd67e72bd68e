"""Algorithms by their spec names."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.auto import Auto
from kohort.algorithms.full_domain.incognito import Incognito
from kohort.algorithms.local.agglomerative import Agglomerative
from kohort.algorithms.local.forest import Forest
from kohort.algorithms.local.hilbert import Hilbert
from kohort.algorithms.local.improve import Improve
from kohort.algorithms.local.k_anon import KAnon
from kohort.algorithms.local.k_anon_cf import KAnonCF
from kohort.algorithms.local.mondrian import Mondrian
from kohort.algorithms.local.optimal import Optimal
from kohort.algorithms.local.progressive import Progressive
from kohort.algorithms.local.sequential import Sequential
from kohort.algorithms.local.three_anonymity import ThreeAnonymity
from kohort.algorithms.local.top_down import TopDown
from kohort.algorithms.local.two_anonymity import TwoAnonymity
from kohort.algorithms.run import Progress, Run
from kohort.errors import InputError, did_you_mean

__all__ = ["ALGORITHMS", "Algorithm", "Progress", "Run", "algorithm_named", "parameters_of"]

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
        Incognito,
        Progressive,
        TopDown,
        Forest,
        TwoAnonymity,
        ThreeAnonymity,
        Optimal,
    )
}


def algorithm_named(name: str) -> Algorithm:
    """The algorithm with this spec name and its default parameters."""
    if name not in ALGORITHMS:
        raise InputError(f"There is no algorithm {name!r}. {did_you_mean(name, ALGORITHMS)}")
    return ALGORITHMS[name]()


def parameters_of(algorithm: Algorithm) -> dict[str, Any]:
    """The parameters of an algorithm by name."""
    assert is_dataclass(algorithm)
    return {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}

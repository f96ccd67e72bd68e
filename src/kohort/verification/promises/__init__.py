"""Verification's own definitions of every promise: nothing here is used by what solves or publishes."""

from __future__ import annotations

from collections.abc import Callable

from kohort.verification.promises.promise import (
    Counts,
    Judged,
    Measure,
    Promise,
    Stated,
    Values,
    stated,
    stated_items,
)
from kohort.verification.promises.sizes import (
    AllClasses,
    delta_presence,
    differential_privacy,
    k_anonymity,
    k_map,
    known_columns,
    population_uniqueness,
    risk_limit,
)
from kohort.verification.promises.values import (
    alpha_deassociation,
    beta_likeness,
    delta_disclosure,
    l_diversity,
    t_closeness,
)

__all__ = [
    "OF_CLASSES",
    "OF_TABLES",
    "AllClasses",
    "Counts",
    "Judged",
    "Measure",
    "Promise",
    "Stated",
    "Values",
    "stated",
    "stated_items",
]

OF_CLASSES: dict[str, Callable[[Promise, Counts, Values], Judged]] = {
    "k-anonymity": k_anonymity,
    "risk-limit": risk_limit,
    "l-diversity": l_diversity,
    "alpha-deassociation": alpha_deassociation,
    "t-closeness": t_closeness,
    "delta-disclosure": delta_disclosure,
    "beta-likeness": beta_likeness,
    "differential-privacy": differential_privacy,
}
"""What each promise demands of a class, given how often each value occurs in it."""

OF_TABLES: dict[str, Callable[[Promise, AllClasses], Judged]] = {
    "known-columns": known_columns,
    "k-map": k_map,
    "delta-presence": delta_presence,
    "population-uniqueness": population_uniqueness,
}
"""What each promise demands of all classes together."""

"""Promises about the number of records of classes: k-anonymity, risk limits, differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from kohort.verification.promises.chances import expected_risk, failure_chance
from kohort.verification.promises.counts import Counts, Values
from kohort.verification.promises.promise import Judged, Measure, Promise

__all__ = ["differential_privacy", "k_anonymity", "risk_limit"]


def k_anonymity(promise: Promise, counts: Counts, values: Values) -> Judged:
    """At least k records in every class."""
    k = int(promise.number("k"))
    return Judged(k, counts.sizes >= k, lambda chosen: int(counts.sizes[chosen].min()))


def differential_privacy(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The chance delta that classes of these sizes leave for a breach of epsilon is low enough."""
    epsilon, delta = promise.number("epsilon"), promise.number("delta")
    large = _enough(counts.sizes, lambda size: Fraction(failure_chance(size, epsilon)) <= delta)
    return Judged(
        delta, large, lambda chosen: float(failure_chance(int(counts.sizes[chosen].min()), epsilon))
    )


def risk_limit(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The chance that somebody is found is below a limit: for everybody, for most people, or on average."""
    limit, sizes = promise.number("limit"), counts.sizes
    strict = promise.parameters.get("strict", True)
    fraction = None
    if promise.parameters.get("against", "sample") == "population":
        fraction = promise.number("sampling_fraction")

    def fine(risk: Measure) -> bool:
        bound = limit if isinstance(risk, Fraction) else float(limit)
        return risk < bound if strict else risk <= bound

    def risk_of(size: int) -> Measure:
        return Fraction(1, size) if fraction is None else expected_risk(size, float(fraction))

    within = _enough(sizes, lambda size: fine(risk_of(size)))
    if "share" in promise.parameters:
        share = promise.number("share")

        def above(chosen: np.ndarray) -> Fraction:
            return Fraction(int(sizes[chosen & ~within].sum()), int(sizes[chosen].sum()))

        return Judged(share, within | _all(sizes, above, lambda found: found <= share), above)
    if promise.parameters.get("of", "maximum") == "maximum":
        return Judged(limit, within, lambda chosen: risk_of(int(sizes[chosen].min())))

    def average(chosen: np.ndarray) -> Measure:
        if fraction is None:  # the records of a class share a risk of 1 out of as many
            return Fraction(int(chosen.sum()), int(sizes[chosen].sum()))
        size, place = np.unique(sizes[chosen], return_inverse=True)
        risks = np.array([expected_risk(int(one), float(fraction)) for one in size])[place]
        return float((risks * sizes[chosen]).sum() / int(sizes[chosen].sum()))

    return Judged(limit, within | _all(sizes, average, fine), average)


def _enough(sizes: np.ndarray, fine: Callable[[int], bool]) -> np.ndarray:
    """Per class whether its size is enough, where every size above an enough one is, too.

    Small sizes are tried first: of large ones the answer may take long.
    """
    distinct = np.unique(sizes).tolist()
    below, enough = -1, 0
    while enough < len(distinct) and not fine(distinct[enough]):
        below, enough = enough, 2 * enough + 1
    enough = min(enough, len(distinct))
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if fine(distinct[middle]) else (middle, enough)
    return sizes >= distinct[enough] if enough < len(distinct) else np.zeros(len(sizes), dtype=bool)


def _all(
    sizes: np.ndarray, found: Callable[[np.ndarray], Measure], fine: Callable[[Measure], bool]
) -> np.ndarray:
    """Of a promise about all classes together: for every class whether it is kept."""
    everything = np.ones(len(sizes), dtype=bool)
    return np.full(len(sizes), bool(len(sizes)) and fine(found(everything)))

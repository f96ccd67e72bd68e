"""Promises about all classes of a table at once, or about a population that they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf

import numpy as np

from kohort.errors import InternalError, UnsupportedError
from kohort.verification.promises.exact import at_most, greatest_share
from kohort.verification.promises.promise import Judged, Measure, Promise
from kohort.verification.promises.uniqueness import unique_share

__all__ = ["AllClasses", "delta_presence", "k_map", "known_columns", "population_uniqueness"]

_MOST_COMBINATIONS = 100_000


@dataclass(frozen=True, eq=False)
class AllClasses:
    """All classes of a table with their labels, and the people of a population whom they fit.

    labels     per class and quasi-identifier the number of its label
    people     per class how many it fits; None where no population is given
    elsewhere  how many people fit no class
    apart      whether nobody fits two classes
    """

    labels: np.ndarray
    sizes: np.ndarray
    people: np.ndarray | None = None
    elsewhere: int = 0
    apart: bool = True

    @property
    def fitting(self) -> np.ndarray:
        if self.people is None:
            raise InternalError("The population that a promise compares with is needed.")
        return self.people


def known_columns(promise: Promise, table: AllClasses) -> Judged:
    """The labels of a record in any few columns are those of at least k records."""
    k, known = int(promise.number("k")), int(promise.number("known"))
    columns = [column for column in table.labels.T if len(np.unique(column)) > 1]  # others tell nothing
    size = min(known, len(columns))
    if comb(len(columns), size) > _MOST_COMBINATIONS:
        raise UnsupportedError(
            f"{known} known columns of {len(columns)} are {comb(len(columns), size):,} combinations; at most "
            f"{_MOST_COMBINATIONS:,} are possible. Ask for fewer known columns."
        )
    fewest = np.full(len(table.sizes), int(table.sizes.sum()), dtype=np.int64)

    def know(alike: np.ndarray, first: int, more: int) -> None:
        """Find the fewest records in groups of classes that are `alike`, told apart by `more` columns."""
        if not more:  # who knows fewer columns tells fewer records apart
            records = np.bincount(alike, weights=table.sizes).astype(np.int64)
            np.minimum(fewest, records[alike], out=fewest)
            return
        for place in range(first, len(columns) - more + 1):
            pairs = np.column_stack([alike, columns[place]])
            know(np.unique(pairs, axis=0, return_inverse=True)[1].ravel(), place + 1, more - 1)

    know(np.zeros(len(table.sizes), dtype=np.int64), 0, size)
    return Judged(k, fewest >= k, lambda chosen: int(fewest[chosen].min()))


def k_map(promise: Promise, table: AllClasses) -> Judged:
    """Every class fits at least k people of the population."""
    k, people = int(promise.number("k")), table.fitting
    return Judged(k, people >= k, lambda chosen: int(people[chosen].min()))


def delta_presence(promise: Promise, table: AllClasses) -> Judged:
    """The chance of everybody in the population to be in the table lies between two limits.

    It is the share of the people whom a class fits that are in it, and 0 for those whom none fits.
    """
    least, most = promise.number("at_least"), promise.number("at_most")
    people, sizes = table.fitting, table.sizes
    holds = at_most(sizes, people, most) & ~(at_most(sizes, people, least) & (sizes != least * people))
    if not table.apart or (least > 0 and table.elsewhere):
        holds[:] = False

    def worst(chosen: np.ndarray) -> Measure:
        if not table.apart:
            return inf
        return greatest_share(sizes[chosen], np.maximum(people[chosen], 1))

    return Judged(most, holds, worst)


def population_uniqueness(promise: Promise, table: AllClasses) -> Judged:
    """At most a share of the population is unique in it, by an estimate from the sizes of all classes."""
    share, fraction = promise.number("share"), promise.number("sampling_fraction")
    estimate = promise.parameters.get("estimate", "auto")
    found = unique_share(table.sizes, float(fraction), estimate) if len(table.sizes) else 0.0
    holds = np.full(len(table.sizes), Fraction(found) <= share)
    return Judged(share, holds, lambda chosen: found)

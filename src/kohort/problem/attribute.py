"""A quasi-identifier: a coded column, what it may be generalized to, and its weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR, Domain, GeneralizedValues, OrderedDomain
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError


@dataclass(frozen=True, eq=False)
class Attribute:
    """A quasi-identifier of a problem, in leaves of its domain.

    `tight`: groups publish the smallest interval or set of the values they really have, and costs count
    observed values; else they publish generalized values of the domain.
    `literal`: the labels of the hierarchy were made from the values, and mean what they say: `[20, 30)`. Else
    somebody gave them, and they are names.
    """

    column: Column
    domain: Domain
    weight: float = 1.0
    tight: bool = False
    literal: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise InputError(f"The weight of {self.name!r} must be a number >= 0. Got {self.weight}.")

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def n_leaves(self) -> int:
        return len(self.domain.leaves)

    @cached_property
    def leaf_of_code(self) -> np.ndarray:
        """The leaf in the domain of each value of the column."""
        leaf = {text: number for number, text in enumerate(self.domain.leaves)}
        return np.array([leaf[text] for text in self.column.texts], dtype=np.int32)

    @property
    def leaves(self) -> np.ndarray:
        """The leaf of each record; not cached, since it is as large as the column."""
        return self.leaf_of_code[self.column.codes]

    @cached_property
    def leaf_counts(self) -> np.ndarray:
        """The number of records that have each leaf."""
        return np.bincount(self.leaf_of_code, weights=self.column.counts, minlength=self.n_leaves).astype(
            np.int64
        )

    @property
    def plain_numbers(self) -> np.ndarray | None:
        """The values as numbers; None where the column has a hierarchy, a missing value, or no numbers."""
        column = self.column
        plain = column.kind in ("integer", "float") and not column.listed and not column.loners
        return column.numbers if plain and not isinstance(self.domain, Hierarchy) else None

    def generalized(self, lo: np.ndarray, hi: np.ndarray) -> GeneralizedValues:
        """Generalized values, given as leaf ranges of the domain, in the form that costs take."""
        star = np.array([label == STAR for label in self.domain.labels(lo, hi)], dtype=bool)
        return self._counted(lo, hi, level=self.domain.levels(lo, hi), star=star)

    def star(self) -> GeneralizedValues:
        """The generalized value `*`, as which a withheld record is published, in the form that costs take.

        The root of a hierarchy may have another label, and may even be its only leaf.
        """
        lo, hi = np.array([0]), np.array([self.n_leaves - 1])
        return self._counted(lo, hi, level=np.ones(1), star=np.ones(1, dtype=bool))

    def nodes(self) -> GeneralizedValues:
        """Every node of the hierarchy, in order, as a generalized value in the form that costs take."""
        assert isinstance(self.domain, Hierarchy)
        h = self.domain
        star = np.array([label == STAR for label in h.published], dtype=bool)
        return self._counted(h.lo, h.hi, level=h.level / max(h.height, 1), star=star)

    def _counted(
        self, lo: np.ndarray, hi: np.ndarray, *, level: np.ndarray, star: np.ndarray
    ) -> GeneralizedValues:
        """Leaf ranges of the domain with these levels, with the values and records that they cover."""
        return GeneralizedValues(
            width=hi - lo + 1,
            mass=_range_sum(self.leaf_counts, lo, hi),
            mass_log=_range_sum(self.leaf_counts * np.log2(np.maximum(self.leaf_counts, 1)), lo, hi),
            level=level,
            star=star,
            n_leaves=self.n_leaves,
            n_records=int(self.column.counts.sum()),
            height=self.domain.height,
        )


def tight_domain(column: Column) -> OrderedDomain:
    """The observed values in their natural order; missing values stand alone."""
    return OrderedDomain(column.texts, loners=column.loners)


def _range_sum(values: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    before = np.concatenate([[0], np.cumsum(values)])
    return before[np.asarray(hi) + 1] - before[np.asarray(lo)]


@dataclass(frozen=True, eq=False)
class PopulationRows:
    """Everybody of a population by the leaves of their quasi-identifiers; nobody, where none is given.

    leaves  distinct rows by attributes: the leaf of each value, -1 for one that the hierarchy lacks
    counts  how many people have each row
    """

    leaves: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def given(self) -> bool:
        """Whether there is a population to compare with."""
        return len(self.counts) > 0

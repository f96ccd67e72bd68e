"""k-anonymity against whoever knows a few columns: the L and K of LKC-privacy (Mohammed and others, 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from kohort.errors import UnsupportedError
from kohort.problem.promises.exact import whole_number
from kohort.problem.promises.table_promise import LabelledClasses, TableModel

MOST_COMBINATIONS = 100_000


@dataclass(frozen=True)
class KnownColumns(TableModel):
    """Whatever at most `known` quasi-identifiers somebody knows of a person, at least k records fit.

    For every set of at most so many columns, and every record, at least k records have the same labels there.

    >>> KnownColumns(5, 3).describe()
    'every combination of published values in at most 3 columns is that of at least 5 records'
    """

    name: ClassVar[str] = "known-columns"
    spec_key: ClassVar[str] = "known"
    stops: ClassVar[str] = (
        "finding the record of a person by any few facts about them, in a table with many columns"
    )
    leaves: ClassVar[str] = "whoever knows more columns than that"
    typical: ClassVar[str] = "known: 3, with k: 5"
    k: int
    known: int

    def __post_init__(self) -> None:
        for name in ("k", "known"):
            value = whole_number("KnownColumns", name, getattr(self, name), least=1)
            object.__setattr__(self, name, value)

    @property
    def enough_k(self) -> int:
        return self.k  # columns tell no more than the class does

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        return self.records_alike(table) >= self.k

    def records_alike(self, table: LabelledClasses) -> np.ndarray:
        """Per class the fewest records that have the same labels as it in some set of known columns.

        Sets of exactly so many columns suffice, of those in which classes differ: fewer columns tell less.
        """
        varied = [column for column in table.labels.T if len(column) and (column != column[0]).any()]
        size = min(self.known, len(varied))
        if comb(len(varied), size) > MOST_COMBINATIONS:
            raise UnsupportedError(
                f"{self.known} known columns of {len(varied)} are {comb(len(varied), size):,} combinations; "
                f"at most {MOST_COMBINATIONS:,} are possible. Ask for fewer known columns."
            )
        fewest = np.full(len(table.sizes), table.sizes.sum(), dtype=np.int64)
        for chosen in combinations(varied, size):
            number = _numbered(chosen, len(table.sizes))
            alike = np.bincount(number, weights=table.sizes).astype(np.int64)
            fewest = np.minimum(fewest, alike[number])
        return fewest

    def describe(self) -> str:
        columns = "any one column" if self.known == 1 else f"at most {self.known} columns"
        return f"every combination of published values in {columns} is that of at least {self.k} records"

    def _refusal_in(self, whole: LabelledClasses) -> str:
        n = int(whole.sizes.sum())
        return f"k = {self.k} is impossible: the table has {n} records, so k can be at most {n}"


def _numbered(columns: tuple[np.ndarray, ...], n_classes: int) -> np.ndarray:
    """A number per class; the same for classes that are alike in these columns."""
    number = np.zeros(n_classes, dtype=np.int64)
    for column in columns:
        _, number = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)
    return number

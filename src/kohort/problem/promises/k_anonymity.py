"""k-anonymity: nobody stands out from fewer than k records (Samarati and Sweeney, 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.exact import whole_number
from kohort.problem.promises.promise import NO_CONTEXT, Model, ValueContext


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every class has at least k records.

    >>> KAnonymity(3).holds(ClassCounts.of_sizes([2, 3, 4]))
    array([False,  True,  True])
    """

    name: ClassVar[str] = "k-anonymity"
    spec_key: ClassVar[str] = "k"
    only_counts: ClassVar[bool] = True
    stops: ClassVar[str] = "finding the record of a person by what one knows about them"
    leaves: ClassVar[str] = "learning what all records of a class share"
    typical: ClassVar[str] = "k: 5 inside an office, 10 to 20 for the public"
    attribute = None
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("KAnonymity", "k", self.k, least=1))

    @property
    def needed_k(self) -> int:
        return self.k

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        return counts.sizes >= self.k

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        return (self.k - counts.sizes).astype(float), self.k - 1

    def describe(self) -> str:
        return f"every class has at least {_records(self.k)}"

    def describe_for_people(self) -> str:
        return f"every class has at least {_people(self.k)}"

    def refusal(
        self, whole_table: ClassCounts, context: ValueContext = NO_CONTEXT, *, k: int = 1
    ) -> str | None:
        if whole_table.n_classes == 0:  # an empty table has no class that could be too small
            return self._refusal(whole_table, context)
        return super().refusal(whole_table, context, k=k)

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        n = int(whole_table.sizes.sum())
        return f"k = {self.k} is impossible: the table has {_records(n)}, so k can be at most {n}"


def _people(n: int) -> str:
    return f"{n} person" if n == 1 else f"{n} people"


def _records(n: int) -> str:
    return f"{n} record" if n == 1 else f"{n} records"

"""The mean or the median of every class in the place of its interval: microaggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from kohort.data.counting import row_keys
from kohort.data.domain import STAR
from kohort.errors import InputError
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.treatments.perturbation import decimals_of
from kohort.treatments.treatment import Part, Scope, Secret, Treatment


class Average(Treatment):
    """A number for every class: `of_runs` says which."""

    scope: ClassVar[Scope] = "class"

    def of_runs(self, numbers: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The average of each run of sorted numbers."""
        raise NotImplementedError

    def refuse(self, attribute: Attribute) -> None:
        refuse_no_numbers(attribute, f"publish: {self.name}")

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        values = part.table.column(column)
        assert values.numbers is not None
        numbers = values.numbers[values.codes].astype(float)
        looks = [labels.indices.cast(pa.int64()).fill_null(-1).to_numpy() for labels in part.labels.values()]
        _, class_of = np.unique(row_keys([look + 1 for look in looks]), return_inverse=True)
        sizes = np.bincount(class_of)
        of_class = self.of_runs(numbers[np.lexsort((numbers, class_of))], np.cumsum(sizes) - sizes, sizes)
        rounded = np.round(of_class, 2 + decimals_of(values))[class_of]
        labels = part.labels[column]
        starred = np.array([label == STAR for label in labels.dictionary.to_pylist()], dtype=bool)
        if not starred.any():
            return pa.array(rounded, pa.float64()).dictionary_encode()
        hidden = starred[labels.indices.to_numpy()]
        texts = [STAR if star else repr(float(value)) for star, value in zip(hidden, rounded)]
        return pa.array(texts, pa.string()).dictionary_encode()

    def notes(self, columns: Sequence[str], before: Table, after: Mapping[str, Any]) -> list[str]:
        return [
            f"The {self.name} of every class is published of {', '.join(map(repr, columns))}. Loss, risk and "
            "utility are those of the intervals that the values of a class span."
        ]


class Mean(Average):
    """The mean of every class."""

    name: ClassVar[str] = "mean"

    def of_runs(self, numbers: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return np.add.reduceat(numbers, starts) / sizes


class Median(Average):
    """The median of every class."""

    name: ClassVar[str] = "median"

    def of_runs(self, numbers: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return (numbers[starts + (sizes - 1) // 2] + numbers[starts + sizes // 2]) / 2


def refuse_no_numbers(attribute: Attribute, what: str) -> None:
    """Raise InputError for a quasi-identifier whose values have no mean, which `what` asks for."""
    if attribute.plain_numbers is None:
        raise InputError(
            f"{what} is for numbers without a hierarchy and without missing values, which "
            f"{attribute.name!r} is not. Leave its hierarchy out, fill in what is missing, or publish it "
            "in another way."
        )

"""Treatments that have a size, such as noise. None is a privacy model: they make values less certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.problem.promises.exact import exact_number, plain
from kohort.tables.table import Table
from kohort.treatments.treatment import Part, Scope, Secret, Treatment, generator_of

if TYPE_CHECKING:
    from kohort.statement import Statement


@dataclass(frozen=True)
class Perturbation(Treatment):
    """What is done to a sensitive or insensitive column. `name` is its key under `treatment` in the spec.

    What is drawn at random comes from the key and the seed, and is the same for the same two.
    """

    scope: ClassVar[Scope] = "column"

    @classmethod
    def asked(cls, request: Statement, column: str) -> Treatment:
        return request.perturbations[column]

    @classmethod
    def read(cls, value: Any, column: str) -> Perturbation:
        """The perturbation whose size a spec writes as this value."""
        made: Any = cls
        return made(value)

    def describe(self) -> str:
        """What is done, in words, without a full stop."""
        raise NotImplementedError

    def to_spec(self) -> dict[str, Any]:
        """As the spec writes it."""
        [only] = [getattr(self, field.name) for field in fields(self)]
        return {self.name: plain(only) if isinstance(only, Fraction) else only}

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        rng = generator_of(secret.key, secret.seed, column)
        return self.perturbed(part.table.column(column), part.table.arrow(column).type, rng)

    def perturbed(self, column: Column, kind: pa.DataType, rng: np.random.Generator) -> pa.Array:
        """The column as it is published, given the type that it came in."""
        raise NotImplementedError

    def effect(self, before: Column, after: pa.Array) -> str:
        """A sentence on what it did to the column."""
        raise NotImplementedError

    def notes(self, columns: Sequence[str], before: Table, after: Mapping[str, Any]) -> list[str]:
        return [
            f"Column {name!r}: {self.describe()}. {self.effect(before.column(name), _plain(after[name]))} "
            "This is no promise: privacy models say what is."
            for name in columns
        ]


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values


def read_exactly(
    instance: Perturbation, name: str, wanted: str, accepted: Callable[[Fraction], bool]
) -> None:
    """Replace a parameter by its exact number; raises InputError for another than is wanted."""
    number = exact_number(type(instance).__name__, name, getattr(instance, name), wanted, accepted)
    object.__setattr__(instance, name, number)


def decimals_of(column: Column) -> int:
    """How many decimals the values of a column have."""
    parts = [text.partition(".")[2] for text in column.texts if text is not None and "e" not in text.lower()]
    return max((len(part) for part in parts), default=0)

"""What a treatment is: a way to publish a column other than generalized, such as noise or a pseudonym."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import value_type
from kohort.data.column import Column
from kohort.problem.attribute import Attribute
from kohort.problem.promises.exact import plain, read_parameters, readable
from kohort.tables.table import Table

if TYPE_CHECKING:
    from kohort.statement import Statement


Scope = Literal["record", "person", "class", "column"]
"""What must be seen at once: a record, all records of a person, all of a class, or a whole column."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some records of a table, as many as the scope of a treatment needs.

    labels  their quasi-identifiers as they are published; empty before they are
    """

    table: Table
    labels: Mapping[str, pa.DictionaryArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Secret:
    """What nobody may know who reads a release.

    key    the user's own; None: there is none
    seed   with the same key, another seed draws other numbers
    fresh  for what links the records of one release and nothing else: drawn for it, where no key says more
    """

    key: bytes | None = field(repr=False)
    seed: int
    fresh: bytes = field(repr=False)

    @classmethod
    def of(cls, request: Statement) -> Secret:
        lasting = None if request.events else request.key
        return cls(request.key, request.seed, secrets.token_bytes(32) if lasting is None else lasting)


@dataclass(frozen=True)
class Treatment:
    """A way to publish a column other than generalized. Its check is in verification, by its name."""

    name: ClassVar[str]
    scope: ClassVar[Scope]
    reads: ClassVar[bool] = True  # whether what it publishes depends on the column's values

    @classmethod
    def asked(cls, request: Statement, column: str) -> Treatment:
        """The treatment of a column that a request names by its word."""
        return cls()

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        """What is published in the place of a column; raises InputError for one that it is not for."""
        raise NotImplementedError

    def refuse(self, attribute: Attribute) -> None:
        """Raise InputError for a quasi-identifier that it is not for."""

    def notes(self, columns: Sequence[str], before: Table, after: Mapping[str, Any]) -> list[str]:
        """Sentences on the columns that have it, given these as they were and as they are published."""
        return []


def generator_of(key: bytes | None, seed: int, purpose: str) -> np.random.Generator:
    """Random numbers for a purpose: those of a key and a seed, or such as nobody can repeat.

    Without a key they come from the operating system: noise that a reader could repeat is none.
    """
    if key is None:
        return np.random.default_rng(secrets.randbits(128))
    drawn = hmac.new(key, f"perturb|{seed}|{purpose}".encode(), hashlib.sha256).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big"))


@dataclass(frozen=True)
class Perturbation(Treatment):
    """What is done to a sensitive or insensitive column. `name` is its key under `treatment` in the spec.

    What is drawn at random comes from the key and the seed, and is the same for the same two. Its one field
    is its size, which `words` has a place for.
    """

    scope: ClassVar[Scope] = "column"
    words: ClassVar[str]

    def __post_init__(self) -> None:
        read_parameters(self)

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
        [size] = astuple(self)
        return self.words.format(readable(Fraction(size)))

    def to_spec(self) -> dict[str, Any]:
        """As the spec writes it."""
        [size] = astuple(self)
        return {self.name: plain(Fraction(size))}

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
        effects = {
            name: self.effect(before.column(name), after[name].cast(value_type(after[name].type)))
            for name in columns
        }
        return [
            f"Column {name!r}: {self.describe()}. {effect} This is no promise: privacy models say what is."
            for name, effect in effects.items()
        ]


def decimals_of(column: Column) -> int:
    """How many decimals the values of a column have."""
    parts = [text.partition(".")[2] for text in column.texts if text is not None and "e" not in text.lower()]
    return max((len(part) for part in parts), default=0)

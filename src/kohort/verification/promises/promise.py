"""What verification is told of a promise: a name, a column and parameters; and what it finds of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

Measure = Fraction | int | float


class Stated(Protocol):
    """A model as it was asked for. Verification reads what it says of itself, never what it computes."""

    @property
    def name(self) -> str: ...

    def to_dict(self) -> dict[str, Any]: ...

    def describe(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Promise:
    """A promise as a plain statement, from which verification derives everything else by itself.

    attribute    the sensitive column that it is about; None: it is about no values
    parameters   numbers, words and lists as JSON holds them; a fraction is a number or a text such as 1/3
    words        the promise as a sentence; other_words: where people are counted or, of items, within classes
    """

    name: str
    attribute: str | None
    parameters: Mapping[str, Any]
    words: str = ""
    other_words: str = ""

    def number(self, name: str) -> Fraction:
        """A parameter as the exact number that is written."""
        return Fraction(str(self.parameters[name]))

    def is_kind(self, *kinds: str) -> bool:
        """Whether the parameter `kind` is one of these words."""
        return self.parameters.get("kind", {"l-diversity": "frequency"}.get(self.name, "basic")) in kinds

    @property
    def spreads_people(self) -> bool:
        """Whether each person counts once, spread over their records, not for every value that they have."""
        if self.name == "l-diversity":
            return self.is_kind("entropy", "recursive")
        return self.name in ("t-closeness", "delta-disclosure", "beta-likeness")

    @property
    def is_necessary_for_people(self) -> bool:
        """Whether records must keep it if people do: k people have k records, and their values are theirs."""
        if self.name == "l-diversity":
            return self.is_kind("distinct")
        return self.name in ("k-anonymity", "risk-limit")

    @property
    def least_is_worst(self) -> bool:
        """Whether of what two parts of a table attain the smaller is the worse."""
        return self.name == "k-anonymity" or (self.name == "l-diversity" and not self.is_kind("recursive"))


def stated(models: Sequence[Stated | Promise]) -> list[Promise]:
    """The promises that models state, which verification judges by definitions of its own."""
    return [model if isinstance(model, Promise) else _stated(model) for model in models]


def _stated(model: Stated, **how: bool) -> Promise:
    parameters, describe = model.to_dict(), cast(Callable[..., str], model.describe)
    other_words = getattr(model, "describe_for_people", partial(describe, classes=True))
    words = describe(**how), other_words(**how)
    return Promise(model.name, parameters.get("attribute"), parameters, *words)


def stated_items(model: Stated, *, sensitive: bool = False) -> Promise:
    """The promise that a model about items states; in words, of items that are not `sensitive`."""
    return _stated(model, **({"sensitive": True} if sensitive else {}))


@dataclass(frozen=True, eq=False)
class Judged:
    """What verification finds of a promise.

    asked  the number that what is measured is compared with
    holds  per class whether it keeps the promise
    worst  what the worst of the chosen classes attains, on the scale of `asked`; there is at least one
    """

    asked: Measure
    holds: np.ndarray
    worst: Callable[[np.ndarray], Measure]

    def measured(self, chosen: np.ndarray) -> Measure | None:
        """What the worst of some classes attains; None of no class."""
        return self.worst(chosen) if chosen.any() else None

"""(epsilon, delta)-differential privacy by sampling and a fixed recoding (SafePub: Bild and others, 2018)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kohort.errors import InputError
from kohort.parameters import shown
from kohort.problem.differential_arithmetic import attained_delta, least_class, sampling_rate
from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.exact import Number, exact_number, readable
from kohort.problem.promises.promise import NO_CONTEXT, Model, ValueContext


@dataclass(frozen=True)
class DifferentialPrivacy(Model):
    """Whether somebody is in the table changes the odds of any release by at most e^epsilon, but for delta.

    Every record is drawn with the chance 1 - e^-epsilon. Columns are published at levels of their hierarchies
    that do not depend on the data, and classes with too few of the drawn records for delta are left out.

    levels : per quasi-identifier the level at which it is published; by default half the height, rounded up

    >>> DifferentialPrivacy(1, 1e-6).k
    74
    """

    name: ClassVar[str] = "differential-privacy"
    spec_key: ClassVar[str] = "differential"
    by_sampling: ClassVar[bool] = True
    stops: ClassVar[str] = "learning whether anybody is in the table, whatever else is known about them"
    leaves: ClassVar[str] = "what is true of people in general; a second release of the same people adds up"
    typical: ClassVar[str] = "epsilon: 1, delta: 1e-6"
    attribute = None
    epsilon: Number
    delta: Number
    levels: Any = None

    def __post_init__(self) -> None:
        epsilon = exact_number(
            "DifferentialPrivacy", "epsilon", self.epsilon, "a number from 0.001 to 5", _is_epsilon
        )
        delta = exact_number(
            "DifferentialPrivacy", "delta", self.delta, "a number > 0 and < 1", lambda n: 0 < n < 1
        )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "levels", _checked_levels(self.levels))

    @property
    def asked(self) -> Fraction:
        return Fraction(self.delta)

    @property
    def k(self) -> int:
        """The least number of drawn records that a published class must have."""
        return least_class(Fraction(self.epsilon), self.asked)

    @property
    def chance(self) -> float:
        """The chance with which a record is drawn."""
        return float(sampling_rate(Fraction(self.epsilon)))

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        return counts.sizes >= self.k

    def describe(self) -> str:
        return (
            f"({readable(Fraction(self.epsilon))}, {readable(self.asked)})-differential privacy: records are "
            f"drawn with the chance {self.chance:.3g}, and every class has at least {self.k} of them"
        )

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        n = int(whole_table.sizes.sum())
        return (
            f"delta = {readable(self.asked)} is impossible: it needs classes of {self.k} drawn records, and "
            f"the table has {n}. A table of this size attains a delta of "
            f"{float(attained_delta(n, Fraction(self.epsilon))):.2g} at best"
        )


def _checked_levels(levels: Any) -> tuple[tuple[str, int], ...] | None:
    """Levels by column as pairs, sorted."""
    if levels is None:
        return None
    pairs = list(levels.items()) if isinstance(levels, Mapping) else levels
    fine = isinstance(pairs, Sequence) and all(
        isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], str) and _is_level(pair[1])
        for pair in pairs
    )
    if not fine or isinstance(pairs, str):
        raise InputError(
            "The 'levels' parameter of DifferentialPrivacy must give whole numbers by column, such as "
            f"{{age: 2}}. Got {shown(levels)}."
        )
    return tuple(sorted((str(name), int(level)) for name, level in pairs))


def _is_epsilon(number: Fraction) -> bool:
    """Below, hardly a record is drawn, and above it is no protection; the arithmetic would take long."""
    return Fraction(1, 1000) <= number <= 5


def _is_level(level: object) -> bool:
    return isinstance(level, int) and not isinstance(level, bool) and level >= 0

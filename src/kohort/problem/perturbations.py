"""Ways to protect a column that is not generalized: noise, rank swapping, PRAM, limits and rounding.

None of them is a privacy model, and none makes a promise: they make single values less certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from kohort.errors import InputError, did_you_mean
from kohort.parameters import shown
from kohort.problem.promises.exact import Number, exact_number, plain, readable


@dataclass(frozen=True)
class Perturbation:
    """What is done to a sensitive or insensitive column. `name` is its key under `treatment` in the spec."""

    name: ClassVar[str]
    of_numbers: ClassVar[bool] = True

    def describe(self) -> str:
        """What is done, in words, without a full stop."""
        raise NotImplementedError

    def to_spec(self) -> dict[str, Any]:
        """As the spec writes it."""
        [only] = [getattr(self, field.name) for field in fields(self)]
        return {self.name: plain(only) if isinstance(only, Fraction) else only}


@dataclass(frozen=True)
class Noise(Perturbation):
    """Normally distributed noise; its standard deviation is `size` times that of the column.

    >>> Noise(0.1).describe()
    'noise was added, with a standard deviation of 0.1 times that of the column'
    """

    name: ClassVar[str] = "noise"
    size: Number

    def __post_init__(self) -> None:
        _exact(self, "size", "a number > 0 and <= 10", lambda n: 0 < n <= 10)

    def describe(self) -> str:
        size = readable(Fraction(self.size))
        return f"noise was added, with a standard deviation of {size} times that of the column"


@dataclass(frozen=True)
class RankSwap(Perturbation):
    """Every value changes places with one whose rank is at most the share `within` of all ranks away.

    >>> RankSwap(0.05).describe()
    'values changed places with others, at most 0.05 of all ranks away'
    """

    name: ClassVar[str] = "swap"
    within: Number

    def __post_init__(self) -> None:
        _exact(self, "within", "a number > 0 and <= 1", lambda n: 0 < n <= 1)

    def describe(self) -> str:
        return (
            f"values changed places with others, at most {readable(Fraction(self.within))} of all ranks away"
        )


@dataclass(frozen=True)
class Pram(Perturbation):
    """Post-randomization: every value is drawn anew, with chances that depend on the value.

    matrix : a number: the chance that a value stays, else it is drawn from the whole column, which keeps the
        expected frequencies (invariant PRAM); or per value a mapping from values to chances that add up to 1

    >>> Pram(0.8).describe()
    'every value stayed with the chance 0.8, and was else drawn from the whole column'
    """

    name: ClassVar[str] = "pram"
    of_numbers: ClassVar[bool] = False
    matrix: Any

    def __post_init__(self) -> None:
        if isinstance(self.matrix, Mapping):
            object.__setattr__(self, "matrix", _checked_matrix(self.matrix))
        elif not isinstance(self.matrix, tuple):
            _exact(self, "matrix", "a chance from 0 to 1, or a mapping", lambda n: 0 <= n <= 1)

    @property
    def chances(self) -> dict[str, dict[str, Fraction]] | None:
        """Per value the chance of each value; None where the matrix is invariant."""
        if not isinstance(self.matrix, tuple):
            return None
        return {value: dict(row) for value, row in self.matrix}

    def describe(self) -> str:
        if self.chances is not None:
            return "every value was drawn anew, by the matrix of the spec"
        stays = readable(Fraction(self.matrix))
        return f"every value stayed with the chance {stays}, and was else drawn from the whole column"

    def to_spec(self) -> dict[str, Any]:
        if self.chances is None:
            return super().to_spec()
        rows = {
            value: {to: plain(chance) for to, chance in row.items()} for value, row in self.chances.items()
        }
        return {self.name: rows}


@dataclass(frozen=True)
class Limits(Perturbation):
    """Top and bottom coding: numbers below `bottom` become `bottom`, those above `top` become `top`.

    >>> Limits(None, 90).describe()
    'values above 90 were set to it'
    """

    name: ClassVar[str] = "limits"
    bottom: Number | None
    top: Number | None

    def __post_init__(self) -> None:
        for name in ("bottom", "top"):
            if getattr(self, name) is not None:
                _exact(self, name, "a number", lambda n: True)
        if self.bottom is None and self.top is None:
            raise InputError("Limits need a bottom, a top, or both, such as limits: [0, 90].")
        if None not in (self.bottom, self.top) and Fraction(self.bottom) > Fraction(self.top):  # type: ignore[arg-type]
            raise InputError("The bottom of limits must not be above their top.")

    def describe(self) -> str:
        below = "" if self.bottom is None else f"values below {readable(Fraction(self.bottom))}"
        above = "" if self.top is None else f"values above {readable(Fraction(self.top))}"
        return f"{' and '.join(part for part in (below, above) if part)} were set to it"

    def to_spec(self) -> dict[str, Any]:
        ends = (self.bottom, self.top)
        return {self.name: [None if end is None else plain(Fraction(end)) for end in ends]}


@dataclass(frozen=True)
class Rounding(Perturbation):
    """Numbers are rounded to the nearest multiple of `to`.

    >>> Rounding(5).describe()
    'values were rounded to multiples of 5'
    """

    name: ClassVar[str] = "round"
    to: Number

    def __post_init__(self) -> None:
        _exact(self, "to", "a number > 0", lambda n: n > 0)

    def describe(self) -> str:
        return f"values were rounded to multiples of {readable(Fraction(self.to))}"


PERTURBATIONS: dict[str, type[Perturbation]] = {
    kind.name: kind for kind in (Noise, RankSwap, Pram, Limits, Rounding)
}


def perturbation_of(given: Any, column: str) -> Perturbation:
    """The perturbation that a spec writes as a mapping, such as {noise: 0.1}."""
    if isinstance(given, Perturbation):
        return given
    if not isinstance(given, Mapping) or len(given) != 1:
        raise InputError(
            f"The treatment of {column!r} must be a word, or a mapping such as {{noise: 0.1}}. "
            f"Got {shown(given)}."
        )
    [(name, value)] = given.items()
    if name not in PERTURBATIONS:
        raise InputError(
            f"There is no treatment {name!r} of {column!r}. {did_you_mean(str(name), PERTURBATIONS)}"
        )
    if name == Limits.name:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
            raise InputError(
                f"limits of {column!r} are a bottom and a top, such as [0, 90]. Got {shown(value)}."
            )
        return Limits(*value)
    made: Any = PERTURBATIONS[name]
    return made(value)


def _exact(instance: Perturbation, name: str, wanted: str, accepted: Any) -> None:
    number = exact_number(type(instance).__name__, name, getattr(instance, name), wanted, accepted)
    object.__setattr__(instance, name, number)


def _checked_matrix(matrix: Mapping[Any, Any]) -> tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...]:
    """The rows of a matrix as pairs; raises InputError where chances are none, or do not add up to 1."""
    rows: list[tuple[str, tuple[tuple[str, Fraction], ...]]] = []
    for value, row in matrix.items():
        if not isinstance(row, Mapping):
            raise InputError("Every row of a PRAM matrix is a mapping from values to chances.")
        chances = tuple(
            (
                str(to),
                exact_number("Pram", "matrix", chance, "made of chances from 0 to 1", lambda n: 0 <= n <= 1),
            )
            for to, chance in row.items()
        )
        total = sum((chance for _, chance in chances), Fraction(0))
        if total != 1:
            place = len(rows) + 1
            raise InputError(
                f"Row {place} of the PRAM matrix adds up to {readable(total)}, not to 1. Chances may be "
                "written as fractions, such as 1/3."
            )
        rows.append((str(value), chances))
    return tuple(rows)

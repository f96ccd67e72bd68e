"""Exact numbers: parameters read as fractions, comparisons that never round."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import gcd
from typing import Annotated, Any

import numpy as np

from kohort.errors import InputError
from kohort.parameters import annotations_of, shown

Number = int | float | str | Fraction | Decimal
"""What a parameter may be written as: 0.5, "0.5", "1/2" and Fraction(1, 2) are the same."""

INT64_MAX = 2**63 - 1
_LONG_EXPONENT = re.compile(r"[eE][-+]?0*[1-9][0-9]{3}")  # as a fraction, 1e999999999 would fill the memory


@dataclass(frozen=True)
class Read:
    """A parameter that a function reads, given the model, the name and the value; for Annotated."""

    read: Callable[[str, str, Any], Any]


@dataclass(frozen=True)
class Exact:
    """A parameter that is a number, read as the fraction that was written, not as the nearest binary float.

    wanted, accepted  which numbers are possible, in words and in code
    """

    wanted: str
    accepted: Callable[[Fraction], bool]

    def read(self, model: str, name: str, value: object) -> Fraction:
        number = _as_fraction(value)
        if number is None or not self.accepted(number):
            raise InputError(f"The {name!r} parameter of {model} must be {self.wanted}. Got {shown(value)}.")
        return number


def _as_fraction(value: object) -> Fraction | None:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (bool, np.bool_)):
        return None
    if not isinstance(value, (int, float, str, Decimal, np.integer, np.floating)):
        return None
    try:
        text = str(value)
        return Fraction(text) if _LONG_EXPONENT.search(text) is None else None
    except (ValueError, ZeroDivisionError):
        return None


@dataclass(frozen=True)
class Whole:
    """A parameter that is an int of at least `least`; for Annotated."""

    least: int = 1

    def read(self, model: str, name: str, value: object) -> int:
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = self.least - 1
        if isinstance(value, bool) or not self.least <= number <= INT64_MAX:
            wanted = f"an integer {'below 2**63' if number > INT64_MAX else f'>= {self.least}'}"
            raise InputError(f"The {name!r} parameter of {model} must be {wanted}. Got {shown(value)}.")
        return number


@dataclass(frozen=True)
class OneOf:
    """A parameter that is one of some words; for Annotated."""

    words: tuple[str, ...]

    def read(self, model: str, name: str, value: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            known = f"one of: {', '.join(self.words)}"
            raise InputError(f"The {name!r} parameter of {model} must be {known}. Got {shown(value)}.")
        return value


def _column(model: str, name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"The {name!r} parameter of {model} must name a column. Got {value!r}.")
    return value


Column = Annotated[str, Read(_column)]
AtLeastOne = Annotated[int, Whole(1)]
Confidence = Annotated[Number, Exact("a number > 0 and <= 1", lambda number: 0 < number <= 1)]
Fractional = Annotated[Number, Exact("a number from 0 to 1", lambda number: 0 <= number <= 1)]
Positive = Annotated[Number, Exact("a number > 0", lambda number: number > 0)]


def read_parameters(instance: Any) -> None:
    """Read the fields of a promise as their annotations say; what is left out stays None."""
    kind: Any = type(instance)
    for name, annotation in annotations_of(kind).items():
        value = getattr(instance, name)
        for mark in getattr(annotation, "__metadata__", ()):
            if value is not None or getattr(kind, name, ...) is not None:
                object.__setattr__(instance, name, mark.read(kind.__name__, name, value))


def integers(numbers: np.ndarray, bound: int) -> np.ndarray:
    """The numbers as int64, or as Python's integers when arithmetic on them may reach a bound beyond it."""
    return numbers.astype(object) if bound > INT64_MAX else numbers.astype(np.int64, copy=False)


def at_most(left: np.ndarray, left_factor: int, right: np.ndarray, right_factor: int) -> np.ndarray:
    """Where left * left_factor <= right * right_factor, whatever the size of the numbers."""
    return _times(left, left_factor) <= _times(right, right_factor)


def _times(numbers: np.ndarray, factor: int) -> np.ndarray:
    if numbers.dtype != object:
        largest = int(np.abs(numbers).max(initial=1))
        numbers = integers(numbers, largest * factor)
    return numbers * factor


def largest_ratio(numerators: np.ndarray, denominators: np.ndarray) -> Fraction:
    """The largest of the fractions; the denominators are positive."""
    ratios = (numerators / denominators).astype(float)
    close = ratios >= ratios.max() * (1 - 1e-12)  # floats only choose the candidates
    pairs = set(zip(numerators[close].tolist(), denominators[close].tolist()))
    return max(Fraction(top, bottom) for top, bottom in pairs)


Power = tuple[int, int]
"""A positive base and its exponent, of any sign."""


def product_at_least_one(powers: Iterable[Power]) -> bool:
    """Whether the product of base ** exponent is at least 1, without multiplying it out.

    >>> product_at_least_one([(12, 1), (4, -1), (3, -1)])
    True
    >>> product_at_least_one([(12, 1), (13, -1)])
    False
    """
    coprime = _coprime_powers(powers)
    return not coprime or _log_is_positive(coprime)


def _coprime_powers(powers: Iterable[Power]) -> list[Power]:
    """The same product over pairwise coprime bases: it is empty exactly when the product is 1."""
    waiting, coprime = list(powers), list[Power]()
    while waiting:
        base, exponent = waiting.pop()
        if base == 1 or exponent == 0:
            continue
        other = next((i for i, (known, _) in enumerate(coprime) if gcd(base, known) > 1), None)
        if other is None:
            coprime.append((base, exponent))
            continue
        known, known_exponent = coprime.pop(other)
        shared = gcd(base, known)
        waiting += [
            (shared, exponent + known_exponent),
            (base // shared, exponent),
            (known // shared, known_exponent),
        ]
    return coprime


def _log_is_positive(powers: list[Power]) -> bool:
    digits = 50
    while True:  # ends: the product is not 1, so its logarithm is not 0
        context = Context(prec=digits)
        logs = [context.multiply(exponent, context.ln(Decimal(base))) for base, exponent in powers]
        total, scale = Decimal(0), Decimal(0)
        for log in logs:
            total, scale = context.add(total, log), context.add(scale, abs(log))
        if abs(total) > scale * (len(logs) + 3) * Decimal(10) ** (2 - digits):
            return total > 0
        digits *= 2


def readable(number: Fraction | int) -> str:
    """A fraction as text, as a person would write it.

    >>> readable(Fraction(1, 2)), readable(Fraction(1, 3)), readable(Fraction(3))
    ('0.5', '1/3', '3')
    """
    return str(plain(Fraction(number)))


def plain(number: Fraction) -> int | float | str:
    """A fraction in a form that JSON holds without loss: an int, a decimal, or a text such as '1/3'."""
    if number.denominator == 1:
        return int(number)
    exact = Fraction(str(float(number))) == number
    return float(number) if exact else str(number)


def rounded_up(number: Fraction) -> str:
    """The number with three digits, rounded up."""
    return _rounded(number, ROUND_CEILING)


def rounded_down(number: Fraction) -> str:
    """The number with three digits, rounded down."""
    return _rounded(number, ROUND_FLOOR)


def _rounded(number: Fraction, rounding: str) -> str:
    context = Context(prec=3, rounding=rounding)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return format(quotient.normalize(), "f")

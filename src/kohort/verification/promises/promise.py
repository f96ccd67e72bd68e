"""What verification is told of a promise: a name, a column and parameters; and what it finds of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from math import gcd
from typing import Any, Protocol, cast

import numpy as np

from kohort.data.column import number_of, unsigned_zero
from kohort.data.hierarchy import Hierarchy

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
    return [model if isinstance(model, Promise) else stated_items(model) for model in models]


def stated_items(model: Stated, *, sensitive: bool = False) -> Promise:
    """The promise that one model states, such as that about items; in words, of items not `sensitive`."""
    parameters, describe = model.to_dict(), cast(Callable[..., str], model.describe)
    other_words = getattr(model, "describe_for_people", partial(describe, classes=True))
    how = {"sensitive": True} if sensitive else {}
    words = describe(**how), other_words(**how)
    return Promise(model.name, parameters.get("attribute"), parameters, *words)


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


LONG = 2**63 - 1


def wide(numbers: np.ndarray, greatest: int) -> np.ndarray:
    """Whole numbers in 64 bits, or Python's where what is computed of them may be as great as `greatest`."""
    return numbers.astype(np.int64 if greatest <= LONG else object, copy=False)


def at_most(top: np.ndarray, bottom: np.ndarray, limit: Fraction) -> np.ndarray:
    """Where top / bottom <= limit, for whole numbers; nothing is divided, so that a bottom may be 0."""
    left, right = (
        wide(part, int(np.abs(part).max(initial=0)) * max(factor, 1)) * factor
        for part, factor in ((top, limit.denominator), (bottom, limit.numerator))
    )
    return np.asarray(left <= right, dtype=bool)


def greatest_share(top: np.ndarray, bottom: np.ndarray) -> Fraction:
    """The greatest of top / bottom, exactly; floating point only rules out those that are far below."""
    share = (top / bottom).astype(float)
    near = share >= share.max() * (1 - 1e-9)
    return max(Fraction(int(t), int(b)) for t, b in set(zip(top[near].tolist(), bottom[near].tolist())))


def power_product_sign(powers: Iterable[tuple[int, int]]) -> int:
    """Whether a product of base ** exponent is above 1 (1), below 1 (-1) or 1 (0).

    >>> power_product_sign([(12, 1), (4, -1), (3, -1)]), power_product_sign([(2, 10), (1000, -1)])
    (0, 1)
    """
    exponent_of = _without_common_divisors(powers)
    digits = 30
    while exponent_of:  # ends: numbers without common divisors only multiply to 1 with exponents of 0
        digits *= 2
        context = Context(prec=digits)
        logs = [context.multiply(e, context.ln(Decimal(base))) for base, e in exponent_of.items()]
        total = sum(map(Fraction, logs), Fraction(0))
        doubt = sum((abs(Fraction(log)) for log in logs), Fraction(0)) * 4 / 10 ** (digits - 1)
        if abs(total) > doubt:
            return 1 if total > 0 else -1
    return 0


def _without_common_divisors(powers: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The exponents of the same product over bases of which no two have a common divisor; none is 0."""
    found: dict[int, int] = {}
    waiting = list(powers)
    while waiting:
        base, exponent = waiting.pop()
        shared = next((other for other in found if gcd(other, base) > 1), None)
        if base == 1:
            continue
        if shared is None:
            found[base] = exponent
        elif shared == base:
            found[base] += exponent
        else:
            divisor, other = gcd(shared, base), found.pop(shared)
            waiting += [(divisor, exponent + other), (base // divisor, exponent), (shared // divisor, other)]
    return {base: exponent for base, exponent in found.items() if exponent}


_CELLS_AT_ONCE = 1_000_000  # bounds the memory for work on cells


@dataclass(frozen=True, eq=False)
class Counts:
    """The sizes of classes, and the cells of classes and values that occur, in the order of the classes.

    sizes     per class: records; people where they are counted
    class_of, value_of, count  per cell; without values there are none. Of people who have several values in
              a class, the counts of its cells add up to more than its size
    """

    sizes: np.ndarray
    class_of: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    value_of: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    count: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_values: int = 0

    @classmethod
    def of_records(cls, class_of: np.ndarray, value_of: np.ndarray, n_classes: int, n_values: int) -> Counts:
        """Count records, given the class and the value of each."""
        keys, count = np.unique(class_of * max(n_values, 1) + value_of, return_counts=True)
        sizes = np.bincount(class_of, minlength=n_classes)
        return cls(sizes, *np.divmod(keys, max(n_values, 1)), count, n_values)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each class."""
        first = np.ones(len(self.class_of), dtype=bool)
        np.not_equal(self.class_of[1:], self.class_of[:-1], out=first[1:])
        return np.flatnonzero(first)

    @cached_property
    def distinct(self) -> np.ndarray:
        """How many different values each class has."""
        return np.diff(self.starts, append=len(self.class_of))

    @cached_property
    def largest(self) -> np.ndarray:
        """The count of the most frequent value of each class."""
        return self.most(self.count)

    def most(self, of_cell: np.ndarray) -> np.ndarray:
        """The largest number of the cells of each class."""
        return np.maximum.reduceat(of_cell, self.starts) if len(self.sizes) else of_cell[:0]

    def total(self, of_cell: np.ndarray) -> np.ndarray:
        """The sum over the cells of each class."""
        return np.add.reduceat(of_cell, self.starts) if len(self.sizes) else of_cell[:0]

    def pieces(self) -> Iterator[Counts]:
        """The same classes, some at a time, so that what is computed of their cells fits in memory."""
        first = 0
        while first < len(self.sizes):
            begin = self.starts[first]
            after = max(int(np.searchsorted(self.starts, begin + _CELLS_AT_ONCE)), first + 1)
            end = self.starts[after] if after < len(self.starts) else len(self.class_of)
            yield Counts(
                self.sizes[first:after],
                self.class_of[begin:end] - first,
                self.value_of[begin:end],
                self.count[begin:end],
                self.n_values,
            )
            first = after


@dataclass(frozen=True, eq=False)
class Values:
    """What promises need to know of the values of a sensitive column besides their counts in classes.

    texts      by code
    overall    the count of each value in the whole table, in units of any size
    ordered    whether the codes are in the order of the values
    hierarchy  of the values, where a promise compares them by it
    """

    texts: Sequence[str | None] = ()
    overall: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    ordered: bool = False
    hierarchy: Hierarchy | None = None

    def codes(self, listed: Sequence[str | None]) -> list[int]:
        """The codes of listed values; numbers may be written in another way, such as 1.50 for 1.5."""
        wanted, present = set(listed), set(self.texts)
        numbers = {_number(text) for text in wanted - present} - {None}
        if numbers and any(_number(text) is None for text in present - {None}):
            numbers = set()  # texts, which look like numbers
        return [c for c, t in enumerate(self.texts) if t in wanted or (numbers and _number(t) in numbers)]


def _number(text: str | None) -> Decimal | None:
    return None if text is None else number_of(unsigned_zero(text))

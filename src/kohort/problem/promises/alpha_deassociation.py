"""alpha-deassociation: no class reveals a sensitive value with confidence above alpha (Wong et al., 2009)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from kohort.data.column import text_of
from kohort.errors import InputError, InternalError, counted
from kohort.parameters import shown
from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import (
    Column,
    Confidence,
    OneOf,
    Read,
    at_most,
    largest_ratio,
    readable,
    rounded_up,
)
from kohort.problem.promises.promise import NO_CONTEXT, Model, TallyRule, ValueContext


def _values(model: str, name: str, values: Any) -> tuple[str | None, ...]:
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, Iterable) or isinstance(listed, (bytes, Mapping)):
        raise InputError(f"The {name!r} parameter of {model} must be a list. Got {shown(values)}.")
    texts = tuple(dict.fromkeys(None if value is None else text_of(value) for value in listed))
    if not texts:
        raise InputError(f"The {name!r} parameter of {model} must list a value, or be left out.")
    return texts


@dataclass(frozen=True)
class AlphaDeassociation(Model):
    """In every class, sensitive values make up at most the share alpha.

    values : the sensitive values; None means every value of the attribute (Definition 11)
    combine : bound the listed values together, as one sensitive class (section 6.1), or each by itself
    rounding : 'none' is Definition 4, count <= alpha * size; 'ceiling' is Definition 5,
        count <= ceil(alpha * size), under which the measured share may lie above alpha

    >>> AlphaDeassociation("diagnosis", 0.5, values=["HIV"]).describe()
    "in every class 'HIV' makes up at most 0.5 of 'diagnosis'"
    """

    name = "alpha-deassociation"
    spec_key = "alpha"
    stops = "a confident guess that somebody has one of the chosen values"
    leaves = "guesses about other values, and shares far above that of the table but below alpha"
    typical = "alpha: 0.5"
    limited_by = "alpha"
    bounds_shares = True
    attribute: Column
    alpha: Confidence
    values: Annotated[Sequence[str | None] | None, Read(_values)] = None
    combine: bool = True
    rounding: Annotated[str, OneOf(("none", "ceiling"))] = "none"

    @property
    def survives_unions(self) -> bool:
        return self.rounding == "none"

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        sensitive, alpha = self._sensitive(counts, context), self.asked
        if self.rounding == "none":
            return at_most(sensitive, alpha.denominator, counts.sizes, alpha.numerator)
        # s <= ceil(x) is s - 1 < x for a whole number s
        return ~at_most(counts.sizes, alpha.numerator, sensitive - 1, alpha.denominator)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        if self.rounding != "none":  # a share above alpha may be right
            return super()._gaps(counts, context)
        alpha = float(self.asked)
        return self._sensitive(counts, context) / counts.sizes - alpha, 1 - alpha

    def _sensitive(self, counts: ClassCounts, context: ValueContext) -> np.ndarray:
        """The records of each class that alpha bounds: of all listed values, or of the most frequent one."""
        if self.values is None:
            return counts.largest
        if len(context.labels) != counts.n_values:
            raise InternalError(f"The labels of {self.attribute!r} are needed to find the listed values.")
        listed = np.zeros(counts.n_values, dtype=bool)
        listed[context.codes(self.values)] = True
        cells = np.where(listed[counts.value_of], counts.count, 0)
        gather = np.add if self.combine else np.maximum
        return gather.reduceat(cells, counts.starts)

    def tally_rule(self) -> TallyRule | None:
        if self.rounding != "none":
            return None
        together = self.values is not None and self.combine
        values = None if self.values is None else tuple(self.values)
        return TallyRule("together" if together else "most", float(self.asked), values)

    def distinguishes(self, context: ValueContext) -> np.ndarray:
        every = super().distinguishes(context)
        if self.values is None:
            return every
        listed = np.isin(every, context.codes(self.values))
        return np.where(listed, 0 if self.combine else every, -1)

    def notes(self, context: ValueContext) -> tuple[str, ...]:
        unknown = sum(not context.codes([value]) for value in self.values or ())
        of, do = f"that alpha protects in {self.attribute!r}", "does" if unknown == 1 else "do"
        return (f"{counted(unknown, 'value')} {of} {do} not occur in the table.",) if unknown else ()

    def describe(self) -> str:
        rounded = "" if self.rounding == "none" else ", rounded up to whole records"
        names = ", ".join(map(repr, self.values or ()))
        what = self._said(
            "each value makes", f"{names} makes", f"{names} together make", f"each of {names} makes"
        )
        return f"in every class {what} up at most {readable(self.asked)} of {self.attribute!r}{rounded}"

    def describe_for_people(self) -> str:
        rounded = "" if self.rounding == "none" else ", rounded up to whole people"
        names = ", ".join(map(repr, self.values or ()))
        one_of = f"one of {names}, each by itself,"
        what = self._said("the same value", f"the value {names}", f"any of {names}", one_of)
        share = readable(self.asked)
        return f"in every class at most {share} of the people have {what} of {self.attribute!r}{rounded}"

    def _said(self, every: str, one: str, together: str, each: str) -> str:
        """The words for the values that it bounds."""
        if self.values is None:
            return every
        return one if len(self.values) == 1 else together if self.combine else each

    def refusal(
        self, whole_table: ClassCounts, context: ValueContext = NO_CONTEXT, *, k: int = 1
    ) -> str | None:
        """Why the rule is impossible, or None; with a ceiling, small classes may keep what the table breaks.

        Then the answer is exact if one value, or values combined, are bounded. If several are bounded each by
        itself, each is possible alone: whether all are possible at once is left to the algorithm.
        """
        refused = super().refusal(whole_table, context, k=k)
        if refused is None or self.rounding == "none":
            return refused
        sensitive = int(self._sensitive(whole_table, context)[0])
        most = largest_feasible_sensitive(int(whole_table.sizes[0]), k, self.asked)
        return None if sensitive <= most else f"{refused}, or k must be below {k}"

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        share = rounded_up(largest_ratio(self._sensitive(whole_table, context), whole_table.sizes))
        subject = "the most frequent value makes up"
        if self.values is not None:
            subject = "the listed values make up" if self.combine else "a listed value makes up"
        return (
            f"alpha = {readable(self.asked)} is impossible: {subject} {share} of {self.attribute!r} "
            f"in the whole table, so alpha must be at least {share}"
        )


def largest_feasible_sensitive(n: int, k: int, alpha: Fraction) -> int:
    """The most sensitive records that n records can have in classes of at least k, s <= ceil(alpha * size).

    Classes of k to 2k-1 suffice: ceil(alpha (p + q)) <= ceil(alpha p) + ceil(alpha q), so cutting a class of
    2k or more in two loses nothing.

    >>> largest_feasible_sensitive(6, 3, Fraction(1, 2))
    4
    """
    if n < k:
        return 0
    room = {size: -(-alpha.numerator * size // alpha.denominator) for size in range(k, 2 * k)}
    densest = max(room, key=lambda size: Fraction(room[size], size))
    # With `densest` classes or more, some of them have together a multiple of `densest` records (two of the
    # running sums are equal modulo `densest`). Replaced by classes of that size they hold at least as many
    # sensitive records, so one such class can be set aside as long as there must be that many classes.
    aside = max(0, (n - densest * (2 * k - 1)) // densest + 1)
    return aside * room[densest] + _most_room(n - aside * densest, room)


def _most_room(n: int, room: dict[int, int]) -> int:
    """The largest total room of classes, each of a size in `room`, that have at most n records together.

    Records left over join any class, so of the sizes with equal room the smallest is enough.
    """
    k, longest = min(room), max(room)
    smallest = {gain: size for size, gain in sorted(room.items(), reverse=True)}
    best = np.full(longest + n + 1, -n - 1, dtype=np.int64)  # best[longest + records]; negative: impossible
    best[longest] = 0
    for start in range(longest + k, longest + n + 1, k):  # k entries at a time: none needs another of them
        stop = min(start + k, longest + n + 1)
        for gain, size in smallest.items():
            np.maximum(best[start:stop], best[start - size : stop - size] + gain, out=best[start:stop])
    return int(best.max())

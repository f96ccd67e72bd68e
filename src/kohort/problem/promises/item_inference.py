"""What promises about sensitive items have in common: who holds them, and what may not be implied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.column import Column
from kohort.errors import InputError
from kohort.problem.promises.exact import at_most


class InferenceRule(NamedTuple):
    """Of the records in `known` that have any m other items, too large a share may not be in `held`.

    known  the records that hold the sensitive items that somebody knows; all of them where none is known
    held   those of them that also hold the sensitive item that must not be implied
    m      how many other items may be known besides
    items  the numbers of the known sensitive items, and last that of the implied one
    """

    known: np.ndarray
    held: np.ndarray
    m: int
    items: tuple[int, ...]


class ItemInference(ABC):
    """A limit on how sure m known items of a record make somebody of a sensitive item.

    sensitive  the sensitive items; none where the values of a column are protected instead
    attribute  that column
    m          how many items others may know
    asked      the limit on the confidence
    strict     whether a confidence must stay below the limit; otherwise it may reach it
    knows_sensitive  whether sensitive items may be among those that others know
    """

    name: ClassVar[str]
    spec_key: ClassVar[str]
    only_counts: ClassVar[bool] = False
    strict: ClassVar[bool] = False
    knows_sensitive: ClassVar[bool] = False
    sensitive: Sequence[str]
    attribute: str | None
    m: int

    @property
    @abstractmethod
    def asked(self) -> Fraction: ...

    @property
    def protected(self) -> str:
        """What is protected, in words: more than one of them."""
        return "sensitive items" if self.attribute is None else f"values of {self.attribute!r}"

    @abstractmethod
    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them."""

    @abstractmethod
    def refusal(self, share: Fraction) -> str:
        """Why the promise is impossible where sensitive items alone imply one with this confidence."""

    def held(self, baskets: Baskets, values: Column | None, *, multiset: bool = False) -> list[np.ndarray]:
        """Whether each record holds each sensitive item, or each value of the column: an array for each."""
        if values is None:
            return baskets.holders(self.sensitive, multiset=multiset)
        return [values.codes == code for code in range(len(values.texts))]

    def rules(self, holds: Sequence[np.ndarray]) -> Iterator[InferenceRule]:
        """All rules that follow for records that hold sensitive items, `holds` as `held` returns it."""
        for number, held in enumerate(holds):
            yield InferenceRule(np.ones(len(held), dtype=bool), held, self.m, (number,))

    def broken_rules(
        self, holds: Sequence[np.ndarray], *, besides: int = 0
    ) -> Iterator[tuple[InferenceRule, Fraction]]:
        """The rules that records break by their sensitive items alone, each with its confidence.

        besides  1 where it is known of these records that they have other items: one item less is known then
        """
        for rule in self.rules(holds):
            holders, support = int(rule.held.sum()), int(rule.known.sum())
            if support and rule.m >= besides and not self.allows(np.array([holders]), np.array([support]))[0]:
                yield rule, Fraction(holders, support)

    def allows_shares(self, holds: Sequence[np.ndarray], *, besides: int = 0) -> bool:
        """Whether some records may hold their sensitive items if nothing else of them is known.

        besides  1 where it is known that they have other items
        """
        return next(self.broken_rules(holds, besides=besides), None) is None

    def allows(self, holders: np.ndarray, support: np.ndarray) -> np.ndarray:
        """Where this many holders among the records that fit are not too many."""
        p, q = self.asked.numerator, self.asked.denominator
        return ~at_most(support, p, holders, q) if self.strict else at_most(holders, q, support, p)

    def limit_among(self, n_records: int) -> Fraction:
        """The highest confidence that is allowed among this many records.

        Shares of n records that are below p/q are at most p/q - 1/(q n).
        """
        return self.asked - Fraction(int(self.strict), self.asked.denominator * max(n_records, 1))


def item_texts(model: str, sensitive: object) -> tuple[str, ...]:
    """The names of sensitive items, each once; raises InputError for what is no list of texts."""
    if isinstance(sensitive, Sequence) and not isinstance(sensitive, str):
        texts = tuple(dict.fromkeys(sensitive))
        if texts and all(isinstance(text, str) and text for text in texts):
            return texts
    raise InputError(f"The 'sensitive' parameter of {model} must be a list of items, as texts.")

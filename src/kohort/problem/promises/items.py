"""Promises about items of baskets: k^m-anonymity, and what known items may not imply.

k^m-anonymity: m known items leave at least k records (Terrovitis, Mamoulis and Kalnis, 2008).
item-confidence: known items of a basket do not imply a sensitive one, the l-diversity of sets that they leave
to future work.
rho-uncertainty: no known items, sensitive ones included, imply another sensitive item (Cao et al., 2010).

J. Cao, P. Karras, C. Raissi and K.-L. Tan: rho-uncertainty: inference-proof transaction anonymization, PVLDB
2010. There nothing bounds what others know; here it is bounded by m items.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.column import Column
from kohort.errors import InputError, counted
from kohort.problem.promises.exact import AtLeastOne, Confidence, Read, at_most, plain, rounded_up
from kohort.problem.promises.promise import Promise


@dataclass(frozen=True)
class KmAnonymity(Promise):
    """Any m items or fewer that some record of a class has, at least k records of that class have.

    Baskets alone are one class. Beside quasi-identifiers, a class is what looks alike in them, so that they
    and m known items together leave k records.

    >>> KmAnonymity(5, 2).describe()
    'up to 2 known items match at least 5 records'
    """

    name = "km-anonymity"
    spec_key = "m"
    stops = "finding the basket of a person by m of its items"
    leaves = "whoever knows more items, and learning an item that all these baskets have"
    typical = "m: 2, with k: 5"
    only_counts = True
    attribute = ""
    k: AtLeastOne
    m: AtLeastOne

    def describe(self, *, classes: bool = False, sensitive: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`, and with `sensitive` items aside."""
        inside = " of a class" if classes else ""
        match = "matches" if self.m == 1 else "match"
        return (
            f"{known_items(self.m, sensitive=sensitive)}{inside} {match} at least {counted(self.k, 'record')}"
        )


def known_items(m: int, *, sensitive: bool) -> str:
    """The items that an attacker may know, in words.

    >>> known_items(2, sensitive=True)
    'up to 2 known items that are not sensitive'
    """
    known = "one known item" if m == 1 else f"up to {m} known items"
    others = " that is not sensitive" if m == 1 else " that are not sensitive"
    return known + (others if sensitive else "")


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


class ItemInference(Promise):
    """A limit on how sure m known items of a record make somebody of a sensitive item.

    sensitive  the sensitive items; none where the values of a column are protected instead
    attribute  that column; empty: none
    m          how many items others may know
    asked      the limit on the confidence
    strict     whether a confidence must stay below the limit; otherwise it may reach it
    knows_sensitive  whether sensitive items may be among those that others know
    """

    strict: ClassVar[bool] = False
    knows_sensitive: ClassVar[bool] = False
    sensitive: Sequence[str]
    m: int

    @property
    def protected(self) -> str:
        """What is protected, in words: more than one of them."""
        return f"values of {self.attribute!r}" if self.attribute else "sensitive items"

    @abstractmethod
    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`."""

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


def _items(model: str, name: str, value: object, *, least: int = 0) -> tuple[str, ...]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = tuple(dict.fromkeys(value))
        if len(texts) >= least and all(isinstance(text, str) and text for text in texts):
            return texts
    raise InputError(f"The {name!r} parameter of {model} must be a list of items, as texts.")


@dataclass(frozen=True)
class ItemConfidence(ItemInference):
    """Up to m known items imply no sensitive item with a confidence above `limit`.

    At most this share of the records that have the known items holds any one sensitive item. Known items are
    not sensitive. An attacker may also know none: neither among all records nor among those that have items
    besides sensitive ones may the share of a sensitive item be above the limit. Beside quasi-identifiers, all
    this holds within every class.

    sensitive  the sensitive items
    limit      the highest confidence that is allowed
    m          how many items others may know
    attribute  instead of items: a column, of which no value may be implied. A limit of 1/l is the frequency
               l-diversity of the column among the records with any m known items

    >>> ItemConfidence(["test"], "1/2", m=1).describe()
    'one known item that is not sensitive reveals no sensitive item with a confidence above 0.5'
    """

    name = "item-confidence"
    spec_key = "confidence"
    stops = "being sure of a sensitive item by m other items"
    leaves = "whoever knows sensitive items already"
    typical = "limit: 0.5"
    limited_by = "limit"
    sensitive: Annotated[Sequence[str], Read(_items)] = ()
    limit: Confidence = 0
    m: AtLeastOne = 0
    attribute: str = ""

    def check(self) -> None:
        if bool(self.attribute) == bool(self.sensitive):
            raise InputError(
                "ItemConfidence protects a list of items ('sensitive') or the values of a column "
                "('attribute'). Name one of the two."
            )

    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`."""
        known = known_items(self.m, sensitive=not self.attribute) + (" of a class" if classes else "")
        reveal = "reveals" if self.m == 1 else "reveal"
        what = f"value of {self.attribute!r}" if self.attribute else "sensitive item"
        return f"{known} {reveal} no {what} with a confidence above {plain(self.asked)}"

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them."""
        what = {"attribute": self.attribute} if self.attribute else {"sensitive": list(self.sensitive)}
        return {**what, "limit": plain(self.asked), "m": self.m}

    def refusal(self, share: Fraction) -> str:
        """Why the promise is impossible where this share of the records holds a sensitive item."""
        return (
            f"limit = {plain(self.asked)} is impossible: a larger share of all baskets, or of those with "
            f"other items too, holds one of the {self.protected}. The limit must be at least "
            f"{rounded_up(share)} ({share})."
        )


@dataclass(frozen=True)
class RhoUncertainty(ItemInference):
    """Up to m known items imply no further sensitive item with a confidence of `rho` or more.

    Less than this share of the records that have the known items holds any sensitive item that is not among
    them. Known items may be sensitive ones. An attacker may also know none; that there are items besides
    sensitive ones counts as a known item. Where m is at least the size of the largest basket less 1, it is
    the rho-uncertainty of the paper. Beside quasi-identifiers, all this holds within every class.

    sensitive  the sensitive items
    rho        what every confidence stays below
    m          how many items others may know

    >>> promise = RhoUncertainty(["test", "pills"], "1/2", m=1)
    >>> test, pills = np.array([1, 1, 0, 0, 0], dtype=bool), np.array([1, 0, 0, 0, 0], dtype=bool)
    >>> [(rule.items, str(share)) for rule, share in promise.broken_rules([test, pills])]
    [((1, 0), '1'), ((0, 1), '1/2')]
    """

    name = "rho-uncertainty"
    spec_key = "uncertainty"
    stops = "being sure of a sensitive item by m items, other sensitive ones among them"
    leaves = "whoever knows more items"
    typical = "rho: 0.5"
    limited_by = "rho"
    strict = True
    knows_sensitive = True
    attribute = ""
    sensitive: Annotated[Sequence[str], Read(partial(_items, least=1))]
    rho: Confidence
    m: AtLeastOne = 0

    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`."""
        known = "one known item" if self.m == 1 else f"up to {self.m} known items"
        inside, reveal = " of a class" if classes else "", "reveals" if self.m == 1 else "reveal"
        return (
            f"{known}{inside}, sensitive or not, {reveal} no other sensitive item with a confidence of "
            f"{plain(self.asked)} or more"
        )

    def refusal(self, share: Fraction) -> str:
        """Why the promise is impossible where sensitive items alone imply one with this confidence."""
        higher = f"Raise it above {share}, or let" if share < 1 else "Let"
        return (
            f"rho = {plain(self.asked)} is impossible, whatever other items are published as: of all "
            f"baskets, or of those that hold some sensitive items, a share of {share} holds another one. "
            f"{higher} sensitive items be dropped: suppress: true."
        )

    def rules(self, holds: Sequence[np.ndarray]) -> Iterator[InferenceRule]:
        """A rule for every set of up to m known sensitive items and every other one that some record has.

        As many more items may be known as there are fewer sensitive ones among the m.
        """
        everybody = np.ones(len(holds[0]) if holds else 0, dtype=bool)
        sets: list[tuple[tuple[int, ...], np.ndarray]] = [((), everybody)]
        while sets:
            items, known = sets.pop()
            for number, held in enumerate(holds):
                both = known & held
                if number in items or not both.any():
                    continue
                yield InferenceRule(known, both, self.m - len(items), (*items, number))
                if len(items) < self.m and (not items or number > items[-1]):
                    sets.append(((*items, number), both))

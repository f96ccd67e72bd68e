"""item-confidence: known items of a basket do not imply a sensitive one.

The l-diversity of sets that Terrovitis, Mamoulis and Kalnis (2008) leave to future work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.column import Column
from kohort.errors import InputError
from kohort.problem.models.exact import Number, at_most, exact_number, largest_ratio, plain, whole_number
from kohort.problem.models.itemsets import Itemsets, ItemTable, itemsets_of
from kohort.problem.models.km_anonymity import known_items

__all__ = ["ConfidenceSurvey", "ItemConfidence", "TellingItemset"]


class TellingItemset(NamedTuple):
    """An itemset that implies a sensitive item: `holders` of the `support` records that have it hold that."""

    items: tuple[int, ...]
    sensitive: int
    support: int
    holders: int


@dataclass
class ConfidenceSurvey:
    """The result of examining every itemset: the highest confidence, and the itemsets above the limit.

    `listed` holds the first of those, at most as many as were wanted.
    """

    highest: Fraction | None = None
    telling: int = 0
    listed: list[TellingItemset] = field(default_factory=list)


@dataclass(frozen=True)
class ItemConfidence:
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

    >>> promise = ItemConfidence(["test"], "1/2", m=1)
    >>> bought, tested = [[0], [0, 1], [1], [1]], [True, True, False, False]
    >>> promise.survey_of(bought, [tested]).listed
    [TellingItemset(items=(0,), sensitive=0, support=2, holders=2)]
    """

    name: ClassVar[str] = "item-confidence"
    spec_key: ClassVar[str] = "confidence"
    only_counts: ClassVar[bool] = False
    sensitive: Sequence[str] = ()
    limit: Number = 0
    m: int = 0
    attribute: str | None = None

    def __post_init__(self) -> None:
        no_items = isinstance(self.sensitive, Sequence) and not self.sensitive
        if (self.attribute is None) == no_items:
            raise InputError(
                "ItemConfidence protects a list of items ('sensitive') or the values of a column "
                "('attribute'). Name one of the two."
            )
        if not no_items:
            object.__setattr__(self, "sensitive", _texts(self.sensitive))
        wanted = "a number > 0 and <= 1"
        limit = exact_number("ItemConfidence", "limit", self.limit, wanted, lambda x: 0 < x <= 1)
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "m", whole_number("ItemConfidence", "m", self.m, least=1))

    @property
    def asked(self) -> Fraction:
        return Fraction(self.limit)

    @property
    def protected(self) -> str:
        """What is protected, in words: more than one of them."""
        return "sensitive items" if self.attribute is None else f"values of {self.attribute!r}"

    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`."""
        known = known_items(self.m, sensitive=self.attribute is None) + (" of a class" if classes else "")
        reveal = "reveals" if self.m == 1 else "reveal"
        what = "sensitive item" if self.attribute is None else f"value of {self.attribute!r}"
        return f"{known} {reveal} no {what} with a confidence above {plain(self.asked)}"

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them."""
        what = (
            {"sensitive": list(self.sensitive)} if self.attribute is None else {"attribute": self.attribute}
        )
        return {**what, "limit": plain(self.asked), "m": self.m}

    def held(self, baskets: Baskets, values: Column | None, *, multiset: bool = False) -> list[np.ndarray]:
        """Whether each record holds each sensitive item, or each value of the column: an array for each."""
        if values is None:
            return baskets.holders(self.sensitive, multiset=multiset)
        return [values.codes == code for code in range(len(values.texts))]

    def allows_shares(self, holds: Sequence[np.ndarray]) -> bool:
        """Whether, for each sensitive item, the share of the records that hold it is within the limit."""
        return all(Fraction(int(held.sum()), max(len(held), 1)) <= self.asked for held in holds)

    def survey_of(self, baskets: list[list[int]], holds: Sequence[Sequence[bool]]) -> ConfidenceSurvey:
        """Survey baskets of items that are not sensitive."""
        offsets = np.cumsum([0, *map(len, baskets)])
        items = np.array([item for basket in baskets for item in basket], dtype=np.int64)
        return self.survey(offsets, items, [np.array(held, dtype=bool) for held in holds])

    def survey(
        self, offsets: np.ndarray, items: np.ndarray, holds: Sequence[np.ndarray], *, most: int = 100_000
    ) -> ConfidenceSurvey:
        """Look at every itemset of up to m items of every record; list up to `most` that break the rule.

        Record r has the distinct items items[offsets[r]:offsets[r + 1]], none of them sensitive, and holds
        sensitive item number s if holds[s][r]. O(itemsets of up to m items in all records * sensitive items).
        """
        found = ConfidenceSurvey()
        sizes = np.diff(offsets)
        for s, held in enumerate(holds):
            for fitting in (held, held[sizes > 0]):
                if len(fitting):
                    n, holders = np.array([len(fitting)]), np.array([fitting.sum()])
                    self._judge(found, n, holders, s, most, lambda _: ())
        table, order = ItemTable.of(np.arange(len(sizes)), offsets, items)
        for size in range(1, min(self.m, int(sizes.max(initial=0))) + 1):
            for part in itemsets_of(table, size):
                self._judge_part(found, part, holds, order, most)
        return found

    def _judge_part(
        self,
        found: ConfidenceSurvey,
        part: Itemsets,
        holds: Sequence[np.ndarray],
        order: np.ndarray,
        most: int,
    ) -> None:
        if not len(part.key):
            return
        keys, number = np.unique(part.key, return_inverse=True)
        support = np.bincount(number)

        def items(i: int) -> tuple[int, ...]:
            return tuple(sorted(order[list(part.items(int(keys[i])))].tolist()))

        for s, held in enumerate(holds):
            holders = np.bincount(number[held[part.group]], minlength=len(keys))
            self._judge(found, support, holders, s, most, items)

    def _judge(
        self,
        found: ConfidenceSurvey,
        support: np.ndarray,
        holders: np.ndarray,
        sensitive: int,
        most: int,
        items: Callable[[int], tuple[int, ...]],
    ) -> None:
        """Record how many of the records with each of some itemsets hold one sensitive item."""
        highest = largest_ratio(holders, support)
        found.highest = highest if found.highest is None else max(found.highest, highest)
        fine = at_most(holders, self.asked.denominator, support, self.asked.numerator)
        telling = np.flatnonzero(~fine)
        found.telling += len(telling)
        for i in telling[: max(most - len(found.listed), 0)].tolist():
            found.listed.append(TellingItemset(items(i), sensitive, int(support[i]), int(holders[i])))


def _texts(sensitive: object) -> tuple[str, ...]:
    if isinstance(sensitive, Sequence) and not isinstance(sensitive, str):
        texts = tuple(dict.fromkeys(sensitive))
        if texts and all(isinstance(text, str) and text for text in texts):
            return texts
    raise InputError("The 'sensitive' parameter of ItemConfidence must be a list of items, as texts.")

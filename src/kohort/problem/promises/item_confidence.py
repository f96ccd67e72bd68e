"""item-confidence: known items of a basket do not imply a sensitive one.

The l-diversity of sets that Terrovitis, Mamoulis and Kalnis (2008) leave to future work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from kohort.errors import InputError
from kohort.problem.promises.exact import Number, exact_number, plain, rounded_up, whole_number
from kohort.problem.promises.item_inference import ItemInference, item_texts
from kohort.problem.promises.km_anonymity import known_items


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

    name: ClassVar[str] = "item-confidence"
    spec_key: ClassVar[str] = "confidence"
    stops: ClassVar[str] = "being sure of a sensitive item by m other items"
    leaves: ClassVar[str] = "whoever knows sensitive items already"
    typical: ClassVar[str] = "limit: 0.5"
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
            object.__setattr__(self, "sensitive", item_texts("ItemConfidence", self.sensitive))
        wanted = "a number > 0 and <= 1"
        limit = exact_number("ItemConfidence", "limit", self.limit, wanted, lambda x: 0 < x <= 1)
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "m", whole_number("ItemConfidence", "m", self.m, least=1))

    @property
    def asked(self) -> Fraction:
        return Fraction(self.limit)

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

    def refusal(self, share: Fraction) -> str:
        """Why the promise is impossible where this share of the records holds a sensitive item."""
        return (
            f"limit = {plain(self.asked)} is impossible: a larger share of all baskets, or of those with "
            f"other items too, holds one of the {self.protected}. The limit must be at least "
            f"{rounded_up(share)} ({share})."
        )

"""Who holds something sensitive in published baskets, and which sets of published items imply it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.column import Column
from kohort.verification.promises import Promise
from kohort.verification.promises.itemsets import Inferences, infer

__all__ = ["Holders", "holders_of"]


class Holders(NamedTuple):
    """What is promised of sensitive items or values, and who holds them.

    others        the published baskets without sensitive items
    known         the published baskets with what others may know: sensitive items as well, or not
    sensitive_of  per item of those the number of the sensitive item that it is, or -1; None: none is known
    names         of the sensitive items or values
    holds         for each of them, whether each record holds it
    """

    promise: Promise
    others: Baskets
    known: Baskets
    sensitive_of: np.ndarray | None
    names: Sequence[str | None]
    holds: list[np.ndarray]

    @property
    def limit(self) -> Fraction:
        """The confidence that is allowed; where sensitive items may be known, it must stay below."""
        return self.promise.number("limit" if self.sensitive_of is None else "rho")

    def inferences(self, records: np.ndarray) -> Inferences:
        """Look at every set of published items of some records."""
        sizes = self.known.sizes[records]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.known.offsets[records] - offsets[:-1], sizes)
        return infer(
            Inferences(self.limit, strict=self.sensitive_of is not None),
            int(self.promise.number("m")),
            offsets,
            self.known.items.codes[places],
            [held[records] for held in self.holds],
            self.sensitive_of,
        )


def holders_of(published: Baskets, promise: Promise, values: Column | None, *, multiset: bool) -> Holders:
    """Who holds the sensitive items, or the values of a column."""
    sensitive = promise.parameters.get("sensitive", ())
    others = published.parted(sensitive, multiset=multiset)[0]
    if values is not None:
        holds = [values.codes == code for code in range(len(values.texts))]
        return Holders(promise, others, others, None, values.texts, holds)
    holds = published.holders(sensitive, multiset=multiset)
    if promise.name != "rho-uncertainty":
        return Holders(promise, others, others, None, sensitive, holds)
    number = {name: i for i, name in enumerate(sensitive)}
    of_item = np.array([number.get(name, -1) for name in published.names(multiset)], dtype=np.int64)
    return Holders(promise, others, published, of_item, sensitive, holds)

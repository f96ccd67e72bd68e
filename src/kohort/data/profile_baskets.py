"""A first look at baskets: how many, how large, and how many of them one known item singles out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kohort.data.baskets import Baskets


@dataclass(frozen=True)
class BasketProfile:
    """Figures of baskets before they are published.

    mean_size, largest  items per basket
    empty               baskets without items
    rare_items          items that a single basket has
    unique_share        share of the baskets that one known item singles out
    """

    records: int
    items: int
    mean_size: float
    largest: int
    empty: int
    rare_items: int
    unique_share: float

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data; no item is named."""
        return asdict(self)


def profile_baskets(baskets: Baskets) -> BasketProfile:
    """Profile baskets. O(items in all of them)."""
    codes, sizes = baskets.items.codes, baskets.sizes
    support = np.bincount(codes, minlength=len(baskets.items.texts))
    found = np.unique(baskets.record_of_item[support[codes] == 1])
    return BasketProfile(
        records=len(baskets),
        items=int((support > 0).sum()),
        mean_size=float(sizes.mean()) if len(sizes) else 0.0,
        largest=int(sizes.max(initial=0)),
        empty=int((sizes == 0).sum()),
        rare_items=int((support == 1).sum()),
        unique_share=len(found) / len(baskets) if len(baskets) else 0.0,
    )

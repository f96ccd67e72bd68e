"""Files of baskets, as kohort init and kohort profile come upon them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.errors import counted, percent

if TYPE_CHECKING:
    from kohort.data.profile_baskets import BasketProfile
    from kohort.io.baskets import BasketShape
    from kohort.io.databases import DatabaseTable


@dataclass(frozen=True)
class FoundBaskets:
    """How a file holds its baskets, and what is in them."""

    shape: BasketShape
    profile: BasketProfile

    def sentences(self) -> list[str]:
        """Sentences that say what was found."""
        found = self.profile
        return [
            f"The file holds one basket per line: {counted(found.records, 'basket')} with "
            f"{counted(found.items, 'different item')}; a basket has {found.mean_size:.1f} items on average, "
            "and "
            f"{found.largest:,} at most.",
            f"{counted(found.rare_items, 'item is', 'items are')} in a single basket only. Somebody who "
            "knows "
            f"one item of a basket finds {percent(found.unique_share)} of all baskets for certain.",
        ]


def basket_profile(data: Path | DatabaseTable, **reading: Any) -> FoundBaskets | None:
    """The baskets of a file that holds one a line; None for a table, and where it was said how to read it."""
    if not isinstance(data, Path):
        return None
    from kohort.data.baskets import code_baskets
    from kohort.data.profile_baskets import profile_baskets
    from kohort.io.basket_lines import recognized_baskets
    from kohort.io.baskets import BASKETS
    from kohort.io.data_files import read_data
    from kohort.io.tables import refuse_unreadable

    refuse_unreadable(data)
    if any(value is not None for value in reading.values()):
        return None
    shape = recognized_baskets(data)
    if shape is None:
        return None
    table = read_data(data, shape).table
    return FoundBaskets(shape, profile_baskets(code_baskets(BASKETS, table[BASKETS])))

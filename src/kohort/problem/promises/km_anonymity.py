"""k^m-anonymity: m known items leave at least k records (Terrovitis, Mamoulis and Kalnis, 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kohort.errors import counted
from kohort.problem.promises.exact import whole_number


@dataclass(frozen=True)
class KmAnonymity:
    """Any m items or fewer that some record of a class has, at least k records of that class have.

    Baskets alone are one class. Beside quasi-identifiers, a class is what looks alike in them, so that they
    and m known items together leave k records.

    >>> KmAnonymity(5, 2).describe()
    'up to 2 known items match at least 5 records'
    """

    name: ClassVar[str] = "km-anonymity"
    spec_key: ClassVar[str] = "m"
    stops: ClassVar[str] = "finding the basket of a person by m of its items"
    leaves: ClassVar[str] = "whoever knows more items, and learning an item that all these baskets have"
    typical: ClassVar[str] = "m: 2, with k: 5"
    only_counts: ClassVar[bool] = True
    k: int
    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("KmAnonymity", "k", self.k, least=1))
        object.__setattr__(self, "m", whole_number("KmAnonymity", "m", self.m, least=1))

    def describe(self, *, classes: bool = False, sensitive: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`, and with `sensitive` items aside."""
        inside = " of a class" if classes else ""
        match = "matches" if self.m == 1 else "match"
        return (
            f"{known_items(self.m, sensitive=sensitive)}{inside} {match} at least {counted(self.k, 'record')}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them."""
        return {"k": self.k, "m": self.m}


def known_items(m: int, *, sensitive: bool) -> str:
    """The items that an attacker may know, in words.

    >>> known_items(2, sensitive=True)
    'up to 2 known items that are not sensitive'
    """
    known = "one known item" if m == 1 else f"up to {m} known items"
    others = " that is not sensitive" if m == 1 else " that are not sensitive"
    return known + (others if sensitive else "")

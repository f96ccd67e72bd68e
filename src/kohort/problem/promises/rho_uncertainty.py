"""rho-uncertainty: no known items, sensitive ones included, imply another sensitive item (Cao et al., 2010).

J. Cao, P. Karras, C. Raissi and K.-L. Tan: rho-uncertainty: inference-proof transaction anonymization, PVLDB
2010. There nothing bounds what others know; here it is bounded by m items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kohort.problem.promises.exact import Number, exact_number, plain, whole_number
from kohort.problem.promises.item_inference import InferenceRule, ItemInference, item_texts


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

    name: ClassVar[str] = "rho-uncertainty"
    spec_key: ClassVar[str] = "uncertainty"
    stops: ClassVar[str] = "being sure of a sensitive item by m items, other sensitive ones among them"
    leaves: ClassVar[str] = "whoever knows more items"
    typical: ClassVar[str] = "rho: 0.5"
    strict: ClassVar[bool] = True
    knows_sensitive: ClassVar[bool] = True
    attribute: ClassVar[str | None] = None  # type: ignore[misc]
    sensitive: Sequence[str]
    rho: Number
    m: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", item_texts("RhoUncertainty", self.sensitive))
        wanted = "a number > 0 and <= 1"
        rho = exact_number("RhoUncertainty", "rho", self.rho, wanted, lambda x: 0 < x <= 1)
        object.__setattr__(self, "rho", rho)
        object.__setattr__(self, "m", whole_number("RhoUncertainty", "m", self.m, least=1))

    @property
    def asked(self) -> Fraction:
        return Fraction(self.rho)

    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`."""
        known = "one known item" if self.m == 1 else f"up to {self.m} known items"
        inside, reveal = " of a class" if classes else "", "reveals" if self.m == 1 else "reveal"
        return (
            f"{known}{inside}, sensitive or not, {reveal} no other sensitive item with a confidence of "
            f"{plain(self.asked)} or more"
        )

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them."""
        return {"sensitive": list(self.sensitive), "rho": plain(self.asked), "m": self.m}

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

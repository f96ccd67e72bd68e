"""Evidence for a lower bound that anybody can check: prices of records, and cuts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kohort.problem.promises import Model


@dataclass(frozen=True, eq=False)
class OpeningCuts:
    """Sets of closed records of which no release can open more than some number, and a price of each set.

    Every open closed record has k records of its own. A set with fewer than (most + 1) * k records under its
    members in all has at most `most` of them open; one where any two members have fewer than 2k records under
    them together has at most one open.

    start     per cut and one more: its members are members[start[c]:start[c + 1]]
    members   closed records
    most      per cut: how many members can be open
    price     per cut, at least 0: by so much the prices of a group may exceed the cost of a member
    """

    start: np.ndarray
    members: np.ndarray
    most: np.ndarray
    price: np.ndarray

    @classmethod
    def none(cls) -> OpeningCuts:
        whole = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(1, dtype=np.int64), whole, whole, np.zeros(0))

    def __len__(self) -> int:
        return len(self.most)

    @property
    def total(self) -> float:
        """What all allowances of a release can add up to at most."""
        return float(np.dot(self.price, self.most))

    def among(self, nodes: np.ndarray) -> tuple[OpeningCuts, np.ndarray]:
        """The cuts with members numbered through, and the nodes of these, given those of all of them."""
        used, members = np.unique(self.members, return_inverse=True)
        return replace(self, members=members), nodes[used]


@dataclass(frozen=True, eq=False)
class PriceProof:
    """Prices of records that no group can pay, but for the allowances of cuts.

    A group is published as a closed record Q or as something that costs more. If the prices of every group
    that keeps the promises exceed the group's cost by at most the sum of the prices of the cuts that have its
    Q as a member, the sum of all prices, minus price * most of all cuts, is a lower bound on the cost of any
    release. Whoever checks that finds all Q again: none are listed here.

    prices          per unit of records
    unit_of_record  per record of the problem
    nodes           closed records by attributes, those that cuts or charges are about
    cuts            with members among these
    model           the privacy model besides k that the prices make use of, if any
    charge          for t-closeness, `nodes` by sensitive values: numbers that prove what is claimed
    order           in which the attributes are best settled by who looks for all Q; () for any
    settled         a higher bound, in the units of the cost, or None: the least cost by integer programming
                    over the closed records that the prices do not exclude from every release of less cost.
                    Nothing here proves it: it is the solver's word
    """

    prices: np.ndarray
    unit_of_record: np.ndarray
    nodes: np.ndarray
    cuts: OpeningCuts = field(default_factory=OpeningCuts.none)
    model: Model | None = None
    charge: np.ndarray | None = None
    order: tuple[int, ...] = ()
    settled: float | None = None


@dataclass(frozen=True, eq=False)
class BoxProof:
    """Prices of distinct rows such that no k records are priced above k times the cost of their box.

    A box has an interval, a set or a node per column. The k dearest records of a group have a box of no
    greater cost, and no other record of the group is priced above their mean: so the prices of a group sum to
    at most its cost, and the sum of all prices is a lower bound on the cost of any release. There are too
    many boxes to list: who checks the prices goes through them again.

    prices  per distinct row of the problem
    """

    prices: np.ndarray


Proof = PriceProof | BoxProof

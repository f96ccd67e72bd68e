"""Evidence for a lower bound that anybody can check: prices of records, closed records, and cuts."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class OpeningCuts:
    """Sets of closed records of which no release can open more than some number, and a price of each set.

    Every open closed record has k records of its own. A set with fewer than (most + 1) * k records under its
    members in all has at most `most` of them open; one where any two members have fewer than 2k records under
    them together has at most one open.

    start     per cut and one more: its members are members[start[c]:start[c + 1]]
    members   closed records
    most      per cut: how many members can be open
    pairwise  per cut: whether any two members have too few records for both; else all members together do
    price     per cut, at least 0: by so much the prices of a group may exceed the cost of a member
    """

    start: np.ndarray
    members: np.ndarray
    most: np.ndarray
    pairwise: np.ndarray
    price: np.ndarray

    @classmethod
    def none(cls) -> OpeningCuts:
        whole = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(1, dtype=np.int64), whole, whole, np.zeros(0, dtype=bool), np.zeros(0))

    def __len__(self) -> int:
        return len(self.most)

    @property
    def total(self) -> float:
        """What all allowances of a release can add up to at most."""
        return float(np.dot(self.price, self.most))


@dataclass(frozen=True, eq=False)
class DualProof:
    """Prices of distinct rows that no group of k or more records can pay, but for the allowances of cuts.

    A group is published as a closed record Q or as something that costs more. If the prices of every group of
    k or more records under Q exceed the group's cost by at most the sum of the prices of the cuts that have Q
    as a member, and that holds for every Q, the sum of all prices, minus price * most of all cuts, is a lower
    bound on the cost of any release.

    prices  per distinct row of the problem
    nodes   closed records by attributes: a node of each attribute's hierarchy
    start   per closed record and one more: the distinct rows under it are rows[start[i]:start[i + 1]]
    level   per closed record a guess at its k-th highest price: a good one makes checking fast
    settled a higher bound, in the units of the cost, or None: the least cost by integer programming over the
            closed records that the prices do not exclude from every release of less cost. Nothing here proves
            it: it is the solver's word
    """

    prices: np.ndarray
    nodes: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    level: np.ndarray
    cuts: OpeningCuts = field(default_factory=OpeningCuts.none, kw_only=True)
    settled: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class ModelProof(DualProof):
    """Prices that no group can pay which satisfies k-anonymity and a further privacy model of the problem.

    The records of a row whose sensitive values are alike to the model are a unit, and have one price.

    prices          per unit
    level           per closed record a guess at the lowest price in the dearest valid group under it
    unit_of_record  per record of the problem; units are numbered in the order of their rows
    charge          for t-closeness, closed records by sensitive values: numbers that prove what is claimed
    """

    unit_of_record: np.ndarray
    charge: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class CellProof:
    """Prices of records, none higher than the cheapest root of a column, proven cell by cell.

    A cell is all records under the same child of the root in each of some columns. A group that has records
    of two cells is published as the root of such a column, so it costs no less per record than any price.
    Every other group lies in one cell: the prices of a cell are proven by its own closed records and cuts, as
    in DualProof. Records of a cell with fewer than k records, and those that are published as a root whatever
    happens, may have any price up to the highest; those of cells without a proof may have none.

    columns  the columns whose roots' children make the cells
    highest  no price is higher, and no root of these columns costs less
    prices   per record of the problem
    cells    the cells that are proven
    """

    columns: tuple[int, ...]
    highest: float
    prices: np.ndarray
    cells: tuple[PricedCell, ...]


@dataclass(frozen=True, eq=False)
class PricedCell:
    """The closed records of one cell that cost less than the highest price, in little memory, and cuts.

    records  the numbers of its records
    packed   the nodes of the closed records, compressed, attribute by attribute
    """

    records: np.ndarray
    packed: tuple[bytes, ...]
    cuts: OpeningCuts

    @classmethod
    def of(cls, records: np.ndarray, nodes: np.ndarray, cuts: OpeningCuts) -> PricedCell:
        columns = np.ascontiguousarray(nodes.T, dtype=np.int32)
        return cls(records, tuple(zlib.compress(column.tobytes(), 1) for column in columns), cuts)

    def nodes(self) -> np.ndarray:
        """Closed records by attributes: a node of each attribute's hierarchy."""
        unpacked = [np.frombuffer(zlib.decompress(column), dtype=np.int32) for column in self.packed]
        return np.column_stack(unpacked)


@dataclass(frozen=True, eq=False)
class BoxProof:
    """Prices of distinct rows such that no k records are priced above k times the cost of their box.

    A box has an interval, a set or a node per column. The k dearest records of a group have a box of no
    greater cost, and no other record of the group is priced above their mean: so the prices of a group sum to
    at most its cost, and the sum of all prices is a lower bound on the cost of any release. There are too
    many boxes to list: who checks the prices goes through them again.

    prices  per distinct row of the problem
    weaker  a bound from the cheapest box around each record by itself, whatever becomes of prices
    """

    prices: np.ndarray
    weaker: float = 0.0


Proof = DualProof | CellProof | BoxProof

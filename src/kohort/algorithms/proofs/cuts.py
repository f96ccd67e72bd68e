"""Cuts: sets of closed records of which no release opens more than some number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.kernels.cut_search import (
    SmallSupports,
    crowded_cliques,
    crowded_unions,
    extended_clique,
    inside_union,
    listed_once,
    listed_over,
)
from kohort.algorithms.proofs.kernels.dual_prices import CutPrices
from kohort.problem.proof import OpeningCuts

_USED = 0.003  # closed records that are opened by less are left out of the search
_VIOLATED = 0.05  # least violation of a cut that is added
_MOST_IN_UNION = 4  # times k: unions have fewer records
_MOVES = 0.3  # share of k: by how much a cut's price moves where a row's moves by 1


@dataclass(frozen=True, eq=False)
class CutFinder:
    """Finds cuts that a fractional choice of closed records violates.

    copies  per distinct row: how many records it has
    """

    closed: ClosedRecords
    copies: np.ndarray
    k: int

    def find(self, z: np.ndarray, slack: np.ndarray, known: set[bytes]) -> OpeningCuts:
        """Cuts that the choice violates by something that counts, without those that are known already.

        z      per closed record: by how much it is opened
        slack  per closed record: how far it is from being opened; the nearest are preferred as members
        known  digests of cuts found before; those of new cuts are added
        """
        used = np.flatnonzero((z > _USED) & (self.closed.weight < _MOST_IN_UNION * self.k))
        if not len(used):
            return OpeningCuts.none()
        used = used[np.argsort(-z[used], kind="stable")]
        small = self._supports(used)
        unions = self._unions(small, z[used], known)
        cliques = self._cliques(small, used, z[used], slack, known)
        return with_cuts(unions, cliques)

    def _unions(self, small: SmallSupports, z: np.ndarray, known: set[bytes]) -> OpeningCuts:
        rows, ends = crowded_unions(small, z, _MOST_IN_UNION, _VIOLATED)
        stamp = np.full(len(self.copies), -1, dtype=np.int64)
        members, most = [], []
        for number, union in enumerate(np.split(rows, ends[:-1]) if len(ends) else ()):
            if _is_new(b"rows", union, known):
                members.append(inside_union(self._inside, union, stamp, number))
                most.append(int(self.copies[union].sum()) // self.k)
        return _as_cuts(members, np.array(most, dtype=np.int64))

    def _cliques(
        self, small: SmallSupports, used: np.ndarray, z: np.ndarray, slack: np.ndarray, known: set[bytes]
    ) -> OpeningCuts:
        found, ends = crowded_cliques(small, z, _VIOLATED)
        hits = np.zeros(len(slack), dtype=np.int64)
        mark = np.full(len(self.copies), -1, dtype=np.int64)
        members = []
        for clique in np.split(used[found], ends[:-1]) if len(ends) else ():
            if _is_new(b"records", clique, known):
                members.append(extended_clique(self._in_conflict, clique, slack, hits, mark))
        return _as_cuts(members, np.ones(len(members), dtype=np.int64))

    @cached_property
    def _inside(self) -> SmallSupports:
        """All closed records; those that fit into a union are listed under one of their rows."""
        return self._all(listed_once, _MOST_IN_UNION * self.k)

    @cached_property
    def _in_conflict(self) -> SmallSupports:
        """All closed records; those that may be in conflict with others are listed under all their rows."""
        return self._all(listed_over, 2 * self.k)

    def _all(self, lists: Callable[..., tuple[np.ndarray, np.ndarray]], below: int) -> SmallSupports:
        closed = self.closed
        over_start, over = lists(closed.start, closed.rows, closed.weight, below, len(self.copies))
        return SmallSupports(closed.start, closed.rows, closed.weight, over_start, over, self.copies, self.k)

    def _supports(self, chosen: np.ndarray) -> SmallSupports:
        """The given closed records alone, numbered as they come."""
        length = np.diff(self.closed.start)[chosen]
        start = np.concatenate([[0], np.cumsum(length)])
        first = np.repeat(self.closed.start[chosen] - start[:-1], length)
        rows, weight = self.closed.rows[first + np.arange(start[-1])], self.closed.weight[chosen]
        over_start, over = listed_over(start, rows, weight, _MOST_IN_UNION * self.k, len(self.copies))
        return SmallSupports(start, rows, weight, over_start, over, self.copies, self.k)


def _is_new(kind: bytes, numbers: np.ndarray, known: set[bytes]) -> bool:
    """Whether this is the first cut of its kind with these numbers; remembers it."""
    digest = kind + np.sort(numbers).astype(np.int32).tobytes()
    fresh = digest not in known
    known.add(digest)
    return fresh


def _as_cuts(members: list[np.ndarray], most: np.ndarray) -> OpeningCuts:
    if not members:
        return OpeningCuts.none()
    return OpeningCuts(
        start=np.cumsum([0, *map(len, members)]),
        members=np.concatenate(members),
        most=most,
        price=np.zeros(len(members)),
    )


def with_cuts(cuts: OpeningCuts, more: OpeningCuts) -> OpeningCuts:
    """All cuts of both."""
    return OpeningCuts(
        start=np.concatenate([cuts.start, more.start[1:] + cuts.start[-1]]),
        members=np.concatenate([cuts.members, more.members]),
        most=np.concatenate([cuts.most, more.most]),
        price=np.concatenate([cuts.price, more.price]),
    )


def without_idle(cuts: OpeningCuts) -> OpeningCuts:
    """The cuts whose price is above 0: others prove nothing."""
    kept = cuts.price > 0.0
    return replace(
        cuts,
        start=np.concatenate([[0], np.cumsum(np.diff(cuts.start)[kept])]),
        members=cuts.members[np.repeat(kept, np.diff(cuts.start))],
        most=cuts.most[kept],
        price=cuts.price[kept],
    )


def cut_prices(cuts: OpeningCuts, n_records: int, k: int) -> CutPrices:
    """The cuts of each closed record, for compiled code that changes their prices in place."""
    order = np.argsort(cuts.members, kind="stable")
    return CutPrices(
        start=np.searchsorted(cuts.members[order], np.arange(n_records + 1)),
        cuts=np.repeat(np.arange(len(cuts)), np.diff(cuts.start))[order],
        price=cuts.price,
        weight=_MOVES * k,
    )

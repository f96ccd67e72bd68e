"""Prices of records that no box of k or more can pay: a lower bound for tight labels and free intervals.

The dual of the linear program over all boxes, of which there are too many to list. Prices start as what each
record costs in a known release, and are lowered where a box is found whose k dearest records exceed its cost;
boxes that were found are kept, and prices are raised again as far as these allow. In the end every row is
proven: no box around it, of rows that are not proven yet, is priced above its cost. Where that takes too
long, the price of the row itself is lowered until it is true.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.algorithms.proofs.cuts import cut_prices
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows, new_box_search
from kohort.algorithms.proofs.kernels.dearest_boxes import dear_boxes
from kohort.algorithms.proofs.kernels.dual_prices import PricedRecords, repair_prices
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.recoding.proof import OpeningCuts

__all__ = ["box_prices"]

_SWEEPS, _ROUNDS, _PROOFS = 2, 60, 40
_CAP = 75.0  # over k squared, times the mean cost: no price is higher, since dear boxes are hard to search
_CUT = 0.8  # how far the highest prices are cut
_SHARE_FOR_GENERATING = 0.5
_NODES, _NODES_OF_PROOF, _MOST_NODES = 20, 500, 5_000
_HIGHEST = 1.25  # times what a record costs in the release: higher prices are hard to prove
_AT_A_TIME, _BATCH, _PROVEN_TOGETHER = 64, 2048, 512  # rows
_TOLERANCE = 1e-9
_MOST_LEVELS, _MOST_ROOM = 48, 30_000_000  # cells of candidates


@dataclass(eq=False)
class _Pool:
    """Boxes that were found: the rows in each, and its cost."""

    rows: list[np.ndarray] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)

    def add(self, rows: np.ndarray, cost: float) -> None:
        self.rows.append(rows)
        self.cost.append(cost)

    def priced(self, copies: np.ndarray, k: int, since: int = 0) -> PricedRecords:
        lengths = np.array([len(rows) for rows in self.rows[since:]], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(lengths)])
        return PricedRecords(
            start, np.concatenate(self.rows[since:]).astype(np.int32), np.array(self.cost[since:]), copies, k
        )


def box_prices(
    rows: BoxRows,
    first: np.ndarray,
    least: np.ndarray,
    boxes: list[np.ndarray],
    costs: np.ndarray,
    run: Run,
) -> np.ndarray:
    """Prices per row that no box of k or more records can pay.

    first  prices to start with, such as what a record of the row costs in a release
    least  per row a lower bound on the cost of any box around it: what is not proven in time stays at that
    boxes  the rows in each group of that release
    costs  what a record of each of these groups costs
    """
    highest = np.minimum(_HIGHEST * first, _CAP / rows.k**2 * np.dot(first, rows.copies) / rows.copies.sum())
    pool, price = _Pool(list(boxes), costs.tolist()), np.minimum(first, highest)
    rng, generating = np.random.default_rng(0), run.share_of_time(_SHARE_FOR_GENERATING)
    for sweep in range(_SWEEPS):
        for batch in _batches(rng.permutation(len(price))):
            _generate(rows, batch, price, pool, generating)
        _raise(rows, price, highest, pool, 0.1 / 2**sweep, rng)
        if generating.out_of_time:
            break
    return _proven(rows, price, least, pool, run)


def _batches(order: np.ndarray) -> list[np.ndarray]:
    return np.array_split(order, max(1, len(order) // _BATCH))


def _generate(rows: BoxRows, batch: np.ndarray, price: np.ndarray, pool: _Pool, run: Run) -> None:
    """Find boxes around some rows that are priced above their cost, and lower prices until these are not."""
    before = len(pool.cost)
    _find(rows, batch, price, np.argsort(-price, kind="stable"), _NODES, pool, run)
    _repair(rows, price, pool, before)


def _find(
    rows: BoxRows, batch: np.ndarray, price: np.ndarray, order: np.ndarray, nodes: int, pool: _Pool, run: Run
) -> tuple[np.ndarray, np.ndarray]:
    """Add the worst box around each row to the pool; per row an upper bound on its excess, and what it is.

    order  of all rows: a box is one around the first of its rows
    """
    rank, most = np.empty_like(order), np.empty_like(price)
    rank[order] = np.arange(len(order))
    most[order] = np.maximum.accumulate(price[order][::-1])[::-1]
    n, columns = rows.leaves.shape
    levels = int(np.clip(_MOST_ROOM // max(n * columns, 1), 2, _MOST_LEVELS))
    parts = np.array_split(np.arange(len(batch)), max(1, len(batch) // _AT_A_TIME))
    bound, greatest = np.full(len(batch), np.inf), np.full(len(batch), _TOLERANCE)

    def find(some: slice) -> list:
        search, found = new_box_search(rows, levels), []
        for part in parts[some]:
            if run.out_of_time:
                break
            excess, limit, start, listed, cost = dear_boxes(
                rows, search, batch[part], price, rank, most, nodes, _TOLERANCE
            )
            bound[part], greatest[part] = limit, excess
            found += [(listed[start[i] : start[i + 1]], cost[i]) for i in np.flatnonzero(excess > _TOLERANCE)]
        return found

    for found in in_threads(find, np.full(len(parts), n)):
        for box, cost in found:
            pool.add(box, cost)
    return bound, greatest


def _repair(rows: BoxRows, price: np.ndarray, pool: _Pool, since: int) -> None:
    """Lower prices until no box of the pool, from a number on, is priced above its cost."""
    if since < len(pool.cost):
        priced = pool.priced(rows.copies, rows.k, since)
        order, lowered = np.arange(len(priced.cost)), np.zeros(len(priced.cost))
        uncut = cut_prices(OpeningCuts.none(), len(order), rows.k)
        for _ in range(3):
            repair_prices(priced, uncut, price, priced.cost - 1e-3, order, lowered)


def _raise(
    rows: BoxRows,
    price: np.ndarray,
    highest: np.ndarray,
    pool: _Pool,
    share: float,
    rng: np.random.Generator,
) -> None:
    """Raise prices together, by less each time, and lower them where a box of the pool cannot pay."""
    priced = pool.priced(rows.copies, rows.k)
    level, lowered = priced.cost - 1e-3, np.zeros(len(priced.cost))
    uncut = cut_prices(OpeningCuts.none(), len(level), rows.k)
    step = share * float(np.dot(price, rows.copies) / rows.copies.sum())
    for _ in range(_ROUNDS):
        np.minimum(price + step, highest, out=price)
        repair_prices(priced, uncut, price, level, rng.permutation(len(priced.cost)), lowered)
        step *= 0.93
    _repair(rows, price, pool, 0)


def _proven(rows: BoxRows, price: np.ndarray, least: np.ndarray, pool: _Pool, run: Run) -> np.ndarray:
    """Prices that are proven for every row, one batch after the other, the dearest first.

    A proven row has no box around it, of rows that come later and at least k records, that is priced above
    its cost; prices only fall afterwards. What is still to be proven when the time is up falls to the cost of
    the cheapest box.
    """
    order = np.argsort(-price, kind="stable")
    for start in range(0, len(order), _PROVEN_TOGETHER):
        if not _prove(rows, order, start, price, pool, run):
            later = order[start:]
            price[later] = np.minimum(price[later], least[later])
            break
    return price - _TOLERANCE


def _prove(rows: BoxRows, order: np.ndarray, start: int, price: np.ndarray, pool: _Pool, run: Run) -> bool:
    """Prove the rows of a batch; whether there was time for it."""
    left, nodes = order[start : start + _PROVEN_TOGETHER], _NODES_OF_PROOF
    for _ in range(_PROOFS):
        before = len(pool.cost)
        bound, excess = _find(rows, left, price, order, nodes, pool, run)
        if run.out_of_time:
            return False
        _repair(rows, price, pool, before)
        undecided, most = left[bound > excess + _TOLERANCE], bound[bound > excess + _TOLERANCE]
        left = left[bound > _TOLERANCE]
        if not len(left):
            return True
        if len(undecided) and nodes >= _MOST_NODES:
            left = _lowered(rows, undecided, most, order[start:], left, price)
        nodes = _MOST_NODES if len(undecided) and nodes < _MOST_NODES else _NODES_OF_PROOF
    return False


def _lowered(
    rows: BoxRows,
    undecided: np.ndarray,
    most: np.ndarray,
    later: np.ndarray,
    left: np.ndarray,
    price: np.ndarray,
) -> np.ndarray:
    """Lower prices where searches ended undecided, in the way that loses less; what is then left to prove.

    If the excess of boxes around a row is at most e, and its price is lowered by k * e, a box whose k dearest
    records include it has no excess, and one whose k dearest do not is one around other rows: the row is
    proven. Or the highest prices of all later rows are cut, which makes their searches easier.
    """
    highest = _CUT * price[undecided].max()
    by_rows = rows.k * float(np.dot(most, rows.copies[undecided]))
    if by_rows < float(np.dot(np.maximum(price[later] - highest, 0.0), rows.copies[later])):
        price[undecided] -= rows.k * most
        return np.setdiff1d(left, undecided)
    price[later] = np.minimum(price[later], highest)
    return left

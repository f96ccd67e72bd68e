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

from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows, new_box_search
from kohort.algorithms.proofs.kernels.dearest_boxes import dear_boxes
from kohort.algorithms.proofs.kernels.dual_prices import PricedRecords, raise_prices
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads

__all__ = ["box_prices"]

_SWEEPS, _ROUNDS, _PROOFS = 4, 60, 6
_NODES, _NODES_OF_PROOF = 20, 400
_AT_A_TIME, _BATCH = 64, 2048
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
    rows: BoxRows, first: np.ndarray, boxes: list[np.ndarray], costs: np.ndarray, run: Run
) -> np.ndarray | None:
    """Prices per row that no box of k or more records can pay; None when the time is up before.

    first  prices to start with, such as what a record of the row costs in a release
    boxes  the rows in each group of that release
    costs  what a record of each of these groups costs
    """
    pool, price = _Pool(list(boxes), costs.tolist()), first.copy()
    rng = np.random.default_rng(0)
    for sweep in range(_SWEEPS):
        if run.gone > 0.4:
            break
        for batch in _batches(rng.permutation(len(price))):
            _generate(rows, batch, price, pool, run)
        _raise(rows, price, pool, 0.1 / 2**sweep, rng)
    return _proven(rows, price, pool, run)


def _batches(order: np.ndarray) -> list[np.ndarray]:
    return np.array_split(order, max(1, len(order) // _BATCH))


def _generate(rows: BoxRows, batch: np.ndarray, price: np.ndarray, pool: _Pool, run: Run) -> None:
    """Find boxes around some rows that are priced above their cost, and lower prices until these are not."""
    active = np.ones(len(price), dtype=bool)
    before = len(pool.cost)
    _find(rows, batch, price, active, _NODES, pool, run)
    _repair(rows, price, pool, before)


def _find(
    rows: BoxRows, batch: np.ndarray, price: np.ndarray, active: np.ndarray, nodes: int, pool: _Pool, run: Run
) -> np.ndarray:
    """Add the worst box around each row to the pool; per row an upper bound on the excess of any."""
    n, columns = rows.leaves.shape
    levels = int(np.clip(_MOST_ROOM // max(n * columns, 1), 2, _MOST_LEVELS))
    parts = np.array_split(np.arange(len(batch)), max(1, len(batch) // _AT_A_TIME))
    bound = np.full(len(batch), np.inf)

    def find(some: slice) -> list:
        search, found = new_box_search(rows, levels), []
        for part in parts[some]:
            if run.out_of_time:
                break
            excess, limit, start, listed, cost = dear_boxes(
                rows, search, batch[part], price, active, nodes, _TOLERANCE
            )
            bound[part] = limit
            found += [(listed[start[i] : start[i + 1]], cost[i]) for i in np.flatnonzero(excess > _TOLERANCE)]
        return found

    for found in in_threads(find, np.full(len(parts), n)):
        for box, cost in found:
            pool.add(box, cost)
    return bound


def _repair(rows: BoxRows, price: np.ndarray, pool: _Pool, since: int) -> None:
    """Lower prices until no box of the pool, from a number on, is priced above its cost."""
    if since < len(pool.cost):
        priced = pool.priced(rows.copies, rows.k, since)
        order = np.arange(len(priced.cost))
        keep = np.zeros(len(order), dtype=bool)
        for _ in range(3):
            raise_prices(priced, price, priced.cost - 1e-3, order, keep, 0.0)


def _raise(rows: BoxRows, price: np.ndarray, pool: _Pool, share: float, rng: np.random.Generator) -> None:
    """Raise prices together, by less each time, and lower them where a box of the pool cannot pay."""
    priced = pool.priced(rows.copies, rows.k)
    level, keep = priced.cost - 1e-3, np.zeros(len(priced.cost), dtype=bool)
    step = share * float(np.dot(price, rows.copies) / rows.copies.sum())
    for _ in range(_ROUNDS):
        price += step
        raise_prices(priced, price, level, rng.permutation(len(priced.cost)), keep, step)
        step *= 0.93
    _repair(rows, price, pool, 0)


def _proven(rows: BoxRows, price: np.ndarray, pool: _Pool, run: Run) -> np.ndarray | None:
    """Prices that are proven for every row, one batch after the other, the dearest first.

    If the excess of boxes around a row is only known to be at most e, its price is lowered by k * e: then a
    box whose k dearest records include it has no excess, and one whose k dearest do not is proven without it.
    """
    active = np.ones(len(price), dtype=bool)
    for batch in _batches(np.argsort(-price, kind="stable")):
        left = batch
        for number in range(_PROOFS):
            before = len(pool.cost)
            bound = _find(rows, left, price, active, _NODES_OF_PROOF, pool, run)
            if not np.isfinite(bound).all():
                return None
            left, bound = left[bound > _TOLERANCE], bound[bound > _TOLERANCE]
            if number == _PROOFS - 1:
                price[left] -= rows.k * bound
                break
            _repair(rows, price, pool, before)
            if not len(left):
                break
        active[batch] = False
    return price - _TOLERANCE

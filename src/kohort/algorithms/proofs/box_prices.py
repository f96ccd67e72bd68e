"""Prices of records that no box of k or more can pay: a lower bound for tight labels and free intervals.

The dual of the linear program over all boxes, of which there are too many to list. Prices start as what each
record costs in a known release, and are lowered where a box is found whose k dearest records exceed its cost;
boxes that were found are kept, and prices are raised again as far as these allow. The proof of prices is
exhaustive, and takes the longer the nearer they are to the best ones: so they are first scaled down until
there is time for it. Then every row is proven, the dearest first: no k records, one of them its own and the
others of rows that are not proven yet, are priced above the cost of their box.
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

_SCALES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
_STEP, _GROWTH = 0.05, 1.4  # how the scale is raised after a proof, and how much longer the next one takes
_SAMPLED = 256  # rows whose proof is timed
_FEW = 1000  # rows that are proven as they are, whatever the clock says
_SHARE_FOR_PROOF = 0.3  # of the time that is left: repairs and further tries take the rest
_WORTH_GENERATING = 0.6  # least scale: where prices must be scaled down further, better ones gain nothing
_SHARE_FOR_GENERATING = 0.35
_SWEEPS, _ROUNDS, _PROOFS = 3, 60, 60
_NODES, _NODES_OF_PROOF = 30, 400
_HIGHEST = 2.0  # times what a record costs in the release
_LOWERED, _FEW_TRIES = 0.75, 4  # the price of a row that is hard to prove, and how often it is lowered so
_AT_A_TIME, _BATCH, _PROVEN_TOGETHER = 32, 2048, 512  # rows
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
    pool, price = _Pool(list(boxes), costs.tolist()), first.copy()
    if _provable_scale(rows, price, run) >= _WORTH_GENERATING:
        _generate_all(rows, price, pool, run.share_of_time(_SHARE_FOR_GENERATING))
    return _best_proven(rows, price, least, pool, run)


def _best_proven(rows: BoxRows, price: np.ndarray, least: np.ndarray, pool: _Pool, run: Run) -> np.ndarray:
    """The dearest prices that are proven: scaled down as far as the time demands, then less and less so."""
    scale = _provable_scale(rows, price, run)
    before = run.seconds_left
    best = _proven(rows, scale * price, least, pool, run)
    while scale < 1.0 and before is not None and run.seconds_left is not None:
        left = run.seconds_left
        if left < _GROWTH * (before - left):
            break
        scale, before = min(scale + _STEP, 1.0), left
        best = max(best, _proven(rows, scale * price, least, pool, run), key=lambda p: np.dot(rows.copies, p))
    return best


def _provable_scale(rows: BoxRows, price: np.ndarray, run: Run) -> float:
    """The share of the prices that can be proven in the time that is left: 1 for few rows or without a limit.

    A sample of the rows is searched with lower prices first, until that takes too long.
    """
    order = np.argsort(-price, kind="stable")
    if len(order) <= _FEW or run.seconds_left is None:
        return 1.0
    share = _SAMPLED / len(order)
    allowed, provable = _SHARE_FOR_PROOF * run.seconds_left * share, _SCALES[0]
    sample = order[np.linspace(0, len(order) - 1, _SAMPLED).astype(np.int64)]
    for scale in _SCALES:
        began = run.seconds_left
        _find(rows, sample, scale * price, order, _NODES_OF_PROOF, _Pool(), run)
        if run.out_of_time or began - (run.seconds_left or 0.0) > allowed:
            run.cut()
            break
        provable = scale
    return provable


def _generate_all(rows: BoxRows, price: np.ndarray, pool: _Pool, run: Run) -> None:
    """Find boxes around all rows, and raise prices as far as these allow, in a few sweeps."""
    highest, rng = _HIGHEST * price, np.random.default_rng(0)
    for sweep in range(_SWEEPS):
        for batch in _batches(rng.permutation(len(price))):
            if not run.out_of_time:
                _generate(rows, batch, price, pool, run)
        _raise(rows, price, highest, pool, 0.1 / 2**sweep, rng)
        if run.out_of_time:
            break


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

    order  of all rows: k records are looked at around the first of their rows
    """
    rank, most = np.empty_like(order), np.empty_like(price)
    rank[order] = np.arange(len(order))
    most[order] = np.maximum.accumulate(price[order][::-1])[::-1]
    n, columns = rows.leaves.shape
    levels = int(np.clip(_MOST_ROOM // max(n * columns, 1), 2, _MOST_LEVELS))
    parts = np.array_split(np.arange(len(batch)), max(1, len(batch) // _AT_A_TIME))
    bound, greatest = np.full(len(batch), np.inf), np.full(len(batch), _TOLERANCE)
    waiting = iter(parts)

    def find(_: slice) -> list:
        search, found = new_box_search(rows, levels), []
        for part in waiting:
            if run.out_of_time:
                break
            excess, limit, start, listed, cost = dear_boxes(
                rows, search, batch[part], price, rank, most, nodes, _TOLERANCE
            )
            bound[part], greatest[part] = limit, excess
            found += [
                (int(batch[part[i]]), listed[start[i] : start[i + 1]], cost[i])
                for i in np.flatnonzero(excess > _TOLERANCE)
            ]
        return found

    everything = [one for found in in_threads(find, np.full(len(parts), n)) for one in found]
    for _, box, cost in sorted(everything, key=lambda one: one[0]):
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

    A row is proven if no k records, one of them its own and the others of it or of rows that come later, are
    priced above the cost of their box; prices only fall afterwards. What is still to be proven when the time
    is up falls to the cost of the cheapest box.
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
    left = order[start : start + _PROVEN_TOGETHER]
    tries = np.zeros(len(order), dtype=np.int64)
    for _ in range(_PROOFS):
        before = len(pool.cost)
        bound, excess = _find(rows, left, price, order, _NODES_OF_PROOF, pool, run)
        if run.out_of_time:
            return False
        undecided = bound > excess + _TOLERANCE
        proven = _lowered(rows, left[undecided], bound[undecided], tries, price)
        _repair(rows, price, pool, before)
        left = np.setdiff1d(left[bound > _TOLERANCE], proven)
        if not len(left):
            return True
    return False


def _lowered(
    rows: BoxRows, undecided: np.ndarray, most: np.ndarray, tries: np.ndarray, price: np.ndarray
) -> np.ndarray:
    """Lower the prices of rows whose searches ended undecided; which of them are proven by that.

    If the mean price of k records, one of them of a row, exceeds the cost of their box by at most e, and the
    price of the row is lowered by k * e, there is no excess: the row is proven. Where that is much, its price
    is lowered by less, and the search begins again.
    """
    tries[undecided] += 1
    enough = price[undecided] - rows.k * most
    last = (tries[undecided] > _FEW_TRIES) | (enough >= _LOWERED * price[undecided])
    price[undecided] = np.where(last, enough, _LOWERED * price[undecided])
    return undecided[last]

"""Prices of records that no box of k or more can pay: a lower bound for tight labels and free intervals.

The dual of the linear program over all boxes, of which there are too many to list. Prices start as a share of
what each record costs in a known release. A proof goes through all boxes (`kernels.box_tree`), and lowers
prices where k records exceed the cost of their box. It takes the longer the nearer prices are to the best
ones: so it is done with a small share first, and again with greater ones while there is time. Boxes that were
found on the way are kept; before the next proof, prices are raised together as far as these allow, and more
where the last proof was easy than where it was hard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kohort.algorithms.proofs.cuts import cut_prices
from kohort.algorithms.proofs.kernels.box_tree import (
    BoxTree,
    FoundBoxes,
    lower_prices,
    new_box_tree,
    new_found_boxes,
    without_room,
)
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows
from kohort.algorithms.proofs.kernels.dual_prices import PricedRecords, repair_prices
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.problem.proof import OpeningCuts

_FIRST_SCALE, _FIRST_SCALE_OF_FEW, _FEW = 0.2, 1.0, 2000  # distinct rows
_LEAST_STEP, _GREATEST_STEP = 0.01, 0.1  # by which the scale is raised
_TRIAL, _WORTH_TRYING = 1 / 8, 0.05  # share of the time for a proof that tells how long the last one takes
_GROWTH = (5.0, 20.0)  # a proof takes exp(growth * step) times as long: the least and greatest growth assumed
_FIRST_GROWTH, _GROWING = 14.0, 1.25  # before it is known; times what it was in the last step
_SPARE = 1.2  # times as long as that is kept for it
_PROOFS = 30
_WORTH_PROVING = 1e-4  # share by which prices must rise to be proven again at the full scale
_HIGHEST = 2.0  # times what a record costs in the release, at the full scale
_EASING = (
    0.02  # by which the scale of a row is lowered where a proof strains it e times as much as it is worth
)
_STRAINS = (0.05, 20.0)  # the least and greatest strain that are told apart, as multiples of the mean
_ROUNDS, _FIRST_RISE, _COOLING = 60, 0.05, 0.93
_PARTS, _TOGETHER = 256, 256  # parts of the tree; so many of them start from the same prices
_PARTS_OF_FEW, _TOGETHER_OF_FEW = 64, 8
_NODES = 1000  # between two looks at the clock
_MOST_LEVELS, _MOST_ROOM = 256, 30_000_000  # candidates
_MOST_FOUND, _MOST_FOUND_ROWS = 4_000, 2_000_000  # boxes that a part keeps
_MOST_POOLED = 20_000_000  # rows of boxes that are kept in all
_TOLERANCE = 1e-9


class _Node(NamedTuple):
    """A waiting node of the tree, taken out of it."""

    rows: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    width: np.ndarray
    spent: np.ndarray
    need: np.ndarray


@dataclass(eq=False)
class _Pool:
    """Boxes that were found: the rows in each, and its cost."""

    rows: list[np.ndarray] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    n_rows: int = 0

    def add(self, found: FoundBoxes) -> None:
        for i in range(int(found.n[0])):
            rows = found.rows[found.start[i] : found.start[i + 1]]
            if self.n_rows + len(rows) <= _MOST_POOLED:
                self.rows.append(rows.copy())
                self.cost.append(float(found.cost[i]))
                self.n_rows += len(rows)

    def priced(self, copies: np.ndarray, k: int) -> PricedRecords:
        lengths = np.array([len(rows) for rows in self.rows], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.concatenate(self.rows).astype(np.int32)
        return PricedRecords(start, rows, np.array(self.cost), copies, k)


def box_prices(
    rows: BoxRows,
    first: np.ndarray,
    boxes: list[np.ndarray],
    costs: np.ndarray,
    run: Run,
    most_work: int | None = None,
) -> np.ndarray | None:
    """Prices per row that no box of k or more records can pay; None if there is no time to prove any.

    first      what a record of each row costs in some release
    boxes      the rows in each group of that release
    costs      what a record of each of these groups costs
    most_work  that may be done, so that the result does not depend on the clock; None: any
    """
    patience = _Patience(run, most_work)
    pool, best = _Pool(list(boxes), costs.tolist()), None
    scale = _FIRST_SCALE if len(first) > _FEW else _FIRST_SCALE_OF_FEW
    full, price, timing = first, scale * first, _Timing()
    for _ in range(_PROOFS):
        before = patience.left
        proven = _proven(rows, price, best, pool, patience)
        if proven is None:
            break
        best = max([proven.price] if best is None else [best, proven.price], key=rows.copies.dot)
        step = timing.affordable_step(scale, before, patience)
        if step is None:
            break
        full = _eased(rows, full, proven, scale)
        scale = min(scale + step, 1.0)
        price = _raised(rows, best, scale * full if scale < 1.0 else _HIGHEST * first, pool)
        if step == 0.0 and np.dot(rows.copies, price - best) <= _WORTH_PROVING * np.dot(rows.copies, best):
            break
    return best


@dataclass(eq=False)
class _Patience:
    """How long proofs may take: until the time is up, and where the work is limited, until that is done."""

    run: Run
    most_work: int | None
    work: int = 0

    @property
    def is_of_work(self) -> bool:
        return self.most_work is not None

    @property
    def is_over(self) -> bool:
        return self.run.out_of_time or (self.most_work is not None and self.work > self.most_work)

    @property
    def left(self) -> float | None:
        """Seconds, or work where it is limited."""
        return self.run.seconds_left if self.most_work is None else float(self.most_work - self.work)


@dataclass(eq=False)
class _Timing:
    """How long proofs took, in seconds or work, and how much longer they take with a greater scale."""

    scale: float = 0.0
    took: float = 0.0
    growth: float = _FIRST_GROWTH

    def affordable_step(self, scale: float, before: float | None, patience: _Patience) -> float | None:
        """By how much to raise the scale so that the next proof is done in time; None if no step does.

        before  what was left before the last proof
        """
        left = patience.left
        if scale >= 1.0:
            return None if patience.is_over else 0.0
        if before is None or left is None:
            return _GREATEST_STEP
        if not patience.is_of_work:
            patience.run.cut()
        took = max(before - left, 1e-3)
        if self.took:
            growth = _GROWING * np.log(took / self.took) / (scale - self.scale)
            self.growth = float(np.clip(growth, *_GROWTH))
        self.scale, self.took = scale, took
        trial = self._step_within(_TRIAL * left)
        step = trial if trial >= _WORTH_TRYING else self._step_within(left / _SPARE)
        return None if step < _LEAST_STEP else min(step, _GREATEST_STEP)

    def _step_within(self, time: float) -> float:
        """The step after which a proof takes about as long."""
        return float(np.log(max(time, 1e-9) / self.took) / self.growth)


def _eased(rows: BoxRows, full: np.ndarray, proven: _Proven, scale: float) -> np.ndarray:
    """Prices at the full scale, changed so that the next proof takes less work for the same bound.

    Work grows exponentially with prices. So it is least for a bound if every price takes work in proportion
    to what it adds to the bound: rows that take more become cheaper, the others dearer.
    """
    worth = rows.copies * np.maximum(proven.price, 0.0)
    if not proven.strain.any() or not worth.any():
        return full
    fair = np.maximum(worth, 1e-300) * (proven.strain.sum() / worth.sum())
    eased = full * np.clip(proven.strain / fair, *_STRAINS) ** (-_EASING / scale)
    return eased * (np.dot(rows.copies, full) / np.dot(rows.copies, eased))


def _raised(rows: BoxRows, price: np.ndarray, highest: np.ndarray, pool: _Pool) -> np.ndarray:
    """Prices raised together, by less each time, and lowered where a box that is known cannot pay."""
    price, rise = np.minimum(price, highest), _FIRST_RISE * highest
    priced, rng = pool.priced(rows.copies, rows.k), np.random.default_rng(0)
    level, lowered = priced.cost - 1e-3, np.zeros(len(priced.cost))
    uncut = cut_prices(OpeningCuts.none(), len(level), rows.k)
    for _ in range(_ROUNDS):
        price = np.minimum(price + rise, highest)
        repair_prices(priced, uncut, price, level, rng.permutation(len(priced.cost)), lowered)
        rise *= _COOLING
    return price


class _Proven(NamedTuple):
    """Prices that no box can pay, and how much of the work of their proof was due to each row."""

    price: np.ndarray
    strain: np.ndarray


def _proven(
    rows: BoxRows, price: np.ndarray, known: np.ndarray | None, pool: _Pool, patience: _Patience
) -> _Proven | None:
    """The prices, lowered until no box is unable to pay them; None when the time is up before.

    known  prices that are proven already, if any: where the time is up, rows get these that are candidates in
           a part of the tree which was not looked at. A box there has only such rows, and pays them. Not
           where the work is limited: which parts were looked at would depend on the threads.

    Parts of the tree that start from the same prices are looked at side by side: whatever is true of prices
    is true of lower ones. Many parts at a time keep all cores busy; but two that lower the price of a row by
    themselves lower it more than one after the other, which matters where prices are high.
    """
    levels = int(np.clip(_MOST_ROOM // max(len(price), 1), 8, _MOST_LEVELS))
    price, strain = price.copy(), np.zeros(len(price))
    n_parts, together = (_PARTS, _TOGETHER) if len(price) > _FEW else (_PARTS_OF_FEW, _TOGETHER_OF_FEW)
    parts = _parts(rows, price, levels, pool, n_parts)
    for begin in range(0, len(parts), together):
        some = parts[begin : begin + together]
        for node, one in zip(some, _proven_together(rows, some, price, levels, patience)):
            if one is not None:
                np.minimum(price, one.price, out=price)
                strain += one.strain
                pool.add(one.found)
            elif known is not None and not patience.is_of_work:
                price[node.rows] = np.minimum(price, known)[node.rows]
            else:
                return None
    return None if patience.is_of_work and patience.is_over else _Proven(price - _TOLERANCE, strain)


class _Part(NamedTuple):
    """What is proven of a part of the tree: lowered prices, strain per row, and boxes that were found."""

    price: np.ndarray
    strain: np.ndarray
    found: FoundBoxes


def _proven_together(
    rows: BoxRows, parts: list[_Node], price: np.ndarray, levels: int, patience: _Patience
) -> list[_Part | None]:
    """What is proven of each of some parts, all from the same prices."""
    done: list[_Part | None] = [None] * len(parts)
    start, waiting = price.copy(), iter(range(len(parts)))

    def prove(_: slice) -> None:
        tree = new_box_tree(rows, levels)
        for number in waiting:
            done[number] = _proven_part(rows, tree, parts[number], start.copy(), patience)

    in_threads(prove, np.full(len(parts), len(price)))
    return done


def _proven_part(
    rows: BoxRows, tree: BoxTree, node: _Node, price: np.ndarray, patience: _Patience
) -> _Part | None:
    """What is proven of all boxes under a node; None when the time is up."""
    found = new_found_boxes(_MOST_FOUND, _MOST_FOUND_ROWS)
    depth = _put(tree, node)
    while depth:
        if patience.is_over:
            return None
        depth, work = lower_prices(rows, tree, depth, price, _NODES, found)
        patience.work += work
    return _Part(price, tree.strain.copy(), without_room(found))


def _parts(rows: BoxRows, price: np.ndarray, levels: int, pool: _Pool, n_parts: int) -> list[_Node]:
    """Nodes that all boxes are under, those with most candidates first. Prices may be lowered on the way."""
    tree, found = new_box_tree(rows, levels), new_found_boxes(_MOST_FOUND, _MOST_FOUND_ROWS)
    waiting = [_taken(tree, 0)]
    for _ in range(4 * n_parts):
        if not waiting or len(waiting) >= n_parts:
            break
        waiting.sort(key=lambda node: len(node.rows))
        depth, _ = lower_prices(rows, tree, _put(tree, waiting.pop()), price, 1, found)
        waiting += [_taken(tree, level) for level in range(depth)]
    pool.add(found)
    return sorted(waiting, key=lambda node: -len(node.rows))


def _taken(tree: BoxTree, level: int) -> _Node:
    return _Node(
        tree.rows[level, : tree.n[level]].copy(),
        tree.lo[level].copy(),
        tree.hi[level].copy(),
        tree.width[level].copy(),
        tree.spent[level].copy(),
        tree.need[level].copy(),
    )


def _put(tree: BoxTree, node: _Node) -> int:
    """Make a node the only one that waits; how many wait then."""
    tree.n[0], tree.changes[0], tree.changes[1] = len(node.rows), 0, -1
    tree.rows[0, : len(node.rows)] = node.rows
    tree.lo[0], tree.hi[0], tree.width[0] = node.lo, node.hi, node.width
    tree.spent[0], tree.need[0], tree.strain[:] = node.spent, node.need, 0.0
    return 1

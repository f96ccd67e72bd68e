"""A lower bound by boxes: a record is withheld, or its class sticks out of every box of fewer than k records.

Lagrangean relaxation. A box around a record has a price y, which the record pays in each attribute where its
block stays inside of the box. Given the prices, all attributes are decided apart from each other, each by
its own dynamic program: a block costs what it adds to records that are alike in all other attributes
(discernibility), or to each record (other costs), and the prices of the boxes it stays inside of. With m
attributes to decide and any prices,

    base + the m least costs - (m - 1) * the sum of all prices

is a lower bound: a published record sticks out of its box in s >= 1 attributes and has paid m - s times y, at
most what is subtracted. A withheld record has paid y once more than is subtracted. This is within its room:
the cost of withholding it beyond all that has been counted for it. Prices are raised and lowered by
subgradient steps; boxes are added around records in classes below k that pay for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.kernels.boxes import grow_boxes, inside_costs, number_pairs, part_bits
from kohort.algorithms.schemes.kernels.recoding_bounds import KEPT, LOST, OPEN
from kohort.algorithms.schemes.node_bounds import Node, NodeBounds
from kohort.algorithms.schemes.node_table import ChoiceBounds
from kohort.algorithms.schemes.partition_space import Partition
from kohort.algorithms.schemes.undecided_runs import MOST_BITS

_PATIENCE = 2  # steps without a better bound until steps get shorter
_SHORTER = 0.8
_LEAST_STEP = 0.15  # least length of a node's first step
_GROW_EVERY = 25  # steps between additions of boxes, which take as long as many steps
_CAPS = 0.6  # how fast caps follow the present costs of values, 0 to 1


@dataclass(frozen=True, eq=False)
class BoxPrices:
    """The numbers of boxes, the price of each, and the length of the next step.

    caps    per attribute and value: how much of its price counts for records that may still be withheld
    """

    boxes: np.ndarray
    prices: np.ndarray
    step: float
    caps: tuple[np.ndarray, ...]


class BoxBound:
    """All boxes found so far: the row that each is around, and its values in each attribute, as bits.

    `usable` where values fit into bits and boxes save time: discernibility under levels or nodes of a
    hierarchy is proven sooner without boxes (8 columns of Adult in 7 seconds instead of 60).
    """

    def __init__(self, bounds: NodeBounds) -> None:
        self.bounds, self.pricing = bounds, bounds.pricing
        few_values = all(space.n <= MOST_BITS for space in self.pricing.spaces)
        few_ways = all(set(space.space.merging) <= {"all"} for space in self.pricing.spaces)
        self.usable = few_values and not (few_ways and self.pricing.discernible)
        self.owners = np.zeros(0, dtype=np.int64)
        self.boxes = np.zeros((0, len(self.pricing.spaces)), dtype=np.int64)

    @property
    def start(self) -> BoxPrices:
        """The prices at the start of a search: no box has any."""
        caps = tuple(
            self.pricing.prices(j, partition).astype(float) for j, partition in enumerate(self.pricing.finest)
        )
        return BoxPrices(np.zeros(0, dtype=np.int64), np.zeros(0), 1.0, caps)

    def add(self, owners: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """Add boxes and return their numbers."""
        known = len(self.owners)
        self.owners = np.append(self.owners, owners)
        self.boxes = np.append(self.boxes, boxes, axis=0)
        return np.arange(known, len(self.owners))

    def bound(
        self, node: Node, undecided: Sequence[int], prices: BoxPrices, limit: float, steps: int, run: Run
    ) -> tuple[float, BoxPrices, dict[int, ChoiceBounds]]:
        """The best lower bound in `steps` steps, its prices, and the bounds of each attribute's choices."""
        return _Relaxation(self, node, undecided, prices, limit).solve(steps, run)


class _Relaxation:
    """The Lagrangean relaxation at one node of the search."""

    def __init__(
        self, pool: BoxBound, node: Node, attributes: Sequence[int], prices: BoxPrices, limit: float
    ) -> None:
        self.pool, self.node, self.attributes, self.limit = pool, node, list(attributes), limit
        self.bounds, self.pricing = pool.bounds, pool.pricing
        self.least = node.least
        columns = range(len(node.fine))
        self.parts = np.column_stack([self.bounds.parts(node.fine, node.cells, j) for j in columns])
        self.first_values = [_first_values(partition) for partition in node.fine]
        self.part_masks = [_masks(partition) for partition in node.fine]
        self.blocks = {j: self.bounds.sides[j].blocks(node.states[j]) for j in self.attributes}
        self.caps = list(prices.caps)
        self._price_blocks()
        cells, boxes = node.cells.of_row[pool.owners[prices.boxes]], pool.boxes[prices.boxes]
        kept = node.state[cells] == OPEN
        for j in columns:  # a class that always sticks out needs no box
            kept &= (self.part_masks[j][self.parts[cells, j]] & ~boxes[:, j]) == 0
        self.numbers, self.step = prices.boxes[kept], prices.step
        self._index()
        self.prices = fitted(prices.prices[kept], self.owner_cells, self.room)

    # -- what blocks cost --------------------------------------------------------------------------

    def _price_blocks(self) -> None:
        """Find the cost of every block without boxes, and the room of every cell below the withheld cost."""
        node = self.node
        self.room = np.where(node.state == OPEN, node.room, 0.0)
        self.base = float(self.least.sum())
        if self.pricing.discernible:
            self.block_costs = {}
            for j in self.attributes:
                table = self.bounds.published(node, j)
                self.block_costs[j] = self.bounds.sides[j].costs(self.blocks[j], table)
            self.base -= len(self.attributes) * float(self.least[node.state != LOST].sum())
            return
        counted = self._capped()
        self.block_costs = {j: self._separable(j, counted) for j in self.attributes}

    def _capped(self) -> np.ndarray:
        """Whether each cell's own costs count: for cells below k up to the caps, which reduce their room."""
        node = self.node
        open_cells = node.state == OPEN
        if self.bounds.withheld_cost == np.inf:
            self.caps = [np.full(len(cap), np.inf) for cap in self.caps]
            return open_cells
        taken = np.zeros(len(self.room))
        for j in self.attributes:
            fine = self.pricing.prices(j, node.fine[j])
            self.caps[j] = np.maximum(self.caps[j], fine)
            more = (self.caps[j] - fine)[self.first_values[j]]
            taken += node.cells.own[:, j] * more[self.parts[:, j]]
        counted = open_cells & (taken <= self.room)
        self.room = np.where(counted, self.room - taken, self.room)
        return counted

    def _separable(self, j: int, counted: np.ndarray) -> np.ndarray:
        node, part = self.node, self.parts[:, j]
        n_parts = len(self.first_values[j])
        own = node.cells.own[:, j]
        kept = np.bincount(part, np.where(node.state == KEPT, own, 0.0), minlength=n_parts)
        open_ = np.bincount(part, np.where(counted, own, 0.0), minlength=n_parts)
        masks, prices = self.blocks[j].masks, self.blocks[j].prices
        fine = self.pricing.prices(j, node.fine[j])
        costs = np.zeros(len(masks))
        for number, first in enumerate(self.first_values[j]):
            inside = (masks >> first) & 1 == 1
            more = np.maximum(prices[inside] - fine[first], 0.0)
            below = np.minimum(more, self.caps[j][first] - fine[first])
            costs[inside] += kept[number] * more + open_[number] * below
        return costs

    # -- boxes -------------------------------------------------------------------------------------

    def _index(self) -> None:
        """Find for each attribute the distinct pairs of a part and a box, and the pair of each box."""
        self.owner_cells = self.node.cells.of_row[self.pool.owners[self.numbers]]
        boxes = self.pool.boxes[self.numbers].T.copy()
        self.pairs = {j: number_pairs(self.parts[self.owner_cells, j], boxes[j]) for j in self.attributes}

    def solve(self, steps: int, run: Run) -> tuple[float, BoxPrices, dict[int, ChoiceBounds]]:
        best, best_prices, decided = -np.inf, (self.numbers, self.prices), {}
        patience, moved = 0, False
        for turn in range(steps):
            bound, found, sticks = self._relaxed()
            if bound > best:
                best, best_prices, patience = bound, (self.numbers, self.prices), 0
                decided = {j: one.plus(bound - one.least) for j, one in found.items() if bound < np.inf}
            else:
                patience += 1
                if patience == _PATIENCE:
                    self.step, patience = self.step * _SHORTER, 0
            if best >= self.limit or turn == steps - 1 or run.out_of_time:
                break
            grow = turn % _GROW_EVERY == 0 or not moved
            if grow:
                sticks = self._grown(found, sticks)
            short = self.step * (self.limit - bound)
            self.prices, moved = stepped(self.prices, sticks, self.owner_cells, self.room, short)
            if grow and not moved:
                break
        numbers, prices = best_prices
        there = prices > 0
        caps = tuple(self._followed(j, decided) for j in range(len(self.caps)))
        return best, BoxPrices(numbers[there], prices[there], max(self.step, _LEAST_STEP), caps), decided

    def _followed(self, j: int, decided: dict[int, ChoiceBounds]) -> np.ndarray:
        """The caps of an attribute, moved towards the present costs of its values."""
        if j not in decided or self.bounds.withheld_cost == np.inf:
            return self.caps[j]
        now = self.pricing.prices(j, decided[j].best)
        return self.caps[j] + _CAPS * (now - self.caps[j])

    def _relaxed(self) -> tuple[float, dict[int, ChoiceBounds], np.ndarray]:
        """The lower bound at the present prices, the bounds of each attribute's choices, and for each box in
        how many attributes its class sticks out."""
        total = self.base - (len(self.attributes) - 1) * float(self.prices.sum())
        found, sticks = {}, np.zeros(len(self.prices))
        for j in self.attributes:
            pair_of, part, boxes = self.pairs[j]
            summed = np.bincount(pair_of, self.prices, minlength=len(part))
            own = self.part_masks[j][part]
            costs = self.block_costs[j] + inside_costs(self.blocks[j].masks, own, boxes, summed)
            limit = self.limit - total if j == self.attributes[-1] else np.inf  # more is of no use
            found[j] = self.bounds.sides[j].decide(self.blocks[j], costs, limit)
            total += found[j].least
            in_block = _masks_of_values(found[j].best)[self.first_values[j]][part]
            sticks += ((in_block & ~boxes) != 0)[pair_of]
        return total, found, sticks

    def _grown(self, found: dict[int, ChoiceBounds], sticks: np.ndarray) -> np.ndarray:
        """Add boxes around cells that pay for no box although their class is below k."""
        owners, columns = self._without_box(sticks), range(len(self.first_values))
        start = np.cumsum([0, *(len(firsts) for firsts in self.first_values)])
        partitions = [found[j].best if j in found else self.node.fine[j] for j in columns]
        block_of = np.concatenate([np.array(partitions[j])[self.first_values[j]] + start[j] for j in columns])
        parts = self.parts + start[:-1]
        bits, distance = part_bits(parts, start[-1]), self._distance(found, start)
        sizes, k = self.node.cells.sizes, self.bounds.k
        boxes, there = grow_boxes(owners, parts, sizes, bits, start, block_of, distance, k)
        boxes, owners = boxes[there], owners[there]
        masks = np.column_stack([boxes[:, start[j] : start[j + 1]] @ self.part_masks[j] for j in columns])
        new = self.pool.add(self.node.cells.first[owners], masks.astype(np.int64))
        self.numbers = np.append(self.numbers, new)
        self.prices = np.append(self.prices, np.zeros(len(new)))
        self._index()
        return np.append(sticks, np.zeros(len(new)))

    def _without_box(self, sticks: np.ndarray) -> np.ndarray:
        """The cells below k that pay for no box and have room to pay for one."""
        waiting = self.node.state == OPEN
        waiting[self.owner_cells[sticks == 0]] = False
        paid = np.bincount(self.owner_cells, self.prices, minlength=len(waiting))
        return np.flatnonzero(waiting & (paid < self.room))

    def _distance(self, found: dict[int, ChoiceBounds], start: np.ndarray) -> np.ndarray:
        """How much more a block costs with both of two parts, for all pairs; infinite if not allowed."""
        distance = np.full((start[-1], start[-1]), np.inf)
        for j, decided in found.items():
            n_parts = len(self.first_values[j])
            coarse = np.array(self.node.coarse[j])[self.first_values[j]]
            apart = np.abs(np.subtract.outer(np.arange(n_parts), np.arange(n_parts)))
            here = self.bounds.sides[j].distances(self.node.states[j], decided) * (1 + 1e-9 * apart)
            here[coarse[:, None] != coarse[None, :]] = np.inf
            distance[start[j] : start[j + 1], start[j] : start[j + 1]] = here
        return distance


def _first_values(partition: Partition) -> np.ndarray:
    return np.unique(np.array(partition), return_index=True)[1]


def _masks(partition: Partition) -> np.ndarray:
    """The values of each block, as bits."""
    return _masks_of_values(partition)[_first_values(partition)]


def _masks_of_values(partition: Partition) -> np.ndarray:
    """The values in the block of each value, as bits."""
    block_of = np.array(partition)
    return (block_of[:, None] == block_of) @ (1 << np.arange(len(block_of)))


def stepped(
    prices: np.ndarray, sticks: np.ndarray, owner: np.ndarray, room: np.ndarray, short: float
) -> tuple[np.ndarray, bool]:
    """Prices after a step along the subgradient, and whether any can move.

    They go up for classes inside their boxes, and down for all others; `sticks` counts the attributes in
    which these stick out. The step is `short`, the cost that is missing, divided by the squared length of the
    subgradient.
    """
    total, slope = np.bincount(owner, prices, minlength=len(room)), 1.0 - sticks
    up = (slope > 0) & (total < room * (1.0 - 1e-9))[owner]
    length = (slope[up | ((slope < 0) & (prices > 0))] ** 2).sum()
    if length == 0.0:
        return prices, False
    return fitted(np.maximum(prices + slope * short / length, 0.0), owner, room), True


def fitted(prices: np.ndarray, owner: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Prices, lowered in proportion where those of an owner sum to more than its room."""
    total, share = np.bincount(owner, prices, minlength=len(room)), np.ones(len(room))
    over = total > room
    share[over] = np.maximum(room[over], 0.0) / total[over]
    return prices * share[owner]

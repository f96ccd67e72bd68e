"""An attribute whose values are parted into runs, some borders between them still undecided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from kohort.algorithms.schemes.kernels.blocks import best_runs, run_costs
from kohort.algorithms.schemes.node_table import Blocks, ChoiceBounds, NodeTable
from kohort.algorithms.schemes.partition_space import Partition, numbered
from kohort.algorithms.schemes.pricing import Pricing

MERGED, CUT = 1, 2
MOST_BITS = 62


@dataclass(frozen=True, eq=False)
class _Runs:
    """The parts of a fine partition, how far a run from each may go, and the runs that are allowed."""

    state: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray
    last: np.ndarray
    begin: np.ndarray
    end: np.ndarray


class UndecidedRuns:
    """The schemes bhs, ghs, gops and ops. A state is whether each border between neighbours is merged.

    Merging a border merges others with it: those of the groups on both sides, or of the whole level.
    """

    def __init__(self, pricing: Pricing, j: int) -> None:
        self.pricing, self.j = pricing, j
        self.space, self.n = pricing.spaces[j], pricing.spaces[j].n
        self.allowed = np.eye(self.n, dtype=bool)
        self.implied = np.eye(max(self.n - 1, 0), dtype=bool)
        if self.space.space.levels:
            self._add_levels()
        else:
            self._add_nodes()

    def _add_levels(self) -> None:
        levels, together = np.array(self.space.space.levels), self._level_borders
        first = np.argmax(together, axis=0)
        self.implied = first[None, :] <= first[:, None]
        for level in levels:
            starts = np.flatnonzero(np.append(True, level[1:] != level[:-1]))
            self.allowed[starts, np.append(starts[1:], self.n) - 1] = True

    def _add_nodes(self) -> None:
        ranges = self.space.space.ranges
        for node, children, merging in self.space.space.inner():
            first, last = ranges[node]
            inside = [ranges[child] for child in children]
            self.allowed[first, last] = True
            if merging == "all":
                self.implied[[end for _, end in inside[:-1]], first:last] = True
                continue
            for (a, b), (_, d) in pairwise(inside):
                self.implied[b, a:d] = True
            for place, (a, _) in enumerate(inside):
                self.allowed[a, [b for _, b in inside[place:]]] = True

    # -- states ------------------------------------------------------------------------------------

    @property
    def start(self) -> np.ndarray:
        """The state in which nothing is decided."""
        return np.zeros(max(self.n - 1, 0), dtype=np.int8)

    def fixed(self, partition: Partition) -> np.ndarray:
        """The state in which everything is decided as in a partition."""
        blocks = np.array(partition)
        return np.where(blocks[1:] == blocks[:-1], MERGED, CUT).astype(np.int8)

    def is_decided(self, state: np.ndarray) -> bool:
        return bool((state != 0).all())

    def is_open(self, state: np.ndarray, border: int) -> bool:
        """Whether a border is still undecided."""
        return bool(state[border] == 0)

    def fine(self, state: np.ndarray) -> Partition:
        return tuple(np.cumsum(np.append(0, state != MERGED)).tolist()) if self.n else ()

    def coarse(self, state: np.ndarray) -> Partition:
        return tuple(np.cumsum(np.append(0, state == CUT)).tolist()) if self.n else ()

    def with_choice(self, state: np.ndarray, border: int, merged: bool) -> np.ndarray:
        """The state with one more border decided, and all borders that follow from it."""
        changed = state.copy()
        if merged:
            changed[self.implied[border]] = MERGED
        else:
            changed[self.implied[:, border]] = CUT
        return changed

    # -- bounds ------------------------------------------------------------------------------------

    @cached_property
    def _level_borders(self) -> np.ndarray:
        levels = np.array(self.space.space.levels)
        return levels[:, 1:] == levels[:, :-1]

    def _parts(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last value of each part of the fine partition."""
        borders = np.flatnonzero(state != MERGED)
        return np.append(0, borders + 1), np.append(borders, self.n - 1)

    @cached_property
    def _price(self) -> np.ndarray:
        """The price of each allowed run; the least if it is a run of several levels."""
        price = np.zeros((self.n, self.n))
        if self.pricing.discernible:
            return price
        levels = self.space.space.levels
        for level in reversed(levels):
            prices = self.pricing.prices(self.j, level)
            blocks = np.array(level)
            starts = np.flatnonzero(np.append(True, blocks[1:] != blocks[:-1]))
            price[starts, np.append(starts[1:], self.n) - 1] = prices[starts]
        if not levels:
            firsts, lasts = np.nonzero(self.allowed)
            runs = [self.space.leaves(range(a, b + 1), ()) for a, b in zip(firsts.tolist(), lasts.tolist())]
            price[firsts, lasts] = self.pricing.cell_costs(self.space.generalized(runs))
        return price

    def bound(self, state: np.ndarray, table: NodeTable) -> ChoiceBounds:
        """The least cost over all partitions of this attribute, and with each border decided either way."""
        blocks = self.blocks(state)
        return self.decide(blocks, self.costs(blocks, table))

    def blocks(self, state: np.ndarray) -> Blocks:
        """The runs that are still allowed."""
        firsts, lasts = self._parts(state)
        coarse = np.array(self.coarse(state))[firsts]
        last = np.searchsorted(coarse, coarse, side="right") - 1
        allowed = self.allowed[np.ix_(firsts, lasts)] & (np.arange(len(firsts)) <= last[:, None])
        runs = _Runs(state, firsts, lasts, last, *np.nonzero(np.triu(allowed)))
        first, after = firsts[runs.begin], lasts[runs.end] + 1
        few = self.n <= MOST_BITS
        masks = (1 << after) - (1 << first) if few else np.zeros(len(first), dtype=np.int64)
        return Blocks(masks, self._price[first, after - 1], runs)

    def costs(self, blocks: Blocks, table: NodeTable) -> np.ndarray:
        """A lower bound on the cost of each run."""
        runs: _Runs = blocks.layout
        price = self._price[np.ix_(runs.firsts, runs.lasts)]
        found = run_costs(table, table.records_before, runs.last, price)
        return found[runs.begin, runs.end]

    def decide(self, blocks: Blocks, costs: np.ndarray, limit: float = np.inf) -> ChoiceBounds:
        """The bounds of all choices, given the cost of each run; `limit` only matters for sets."""
        runs: _Runs = blocks.layout
        table = np.full((len(runs.firsts), len(runs.firsts)), np.inf)
        table[runs.begin, runs.end] = costs
        if self.space.space.levels:
            least, best, cut, merged = self._best_level(table, runs.firsts, runs.lasts, runs.state)
        else:
            least, block_of, cut, merged = best_runs(table)
            best = numbered(np.repeat(block_of, runs.lasts - runs.firsts + 1).tolist())
        return ChoiceBounds(float(least), best, runs.lasts[:-1].tolist(), merged, cut)

    def distances(self, state: np.ndarray, decided: ChoiceBounds) -> np.ndarray:
        """How much more it costs to merge all parts from one to another, for all pairs of fine parts."""
        more = decided.merged - decided.least
        found = np.full((len(more) + 1, len(more) + 1), np.inf)
        for part in range(len(more)):
            found[part, part + 1 :] = np.maximum.accumulate(more[part:])
        return np.minimum(found, found.T)

    def narrowed(self, state: np.ndarray, found: ChoiceBounds, limit: float) -> np.ndarray:
        """The state unchanged: runs that cost too much are already excluded by the borders."""
        return state

    def _best_level(
        self, costs: np.ndarray, firsts: np.ndarray, lasts: np.ndarray, state: np.ndarray
    ) -> tuple[float, Partition, np.ndarray, np.ndarray]:
        borders = lasts[:-1]
        cut, merged = np.full(len(borders), np.inf), np.full(len(borders), np.inf)
        least, best = np.inf, self.space.space.levels[-1]
        for number, level in enumerate(self.space.space.levels):
            together = self._level_borders[number]
            if (together & (state == CUT)).any() or (~together & (state == MERGED)).any():
                continue
            starts = np.flatnonzero(np.append(True, ~together[borders]))
            total = float(costs[starts, np.append(starts[1:], len(firsts)) - 1].sum())
            if total < least:
                least, best = total, level
            np.minimum(merged, np.where(together[borders], total, np.inf), out=merged)
            np.minimum(cut, np.where(together[borders], np.inf, total), out=cut)
        return least, best, cut, merged

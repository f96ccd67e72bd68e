"""An attribute whose values are parted into runs, some borders between them still undecided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from kohort.algorithms.schemes.kernels.blocks import best_runs, run_costs
from kohort.algorithms.schemes.node_table import Blocks, ChoiceBounds, MergeEvents, NodeTable
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
        self.n_variables = self.n + len(self.space.space.children) + len(self.space.space.levels)
        self.variable = np.full((self.n, self.n), -1, dtype=np.int64)
        self.allowed = np.eye(self.n, dtype=bool)
        self.grows = np.full((self.n, self.n, 2), -1, dtype=np.int64)  # borders that let a run grow
        self.grows_to = np.full((self.n, self.n), -1, dtype=np.int64)  # or the node or level that does
        self.within = np.zeros((self.n_variables, 2), dtype=np.int64)  # values of each node
        self.implied = np.eye(max(self.n - 1, 0), dtype=bool)
        if self.space.space.levels:
            self._add_levels()
        else:
            self._add_nodes()

    def _add_levels(self) -> None:
        levels = np.array(self.space.space.levels)
        together = levels[:, 1:] == levels[:, :-1]  # levels by borders
        first = np.argmax(together, axis=0)
        self.implied = first[None, :] <= first[:, None]
        for number, level in reversed(list(enumerate(levels))):
            alike = level[:, None] == level[None, :]
            self.variable[alike] = self.n + number
            starts = np.flatnonzero(np.append(True, level[1:] != level[:-1]))
            ends = np.append(starts[1:], self.n) - 1
            self.allowed[starts, ends] = True
            for start, end in zip(starts.tolist(), ends.tolist()):
                higher = [n for n in range(number, len(levels)) if _wider(levels[n], start, end)]
                self.grows_to[start, end] = self.n + higher[0] if higher else -1
        np.fill_diagonal(self.variable, -1)
        for number in range(len(levels)):
            self.within[self.n + number] = (0, int(together[number].sum()))

    def _add_nodes(self) -> None:
        ranges = self.space.space.ranges
        for node, children, merging in self.space.space.inner():
            first, last = ranges[node]
            self.within[node] = first, last
            inside = [ranges[child] for child in children]
            if merging == "all":
                self.allowed[first, last] = True
                self.implied[[end for _, end in inside[:-1]], first:last] = True
                for place, (a, b) in enumerate(inside):
                    self.grows_to[a, b] = node
                    for c, d in inside[place + 1 :]:
                        self.variable[a : b + 1, c : d + 1] = node
                continue
            for (a, b), (c, d) in pairwise(inside):
                self.implied[b, a:d] = True
                self.variable[a : b + 1, c : d + 1] = b
            for place, (a, _) in enumerate(inside):
                for _, b in inside[place:]:
                    if (a, b) != (first, last):
                        self.allowed[a, b] = True
                        self.grows[a, b] = (a - 1 if a > first else -1, b if b < last else -1)
            self.allowed[first, last] = True

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

    def variables(self, state: np.ndarray) -> np.ndarray:
        """The variable that merges parts a < b of the fine partition, or -1, as a table."""
        firsts, lasts = self._parts(state)
        return np.triu(self.variable[np.ix_(lasts, firsts)] + 1, 1) - 1

    def events(self, state: np.ndarray) -> MergeEvents:
        """For each part of the fine partition, the variables one of which must be merged for it to grow."""
        firsts, lasts = self._parts(state)
        cuts = np.concatenate([[0], np.cumsum(state == CUT)])
        found = [*self.grows[firsts, lasts].T]
        for place, borders in enumerate(found):
            found[place] = (
                np.where((borders >= 0) & (state[borders] != CUT), borders, -1) if self.n > 1 else borders
            )
        node = self.grows_to[firsts, lasts]
        if self.space.space.levels:
            blocked = np.array([self._level_cut(int(v) - self.n, state) if v >= 0 else True for v in node])
        else:
            first, last = self.within[node].T
            blocked = cuts[last] > cuts[first]
        found.append(np.where((node >= 0) & ~blocked, node, -1))
        return MergeEvents.of(np.column_stack(found))

    def _level_cut(self, level: int, state: np.ndarray) -> bool:
        return bool((state[self._level_borders[level]] == CUT).any())

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
        found = run_costs(
            table.order,
            table.start,
            table.part_of,
            table.cells,
            table.outer_of,
            table.records_before,
            runs.last,
            self._price[np.ix_(runs.firsts, runs.lasts)],
            table.k,
            table.withheld_cost,
            table.discernible,
        )
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


def _wider(level: np.ndarray, start: int, end: int) -> bool:
    block = np.flatnonzero(level == level[start])
    return bool(block[0] < start or block[-1] > end)

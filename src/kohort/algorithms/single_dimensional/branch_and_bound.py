"""Branch and bound over what is undecided of every attribute: the least cost of all recodings of a scheme."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.single_dimensional.node_table import Deciding, Events, NodeTable
from kohort.algorithms.single_dimensional.pricing import Cells, Pricing, Recoded
from kohort.algorithms.single_dimensional.undecided_runs import UndecidedRuns
from kohort.algorithms.single_dimensional.undecided_sets import UndecidedSets
from kohort.kernels.class_tables import number_classes, sum_by_class
from kohort.kernels.recoding_bounds import (
    KEPT,
    OPEN,
    class_costs,
    grouped,
    merge_costs_of_cells,
    merge_costs_of_parts,
    raise_prices,
)

__all__ = ["Found", "Search"]

States = tuple[np.ndarray, ...]
_ROUNDS = 6  # of sharing merge costs out among cells
_STARTS = 24  # of the descent that finds the first recoding
_TIES = 1e-9


@dataclass(frozen=True, eq=False)
class Found:
    """The best recoding found, its cost, what no recoding of the schemes is below, and nodes looked at."""

    recoded: Recoded
    cost: float
    withheld: int
    bound: float
    nodes: int


@dataclass(frozen=True, eq=False)
class _Node:
    """Cells at the fine partitions of a node, what each costs at least, and prices on top."""

    states: States
    fine: Recoded
    coarse: Recoded
    cells: Cells
    penalties: np.ndarray
    state: np.ndarray
    events: list[Events]
    left: np.ndarray
    prices: np.ndarray
    room: np.ndarray
    bound: float


class Search:
    """Interval branch and bound (see docs/algorithms/optimal-recoding.md).

    At a node every attribute has a finest partition F (what is undecided is cut) and a coarsest C (it is
    merged). A record costs at least what it costs at F; if its class is below k at C, it is withheld. If its
    class is below k at F only, it is withheld or something around it is merged, which has a price (dual
    ascent). Given that much about the others, each attribute is decided exactly by dynamic programming,
    which bounds the node and decides whatever costs too much otherwise. Best bound first.
    """

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        problem = pricing.problem
        self.k, self.most_withheld = problem.k, problem.max_withheld
        self.withheld_cost = pricing.withheld_cost if self.most_withheld else np.inf
        self.sides: list[UndecidedRuns | UndecidedSets] = [
            (UndecidedRuns if space.ordered else UndecidedSets)(pricing, j)
            for j, space in enumerate(pricing.spaces)
        ]
        self.starts = np.cumsum([0, *(side.n_variables for side in self.sides)])
        everything = pricing.coarsest
        first = pricing.evaluate(everything)
        self.best = Found(everything, first.cost, 0, -np.inf, 0)

    # -- the search --------------------------------------------------------------------------------

    def solve(self, run: Run, starts: tuple[Recoded, ...] = ()) -> Found:
        """The best recoding; proven where the bound is the cost, else the best in the time there is."""
        rng = np.random.default_rng(self.pricing.problem.seed)
        for recoded in (self.pricing.coarsest, self.pricing.finest, *starts):
            self._descend(recoded, run, rng)
        for _ in range(_STARTS):
            self._descend(self._random(rng), run, rng)
        number = count()
        waiting: list[tuple[float, int, States]] = [
            (0.0, next(number), tuple(side.start for side in self.sides))
        ]
        nodes = 0
        while waiting and waiting[0][0] < self._limit and not run.out_of_time:
            if nodes % 16 == 0:
                self._report(run, waiting[0][0], nodes)
            bound, _, states = heapq.heappop(waiting)
            nodes += 1
            children = self._expanded(states, bound, run, rng)
            for lower, child in children:
                heapq.heappush(waiting, (lower, next(number), child))
        bound = min(waiting[0][0], self.best.cost) if waiting else self.best.cost
        if bound >= self._limit:
            bound = self.best.cost
        return replace(self.best, bound=bound, nodes=nodes)

    @property
    def _limit(self) -> float:
        """A node with this bound has nothing better."""
        return self.best.cost - _TIES * max(abs(self.best.cost), 1e-3)

    def _report(self, run: Run, bound: float, nodes: int) -> None:
        best = self.best.cost
        gap = best / bound - 1 if bound > 0 else np.inf
        show = self.pricing.measured
        words = f"searching: best {show(best):.6g}, bound {show(bound):.6g}, gap {gap:.2%}, {nodes:,} nodes"
        run.report(words, min(max(bound / best, 0.0), 1.0) if best > 0 else 1.0)

    def _try(self, recoded: Recoded) -> bool:
        """Keep a recoding if it is better than the best."""
        found = self.pricing.evaluate(recoded)
        if found.withheld > self.most_withheld or found.cost >= self._limit:
            return False
        self.best = replace(self.best, recoded=recoded, cost=found.cost, withheld=found.withheld)
        return True

    # -- a node ------------------------------------------------------------------------------------

    def _expanded(
        self, states: States, inherited: float, run: Run, rng: np.random.Generator
    ) -> list[tuple[float, States]]:
        """Decide what can be decided; nothing if the node has nothing better, else its two halves."""
        current = list(states)
        deciding: dict[int, Deciding] = {}
        bound, again = inherited, True
        while again:
            again = False
            node = self._node(tuple(current))
            if node is None or node.bound >= self._limit:
                return []
            bound = max(bound, node.bound)
            for j in self._open(current):
                table = self._table(node, j)
                found = deciding[j] = self.sides[j].bound(node.states[j], table)
                if found.least >= self._limit:
                    return []
                bound = max(bound, found.least)
                decided = self._fixed(j, node.states[j], found)
                if decided is not None:
                    current[j], again = decided, True
            if again and run.out_of_time:
                break
        self._try_best_of(node, deciding, run, rng)
        still_open = self._open(current)
        if not still_open or bound >= self._limit:
            self._try(node.fine) if not still_open else None
            return []
        if len(still_open) == 1:
            j = still_open[0]
            whole = (*node.fine[:j], deciding[j].best, *node.fine[j + 1 :])
            self._try(whole)
            if self.best.cost <= deciding[j].least + _TIES * self.best.cost:
                return []
        return self._halves(current, deciding, bound)

    def _open(self, states: list[np.ndarray]) -> list[int]:
        return [j for j, side in enumerate(self.sides) if not side.is_decided(states[j])]

    def _fixed(self, j: int, state: np.ndarray, found: Deciding) -> np.ndarray | None:
        """The state with everything decided that would cost too much the other way; None if there is nothing."""
        limit, side = self._limit, self.sides[j]
        changed = None
        for choice, merged, cut in zip(found.choices, found.merged, found.cut):
            now = state if changed is None else changed
            if now[choice] == 0 and (merged >= limit or cut >= limit):
                changed = side.with_choice(now, choice, merged < limit)
        return changed

    def _halves(
        self, states: list[np.ndarray], deciding: dict[int, Deciding], bound: float
    ) -> list[tuple[float, States]]:
        """Two nodes: one choice made each way. The choice of which the cheaper way costs most.

        Of attributes that are parted into sets the one with most values is left for the end, where it is
        decided at once: it has too many choices to make them one by one.
        """
        most, chosen = (-np.inf, -np.inf), None
        still_open = self._open(states)
        last = max(still_open, key=lambda j: (not self.pricing.spaces[j].ordered) * self.pricing.spaces[j].n)
        spared = not self.pricing.spaces[last].ordered and len(still_open) > 1
        for j, found in deciding.items():
            if spared and j == last:
                continue
            for choice, merged, cut in zip(found.choices, found.merged, found.cut):
                score = (min(merged, cut), max(merged, cut))
                if states[j][choice] == 0 and score > most:
                    most, chosen = score, (j, choice, merged, cut)
        assert chosen is not None
        j, choice, merged, cut = chosen
        halves = []
        for way, least in ((True, merged), (False, cut)):
            if least < self._limit:
                state = self.sides[j].with_choice(states[j], choice, way)
                halves.append((max(bound, float(least)), (*states[:j], state, *states[j + 1 :])))
        return halves

    # -- bounds ------------------------------------------------------------------------------------

    def _node(self, states: States) -> _Node | None:
        """A node with its bound by dual ascent; None where too many records are withheld."""
        node, least, lost = self._bare(states)
        if lost > self.most_withheld:
            return None
        events = [self._events(j, one, node.fine) for j, one in enumerate(states)]
        left = self._merge_costs(states, node.fine, node.cells, node.state)
        node = replace(node, events=events, left=left, prices=np.zeros(len(least)))
        self._raise(node, range(len(self.sides)), left, node.prices, _ROUNDS)
        return replace(node, bound=float(least.sum() + node.prices.sum()))

    def _bare(self, states: States) -> tuple[_Node, np.ndarray, int]:
        """A node without prices, the least cost of its cells, and how many records it withholds in any case."""
        pricing = self.pricing
        fine = tuple(side.fine(state) for side, state in zip(self.sides, states))
        coarse = tuple(side.coarse(state) for side, state in zip(self.sides, states))
        cells = pricing.cells(fine)
        widest_of, widest_rows = pricing.classes(coarse, cells.first)
        widest = sum_by_class(widest_of, cells.sizes, len(widest_rows))[widest_of]
        penalties = pricing.penalties(cells, fine)
        least, state, lost = class_costs(cells.sizes, penalties, widest, self.k, self.withheld_cost)
        room = np.zeros(len(least))  # until withholding is cheaper
        room[state == OPEN] = self.withheld_cost * cells.sizes[state == OPEN] - least[state == OPEN]
        nothing = np.zeros(0)
        node = _Node(states, fine, coarse, cells, penalties, state, [], nothing, nothing, room, -np.inf)
        return node, least, int(lost)

    def _merge_costs(self, states: States, fine: Recoded, cells: Cells, state: np.ndarray) -> np.ndarray:
        """Per variable of all attributes what merging it adds at least to records that are published anyway."""
        left = np.zeros(self.starts[-1])
        for j, side in enumerate(self.sides):
            here = left[self.starts[j] : self.starts[j + 1]]
            variables = side.variables(states[j])
            part_of = self._parts(fine, cells, j)
            if self.pricing.discernible:
                groups = self._groups(fine, cells, j)
                order, start = grouped(groups[0], part_of, groups[1], len(variables))
                merge_costs_of_cells(order, start, part_of, cells.sizes, state, variables, self.k, here)
            else:
                kept = np.where(state == KEPT, cells.own[:, j], 0.0)
                kept = np.bincount(part_of, kept, minlength=len(variables))
                merge_costs_of_parts(kept, self._measures(j, fine), variables, here)
        return left

    def _events(self, j: int, state: np.ndarray, fine: Recoded) -> Events:
        """What lets the parts of an attribute grow, and what that adds to the price of each."""
        events = self.sides[j].events(state)
        if self.pricing.discernible or not len(events.variables):
            return replace(events, added=np.zeros(len(events.variables)))
        variables = self.sides[j].variables(state)
        both_ways = np.maximum(variables, variables.T)
        part = np.repeat(np.arange(len(events.start) - 1), np.diff(events.start))
        partners = both_ways[part] == events.variables[:, None]
        return replace(events, added=partners @ self._measures(j, fine))

    def _measures(self, j: int, fine: Recoded) -> np.ndarray:
        """What each part of an attribute adds at least to the price of another."""
        space = self.pricing.spaces[j]
        counts = np.bincount(fine[j], space.counts)
        width = np.bincount(fine[j]).astype(float)
        return self.pricing.measures(space.summed(width, counts, counts, space.leaf[:1], space.leaf[:1]))

    def _parts(self, recoded: Recoded, cells: Cells, j: int) -> np.ndarray:
        return np.array(recoded[j], dtype=np.int64)[self.pricing.values[cells.first, j]]

    def _groups(self, recoded: Recoded, cells: Cells, j: int) -> tuple[np.ndarray, int]:
        """Cells that are alike in all attributes but one: their number, and how many numbers there are."""
        mapped = np.concatenate([np.array(partition, dtype=np.int32) for partition in recoded])
        others = np.array([i for i in range(len(recoded)) if i != j], dtype=np.int64)
        values, starts = self.pricing.values, self.pricing.starts
        group_of, first = number_classes(values, cells.first, others, starts, mapped)
        return group_of, len(first)

    def _raise(self, node: _Node, attributes: Sequence[int], left: np.ndarray, prices: np.ndarray, rounds: int) -> None:
        """Raise the prices of open cells by what merging these attributes would add. Changes left and prices."""
        open_cells = np.flatnonzero(node.state == OPEN)
        owners, variables, own_costs = [], [], []
        for j in attributes:
            events = node.events[j]
            part = self._parts(node.fine, node.cells, j)[open_cells]
            n_events = np.diff(events.start)[part]
            owner = np.repeat(np.arange(len(open_cells)), n_events)
            within = np.arange(len(owner)) - np.repeat(np.cumsum(n_events) - n_events, n_events)
            place = np.repeat(events.start[part], n_events) + within
            owners.append(owner)
            variables.append(events.variables[place] + self.starts[j])
            own_costs.append(events.added[place] * node.cells.own[open_cells[owner], j])
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(owner, minlength=len(open_cells))))
        raise_prices(
            open_cells,
            node.room[open_cells],
            start,
            np.concatenate(variables)[order],
            np.concatenate(own_costs)[order],
            left,
            prices,
            rounds,
        )

    def _table(self, node: _Node, j: int) -> NodeTable:
        """The node from the side of one attribute, whose own merges need not be paid for here."""
        pricing, cells = self.pricing, node.cells
        prices = np.zeros(len(cells.sizes))
        if node.events and len(self.sides) > 1:
            prices, left = node.prices.copy(), node.left.copy()
            self._raise(node, [i for i in range(len(self.sides)) if i != j], left, prices, 1)
        part_of = self._parts(node.fine, cells, j)
        n_parts = max(node.fine[j]) + 1
        group_of, n_groups = self._groups(node.fine, cells, j)
        outer, n_outer = self._groups(node.coarse, cells, j)
        order, start = grouped(group_of, part_of, n_groups, n_parts)
        outer_of = np.zeros(n_groups, dtype=np.int64)
        outer_of[group_of] = outer
        records = np.bincount(outer * n_parts + part_of, cells.sizes, minlength=n_outer * n_parts)
        own = cells.own[:, j]
        rest = np.zeros(len(own))
        if not pricing.discernible:
            rest = node.penalties - own * pricing.prices(j, node.fine[j])[pricing.values[cells.first, j]]
        return NodeTable(
            part_of=part_of,
            order=order,
            start=start,
            cells=np.array([cells.sizes, rest, own, prices]),
            outer_of=outer_of,
            records=records.reshape(n_outer, n_parts),
            k=self.k,
            withheld_cost=self.withheld_cost,
            discernible=pricing.discernible,
        )

    # -- recodings ---------------------------------------------------------------------------------

    def _try_best_of(
        self, node: _Node, deciding: dict[int, Deciding], run: Run, rng: np.random.Generator
    ) -> None:
        """Put together what is best for each attribute by itself, and improve on it."""
        best = tuple(deciding[j].best if j in deciding else fine for j, fine in enumerate(node.fine))
        if self._try(best) or rng.random() < 0.05:
            self._descend(best, run, rng)

    def _descend(self, recoded: Recoded, run: Run, rng: np.random.Generator) -> None:
        """Decide attributes anew one by one, the others given, as long as that lowers the cost."""
        current, cost = recoded, np.inf
        while not run.out_of_time:
            before = cost
            for j in rng.permutation(len(self.sides)):
                current, cost = self._redecided(current, int(j))
            if not cost < before - _TIES * max(abs(before), 1e-3) and before < np.inf:
                break
        self._try(current)

    def _redecided(self, recoded: Recoded, j: int) -> tuple[Recoded, float]:
        """The best partition of one attribute; withholding costs more and more until not too much is withheld."""
        states = [side.fixed(partition) for side, partition in zip(self.sides, recoded)]
        states[j] = self.sides[j].start
        kept = self.withheld_cost
        try:
            for dearer in (1.0, 2.0, 8.0, 64.0, np.inf):
                if self.most_withheld:
                    self.withheld_cost = kept * dearer
                node, _, _ = self._bare(tuple(states))
                found = self.sides[j].bound(node.states[j], self._table(node, j))
                changed = (*recoded[:j], found.best, *recoded[j + 1 :])
                value = self.pricing.evaluate(changed)
                if value.withheld <= self.most_withheld or found.least == np.inf:
                    return changed, value.cost
        finally:
            self.withheld_cost = kept
        return recoded, np.inf

    def _random(self, rng: np.random.Generator) -> Recoded:
        """A random walk from the finest partition of each attribute."""
        recoded = []
        for space, finest in zip(self.pricing.spaces, self.pricing.finest):
            partition = finest
            for _ in range(int(rng.integers(space.n))):
                coarser = space.space.coarser(partition)
                if not coarser:
                    break
                partition = coarser[int(rng.integers(len(coarser)))]
            recoded.append(partition)
        return tuple(recoded)

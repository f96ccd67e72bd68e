"""Branch and bound over the undecided choices of every attribute: the best recoding of a scheme."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from kohort.algorithms.run import Run, Standing
from kohort.algorithms.schemes.box_bound import BoxBound, BoxPrices
from kohort.algorithms.schemes.node_bounds import Node, NodeBounds, State, States
from kohort.algorithms.schemes.node_table import ChoiceBounds
from kohort.algorithms.schemes.pricing import TIES, BestRecoding, Pricing, Recoded


@dataclass(frozen=True)
class Tuning:
    """How much effort the search spends on what.

    starts             random starts of the descents that find the first recoding: on Adult 24 find what more
                       find, but for discernibility under gops and ops, where nodes make up for it
    share_of_starts    of the time at most, for these descents
    few                attributes left to decide: with more, tables of each take longer than they help
    steps              subgradient steps for the prices of boxes at a node
    steps_of_sets      the same where a node of a tree has more than `many_siblings` children in sets: these
                       take long, since every set is weighed in each step
    first_rounds       times these steps at the first node, whose prices all others begin with
    least_rise         of the bound, by which a choice counts that raises it one way only
    share_of_descents  of nodes without a better recoding, from which a descent starts anyway
    """

    starts: int = 24
    share_of_starts: float = 0.3
    few: int = 2
    steps: int = 25
    steps_of_sets: int = 8
    many_siblings: int = 10
    first_rounds: int = 12
    least_rise: float = 1e-6
    share_of_descents: float = 0.02


class _Pruned(Exception):
    """Raised where nothing below a node can be better than the best recoding found."""


class BranchAndBound:
    """Interval branch and bound (see docs/algorithms/optimal-recoding.md).

    At a node every attribute has a finest partition F (every undecided choice is a cut) and a coarsest C
    (every undecided choice is a merge). A record costs at least as much as at F; if its class is below k at
    C, it is withheld. If its class is below k at F only, it is withheld or sticks out of every box of fewer
    than k records around it, which has a price (`boxes`). At the first node, and where few attributes are
    left, each is also decided exactly by dynamic programming, given F and C of the others (`bounds`). Both
    bound the node and make every choice whose alternative costs too much. Best bound first.
    """

    def __init__(self, pricing: Pricing, tuning: Tuning = Tuning()) -> None:
        self.pricing, self.tuning = pricing, tuning
        self.bounds = NodeBounds(pricing)
        self.sides, self.most_withheld = self.bounds.sides, self.bounds.most_withheld
        self.boxes = BoxBound(self.bounds)
        everything = pricing.coarsest
        self.best = BestRecoding(everything, pricing.evaluate(everything).cost, 0, -np.inf, 0)

    def solve(self, run: Run) -> BestRecoding:
        """The best recoding; proven where the bound equals the cost, else the best found in time."""
        rng = np.random.default_rng(self.pricing.problem.seed)
        self._look_around(run.share_of_time(self.tuning.share_of_starts), rng)
        number = count()
        waiting: list[tuple[float, int, States, BoxPrices]] = [
            (0.0, next(number), tuple(side.start for side in self.sides), self.boxes.start)
        ]
        nodes = 0
        while waiting and waiting[0][0] < self.best.limit and not run.out_of_time:
            if nodes % 16 == 0:
                self._report(run, waiting[0][0], nodes)
            bound, _, states, prices = heapq.heappop(waiting)
            nodes += 1
            try:
                for lower, child, inherited in self._expanded(states, prices, bound, run, rng):
                    heapq.heappush(waiting, (lower, next(number), child, inherited))
            except _Pruned:
                continue
        bound = min(waiting[0][0], self.best.cost) if waiting else self.best.cost
        if bound >= self.best.limit:
            bound = self.best.cost
        return replace(self.best, bound=bound, nodes=nodes)

    def _report(self, run: Run, bound: float, nodes: int) -> None:
        best = self.best.cost
        gap = best / bound - 1 if bound > 0 else np.inf
        show = self.pricing.measured
        words = f"searching: best {show(best):.6g}, bound {show(bound):.6g}, gap {gap:.2%}, {nodes:,} nodes"
        share = min(max(bound / best, 0.0), 1.0) if best > 0 else 1.0
        run.report(Standing(words, show(best), show(bound)), share)

    # -- a node ------------------------------------------------------------------------------------

    def _expanded(
        self, states: States, prices: BoxPrices, bound: float, run: Run, rng: np.random.Generator
    ) -> list[tuple[float, States, BoxPrices]]:
        """Make all choices that follow at a node; return its two halves, or none if nothing is better."""
        first = not len(prices.boxes)
        current = list(states)
        node, undecided, deciding, bound, in_time = self._tightened(current, bound, first, run)
        if not in_time:
            return [(bound, tuple(current), prices)]
        if deciding:
            self._try_best_of(node, deciding, run, rng)
        if len(undecided) == 1 and self.best.cost <= bound + TIES * self.best.cost:
            return []  # the best choice for the last attribute is optimal at this node
        if self.boxes.usable and len(undecided) > 1:
            node = replace(node, states=tuple(current))
            relaxed: dict[int, ChoiceBounds] = {}
            for _ in range(self.tuning.first_rounds if first else 1):
                limit = self.best.limit
                lower, prices, relaxed = self.boxes.bound(node, undecided, prices, limit, self._steps, run)
                bound = self._below_limit(max(bound, lower))
            for j, found in relaxed.items():
                current[j], _ = self._narrowed(j, current[j], found)
                deciding[j] = deciding[j].at_least(found) if j in deciding else found
            self._try_best_of(node, relaxed, run, rng)
        return [(lower, child, prices) for lower, child in self._halves(current, deciding, bound)]

    def _below_limit(self, bound: float) -> float:
        if bound >= self.best.limit:
            raise _Pruned
        return bound

    def _tightened(
        self, current: list[State], bound: float, first: bool, run: Run
    ) -> tuple[Node, list[int], dict[int, ChoiceBounds], float, bool]:
        """Make choices in `current` by the tables of attributes until nothing more follows.

        Returns the node, its undecided attributes, the bounds of each attribute's choices, the best bound,
        and whether there was time for all of this.
        """
        while True:
            undecided = self._open(current)
            tables = first or not self.boxes.usable or len(undecided) <= self.tuning.few
            node = self.bounds.node(tuple(current))
            if node.lost > self.most_withheld:
                raise _Pruned
            bound = max(bound, self._below_limit(node.bound))
            if not undecided:
                self.attempt(node.fine)
                raise _Pruned
            deciding: dict[int, ChoiceBounds] = {}
            changed = False
            for j in undecided if tables else ():
                if changed and j == self._most_sets:
                    break  # it takes longer than all others
                found = self.sides[j].bound(current[j], self.bounds.table(node, j, self.best.limit))
                bound = self._below_limit(max(bound, found.least))
                current[j], decided = self._narrowed(j, current[j], found)
                deciding[j], changed = found, changed or decided
            if not changed or run.out_of_time:
                return node, undecided, deciding, bound, not changed

    @cached_property
    def _steps(self) -> int:
        siblings = [
            len(children)
            for space in self.pricing.spaces
            for children, merging in zip(space.space.children, space.space.merging)
            if merging == "sets"
        ]
        tuning = self.tuning
        return tuning.steps_of_sets if max(siblings, default=0) > tuning.many_siblings else tuning.steps

    def _open(self, states: Sequence[State]) -> list[int]:
        """Attributes with an undecided choice; the one with most sets is the last."""
        order = sorted(range(len(self.sides)), key=lambda j: j == self._most_sets)
        return [j for j in order if not self.sides[j].is_decided(states[j])]

    @cached_property
    def _most_sets(self) -> int:
        """The attribute with most values among those that are parted into sets; -1 if there is none."""
        sets = [j for j, space in enumerate(self.pricing.spaces) if not space.ordered]
        return max(sets, key=lambda j: self.pricing.spaces[j].n, default=-1)

    def _narrowed(self, j: int, state: State, found: ChoiceBounds) -> tuple[State, bool]:
        """The state after every choice whose alternative costs too much, and whether any was made."""
        limit, side = self.best.limit, self.sides[j]
        state, changed = side.narrowed(state, found, limit), False
        for choice, merged, cut in zip(found.choices, found.merged, found.cut):
            if (merged >= limit or cut >= limit) and side.is_open(state, choice):
                state, changed = side.with_choice(state, choice, merged < limit), True
        return state, changed

    def _halves(
        self, states: list[State], deciding: dict[int, ChoiceBounds], bound: float
    ) -> list[tuple[float, States]]:
        """The two nodes that make one choice each way: the choice that raises the bound most.

        Among attributes that are parted into sets, the one with most values is left for the end, where it is
        decided at once: it has too many choices to make them one by one.
        """
        most, chosen = (-np.inf, -np.inf), None
        for j, found in deciding.items():
            if j == self._most_sets and len(deciding) > 1:
                continue
            for choice, merged, cut in zip(found.choices, found.merged, found.cut):
                score = self._score(bound, merged, cut)
                if score > most and self.sides[j].is_open(states[j], choice):
                    most, chosen = score, (j, choice, merged, cut)
        if chosen is None:  # all attributes but the last are decided
            return [(bound, tuple(states))]
        j, choice, merged, cut = chosen
        halves = []
        for way, least in ((True, merged), (False, cut)):
            if least < self.best.limit:
                state = self.sides[j].with_choice(states[j], choice, way)
                halves.append((max(bound, float(least)), (*states[:j], state, *states[j + 1 :])))
        return halves

    def _score(self, bound: float, merged: float, cut: float) -> tuple[float, float]:
        """How well a choice raises the bound: the product of both rises, or without boxes the lower bound."""
        if not self.boxes.usable:
            return min(merged, cut), max(merged, cut)
        least_rise, limit = self.tuning.least_rise * abs(bound), self.best.limit
        rises = [max(min(least, limit) - bound, 0.0) + least_rise for least in (merged, cut)]
        return rises[0] * rises[1], 0.0

    # -- recodings ---------------------------------------------------------------------------------

    def _look_around(self, run: Run, rng: np.random.Generator) -> None:
        """Descend from the coarsest recoding, the finest and random ones."""
        for recoded in (self.pricing.coarsest, self.pricing.finest):
            self._descend(recoded, run, rng)
        for start in range(self.tuning.starts):
            run.report("looking for good recodings", start / self.tuning.starts)
            self._descend(self._random(rng), run, rng)

    def _random(self, rng: np.random.Generator) -> Recoded:
        """A random walk from the finest partition of each attribute."""
        recoded = []
        for space, partition in zip(self.pricing.spaces, self.pricing.finest):
            for _ in range(int(rng.integers(space.n))):
                coarser = space.space.coarser(partition)
                if not coarser:
                    break
                partition = coarser[int(rng.integers(len(coarser)))]
            recoded.append(partition)
        return tuple(recoded)

    def _try_best_of(
        self, node: Node, deciding: dict[int, ChoiceBounds], run: Run, rng: np.random.Generator
    ) -> None:
        """Combine the best partitions of each attribute by itself, and descend from there."""
        best = tuple(deciding[j].best if j in deciding else fine for j, fine in enumerate(node.fine))
        if self.attempt(best) or rng.random() < self.tuning.share_of_descents:
            self._descend(best, run, rng)

    def attempt(self, recoded: Recoded) -> bool:
        """Keep a recoding if it is better than the best so far; return whether it is."""
        found = self.pricing.evaluate(recoded)
        if found.withheld > self.most_withheld or found.cost >= self.best.limit:
            return False
        self.best = replace(self.best, recoded=recoded, cost=found.cost, withheld=found.withheld)
        return True

    def _descend(self, recoded: Recoded, run: Run, rng: np.random.Generator) -> None:
        """Decide one attribute after another again, given the others, while that lowers the cost."""
        current, cost = recoded, np.inf
        while not run.out_of_time:
            before = cost
            for j in rng.permutation(len(self.sides)):
                current, cost = self._redecided(current, int(j), cost)
            if not cost < before - TIES * max(abs(before), 1e-3) and before < np.inf:
                break
        self.attempt(current)

    def _redecided(self, recoded: Recoded, j: int, cost: float) -> tuple[Recoded, float]:
        """The recoding with the best partition of attribute j, and its cost.

        The cost of withholding is raised until no more records are withheld than allowed.

        cost  the cost of the recoding before, infinite if unknown
        """
        states = [side.fixed(partition) for side, partition in zip(self.sides, recoded)]
        states[j] = self.sides[j].start
        kept = self.bounds.withheld_cost
        try:
            for dearer in (1.0, 2.0, 8.0, 64.0, np.inf):
                if self.most_withheld:
                    self.bounds.withheld_cost = kept * dearer
                limit = cost if dearer == 1.0 else np.inf
                node = self.bounds.node(tuple(states))
                found = self.sides[j].bound(node.states[j], self.bounds.table(node, j, limit))
                if found.least >= limit and limit < np.inf:
                    return recoded, cost  # nothing is better
                changed = (*recoded[:j], found.best, *recoded[j + 1 :])
                value = self.pricing.evaluate(changed)
                if value.withheld <= self.most_withheld or found.least == np.inf:
                    return changed, value.cost
        finally:
            self.bounds.withheld_cost = kept
        return recoded, np.inf

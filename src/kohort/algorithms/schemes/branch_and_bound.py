"""Good recodings without a lower bound: attributes are decided one by one, each given the others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from kohort.algorithms.run import Run, Standing
from kohort.algorithms.schemes.box_bound import BoxBound, BoxPrices
from kohort.algorithms.schemes.node_bounds import ChoiceBounds, Node, NodeBounds, State, States
from kohort.algorithms.schemes.pricing import TIES, BestRecoding, Pricing, Recoded


class Descent:
    """The best recoding that was found so far, and descents that look for a better one."""

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        self.bounds = NodeBounds(pricing)
        self.sides, self.most_withheld = self.bounds.sides, self.bounds.most_withheld
        everything = pricing.coarsest
        self.best = BestRecoding(everything, pricing.evaluate(everything).cost, 0, -np.inf, 0)

    def look_around(self, run: Run, rng: np.random.Generator, n_random: int) -> BestRecoding:
        """The best recoding that descents find: from the coarsest, the finest and random ones."""
        for recoded in (self.pricing.coarsest, self.pricing.finest):
            self.descend(recoded, run, rng)
        for start in range(n_random):
            run.report("looking for good recodings", start / n_random)
            self.descend(self._random(rng), run, rng)
        return self.best

    def attempt(self, recoded: Recoded) -> bool:
        """Keep a recoding if it is better than the best so far; return whether it is."""
        found = self.pricing.evaluate(recoded)
        if found.withheld > self.most_withheld or found.cost >= self.best.limit:
            return False
        self.best = replace(self.best, recoded=recoded, cost=found.cost, withheld=found.withheld)
        return True

    def descend(self, recoded: Recoded, run: Run, rng: np.random.Generator) -> None:
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
                node, _, _ = self.bounds.bare(tuple(states))
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


_STARTS = 24  # random starts of the descent that finds the first recoding
_SHARE_OF_STARTS = 0.3  # greatest share of the time for it
_NODES_BEFORE_WARM_STARTS = 32
_SHARE_OF_WARM_STARTS = 0.3  # share of the time that is left then
_FEW = 2  # attributes: with more to decide, tables of each take longer than they help
_STEPS, _STEPS_OF_SETS = 25, 8  # subgradient steps for the prices of boxes; those of many sets take long
_FIRST_ROUNDS = 12  # rounds of these steps at the first node
_MANY_SIBLINGS = 10
_LEAST_RISE = 1e-6  # least rise of a bound, so that a choice that raises one bound only counts
_SHARE_OF_DESCENTS = 0.02  # share of nodes without a better recoding from which a descent starts anyway

WarmStarts = Callable[[Pricing, Run, np.random.Generator], Iterable[Recoded]]


def _no_starts(pricing: Pricing, run: Run, rng: np.random.Generator) -> Iterable[Recoded]:
    return ()


@dataclass(frozen=True, eq=False)
class _Tightened:
    """A node after all choices that follow from its tables; `deciding` bounds each attribute's choices."""

    node: Node
    undecided: list[int]
    deciding: dict[int, ChoiceBounds]
    bound: float
    out_of_time: bool


class BranchAndBound(Descent):
    """Interval branch and bound (see docs/algorithms/optimal-recoding.md).

    At a node every attribute has a finest partition F (every undecided choice is a cut) and a coarsest C
    (every undecided choice is a merge). A record costs at least as much as at F; if its class is below k at
    C, it is withheld. If its class is below k at F only, it is withheld or sticks out of every box of fewer
    than k records around it, which has a price (`boxes`). At the first node, and where few attributes are
    left, each is also decided exactly by dynamic programming, given F and C of the others (`bounds`). Both
    bound the node and make every choice whose alternative costs too much. Best bound first.
    """

    def __init__(self, pricing: Pricing) -> None:
        super().__init__(pricing)
        self.boxes = BoxBound(self.bounds)

    # -- the search --------------------------------------------------------------------------------

    def solve(self, run: Run, warm_starts: WarmStarts = _no_starts) -> BestRecoding:
        """The best recoding; proven where the bound equals the cost, else the best found in time.

        Warm starts take a while to find: they are used only if the first nodes have not proven the optimum.
        """
        rng = np.random.default_rng(self.pricing.problem.seed)
        self.look_around(run.share_of_time(_SHARE_OF_STARTS), rng, _STARTS)
        number = count()
        waiting: list[tuple[float, int, States, BoxPrices]] = [
            (0.0, next(number), tuple(side.start for side in self.sides), self.boxes.start)
        ]
        nodes = 0
        while waiting and waiting[0][0] < self.best.limit and not run.out_of_time:
            if nodes % 16 == 0:
                self._report(run, waiting[0][0], nodes)
            if nodes == _NODES_BEFORE_WARM_STARTS:
                some_time = run.share_of_time(_SHARE_OF_WARM_STARTS).in_silence()
                for recoded in warm_starts(self.pricing, some_time, rng):
                    self.descend(recoded, some_time, rng)
            bound, _, states, prices = heapq.heappop(waiting)
            nodes += 1
            for lower, child, inherited in self._expanded(states, prices, bound, run, rng):
                heapq.heappush(waiting, (lower, next(number), child, inherited))
        bound = min(waiting[0][0], self.best.cost) if waiting else self.best.cost
        if bound >= self.best.limit:
            bound = self.best.cost
        return replace(self.best, bound=bound, nodes=nodes)

    def _report(self, run: Run, bound: float, nodes: int) -> None:
        best = self.best.cost
        gap = best / bound - 1 if bound > 0 else np.inf
        show = self.pricing.measured
        words = f"searching: best {show(best):.6g}, bound {show(bound):.6g}, gap {gap:.2%}, {nodes:,} nodes"
        run.report(
            Standing(words, show(best), show(bound)), min(max(bound / best, 0.0), 1.0) if best > 0 else 1.0
        )

    # -- a node ------------------------------------------------------------------------------------

    def _expanded(
        self, states: States, prices: BoxPrices, bound: float, run: Run, rng: np.random.Generator
    ) -> list[tuple[float, States, BoxPrices]]:
        """Make all choices that follow at a node; return its two halves, or none if nothing is better."""
        first = not len(prices.boxes)
        current = list(states)
        tight = self._tightened(current, bound, first, run)
        if tight is None:
            return []
        node, undecided, deciding, bound = tight.node, tight.undecided, tight.deciding, tight.bound
        if tight.out_of_time:
            return [(bound, tuple(current), prices)]
        if deciding:
            self._try_best_of(node, deciding, run, rng)
        if len(undecided) == 1 and self.best.cost <= bound + TIES * self.best.cost:
            return []  # the best choice for the last attribute is optimal at this node
        if self.boxes.usable and len(undecided) > 1:
            node = replace(node, states=tuple(current))
            boxed = self._by_boxes(node, undecided, prices, bound, first, run)
            if boxed is None:
                return []
            bound, prices, relaxed = boxed
            for j, found in relaxed.items():
                current[j], _ = self._narrowed(j, current[j], found)
                deciding[j] = deciding[j].at_least(found) if j in deciding else found
            self._try_best_of(node, relaxed, run, rng)
        return [(lower, child, prices) for lower, child in self._halves(current, deciding, bound)]

    def _tightened(self, current: list[State], bound: float, first: bool, run: Run) -> _Tightened | None:
        """Make choices in `current` by the tables of attributes until nothing more follows.

        None if the node has nothing better, or if all is decided.
        """
        while True:
            undecided = self._open(current)
            tables = first or not self.boxes.usable or len(undecided) <= _FEW
            node = self.bounds.node(tuple(current), dual_ascent=tables)
            if node is None or node.bound >= self.best.limit:
                return None
            if not undecided:
                self.attempt(node.fine)
                return None
            found = self._by_tables(node, undecided if tables else [], current, max(bound, node.bound))
            if found is None:
                return None
            bound, deciding, changed = found
            if not changed or run.out_of_time:
                return _Tightened(node, undecided, deciding, bound, out_of_time=changed)

    def _by_tables(
        self, node: Node, attributes: Sequence[int], current: list[State], bound: float
    ) -> tuple[float, dict[int, ChoiceBounds], bool] | None:
        """Bound each attribute by itself, and make the choices in `current` that follow from that.

        Returns the best bound, those of each attribute, and whether any choice was made; None if the node has
        nothing better.
        """
        deciding: dict[int, ChoiceBounds] = {}
        changed = False
        for j in attributes:
            if changed and j == self._most_sets:
                break  # it takes longer than all others
            found = self.sides[j].bound(current[j], self.bounds.table(node, j, self.best.limit))
            bound = max(bound, found.least)
            if bound >= self.best.limit:
                return None
            current[j], decided = self._narrowed(j, current[j], found)
            deciding[j], changed = found, changed or decided
        return bound, deciding, changed

    def _by_boxes(
        self, node: Node, undecided: Sequence[int], prices: BoxPrices, bound: float, first: bool, run: Run
    ) -> tuple[float, BoxPrices, dict[int, ChoiceBounds]] | None:
        """The bound by boxes, their prices, and the bounds of each attribute; None if nothing is better."""
        relaxed: dict[int, ChoiceBounds] = {}
        for _ in range(_FIRST_ROUNDS if first else 1):
            limit = self.best.limit
            lower, prices, relaxed = self.boxes.bound(node, undecided, prices, limit, self._steps, run)
            bound = max(bound, lower)
            if bound >= limit:
                return None
        return bound, prices, relaxed

    @cached_property
    def _steps(self) -> int:
        siblings = [
            len(children)
            for space in self.pricing.spaces
            for children, merging in zip(space.space.children, space.space.merging)
            if merging == "sets"
        ]
        return _STEPS_OF_SETS if max(siblings, default=0) > _MANY_SIBLINGS else _STEPS

    def _open(self, states: Sequence[State]) -> list[int]:
        """Attributes with an undecided choice; the one with most sets is the last."""
        order = sorted(range(len(self.sides)), key=lambda j: j == self._most_sets)
        return [j for j in order if not self.sides[j].is_decided(states[j])]

    @cached_property
    def _most_sets(self) -> int | None:
        """The attribute with most values among those that are parted into sets; None if there is none."""
        sets = [j for j, space in enumerate(self.pricing.spaces) if not space.ordered]
        return max(sets, key=lambda j: self.pricing.spaces[j].n, default=None)

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
        least_rise, limit = _LEAST_RISE * abs(bound), self.best.limit
        rises = [max(min(least, limit) - bound, 0.0) + least_rise for least in (merged, cut)]
        return rises[0] * rises[1], 0.0

    # -- recodings ---------------------------------------------------------------------------------

    def _try_best_of(
        self, node: Node, deciding: dict[int, ChoiceBounds], run: Run, rng: np.random.Generator
    ) -> None:
        """Combine the best partitions of each attribute by itself, and descend from there."""
        best = tuple(deciding[j].best if j in deciding else fine for j, fine in enumerate(node.fine))
        if self.attempt(best) or rng.random() < _SHARE_OF_DESCENTS:
            self.descend(best, run, rng)

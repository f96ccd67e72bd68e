"""Good recodings without a lower bound: attributes are decided one by one, each given the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.best_recoding import TIES, BestRecoding
from kohort.algorithms.schemes.node_bounds import NodeBounds
from kohort.algorithms.schemes.pricing import Pricing, Recoded


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

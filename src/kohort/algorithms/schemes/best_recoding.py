"""The result of a search for a recoding, and the tolerance within which two costs are equal."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.algorithms.schemes.pricing import Recoded

TIES = 1e-9  # costs nearer than this share of the best one are the same


@dataclass(frozen=True, eq=False)
class BestRecoding:
    """The best recoding found so far.

    bound  a lower bound on the cost of any recoding of the schemes
    nodes  how many nodes of the search were examined
    """

    recoded: Recoded
    cost: float
    withheld: int
    bound: float
    nodes: int

    @property
    def limit(self) -> float:
        """The cost that a recoding must be below to be an improvement."""
        return self.cost - TIES * max(abs(self.cost), 1e-3)

"""What a search for a recoding returns, and when two costs are the same to it."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.algorithms.schemes.pricing import Recoded

__all__ = ["TIES", "BestRecoding"]

TIES = 1e-9  # costs nearer than this share of the best one are the same


@dataclass(frozen=True, eq=False)
class BestRecoding:
    """The best recoding found so far.

    bound  no recoding of the schemes costs less
    nodes  how many nodes of the search were looked at
    """

    recoded: Recoded
    cost: float
    withheld: int
    bound: float
    nodes: int

    @property
    def limit(self) -> float:
        """What costs this much or more is no improvement."""
        return self.cost - TIES * max(abs(self.cost), 1e-3)

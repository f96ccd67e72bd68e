"""Heat: how much a round of a search may add to the cost, less and less as time passes (annealing)."""

from __future__ import annotations

from math import floor

from kohort.algorithms.run import Run

_TIME_STEPS = 64  # steps in which heat falls with time


class Heat:
    """How much a round may add to the cost, on average over the rounds that add anything.

    Falls to 0 by the time limit, or earlier if many stretches of rounds are done before. Without a time limit
    it is 0 throughout.
    """

    def __init__(self, run: Run, most: float, n_stretches: int) -> None:
        self.run, self.seconds = run, run.seconds_left or 0.0
        self.most = most if self.seconds else 0.0
        self.n_stretches, self.n_made = n_stretches, 0

    @property
    def gone(self) -> float:
        """The share of the time, or of the stretches, that has passed: the greater of the two.

        Time is counted in few steps, so that the result of a very short search does not depend on it.
        """
        left = (self.run.seconds_left or 0.0) / self.seconds if self.seconds else 1.0
        by_clock, by_stretches = floor((1 - left) * _TIME_STEPS) / _TIME_STEPS, self.n_made / self.n_stretches
        if self.most and by_clock > by_stretches:
            self.run.cut()
        return min(1.0, max(by_clock, by_stretches))

    @property
    def is_out(self) -> bool:
        return not self.most or self.gone >= 1

    def now(self) -> float:
        return self.most * (1 - self.gone)

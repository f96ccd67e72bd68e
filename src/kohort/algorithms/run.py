"""What surrounds a run of an algorithm: its time limit, and somebody who wants to see progress."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Progress", "Run"]

Progress = Callable[[str, float], None]  # what is being done, and the share that is done


class Run:
    """A run in progress.

    >>> run = Run(time_limit=60)
    >>> run.out_of_time
    False
    """

    def __init__(self, *, time_limit: float | None = None, progress: Progress | None = None) -> None:
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._progress = progress
        self._spared: Callable[[], float] = lambda: 0.0

    @property
    def out_of_time(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline + self._spared()

    def in_silence(self) -> Run:
        """The same run for a part of the work that reports no progress of its own."""
        run = Run()
        run._deadline, run._spared = self._deadline, self._spared
        return run

    def part(self, what: str, begin: float, end: float) -> Run:
        """The same run for a part of the work, under one name, that makes up the shares from begin to end."""
        run = self.in_silence()
        run._progress = lambda _, share: self.report(what, begin + share * (end - begin))
        return run

    def at_most(self, seconds: float, *, besides: Callable[[], float]) -> Run:
        """The same run, limited where it is not yet: to so many seconds besides those of something."""
        if self._deadline is not None:
            return self
        run = Run(time_limit=seconds, progress=self._progress)
        run._spared = besides
        return run

    @property
    def seconds_left(self) -> float | None:
        """Until the time limit; None where there is none."""
        return (
            None if self._deadline is None else max(self._deadline + self._spared() - time.monotonic(), 0.0)
        )

    def report(self, what: str, share: float) -> None:
        """Tell how far the work is, 0 to 1."""
        if self._progress is not None:
            self._progress(what, share)

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

    @property
    def out_of_time(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def in_silence(self) -> Run:
        """The same run for a part of the work that reports no progress of its own."""
        run = Run()
        run._deadline = self._deadline
        return run

    @property
    def seconds_left(self) -> float | None:
        """Until the time limit; None where there is none."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def report(self, what: str, share: float) -> None:
        """Tell how far the work is, 0 to 1."""
        if self._progress is not None:
            self._progress(what, share)

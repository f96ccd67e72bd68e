"""What surrounds a run of an algorithm: its time limit, and somebody who wants to see progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "Run"]

Progress = Callable[[str, float], None]  # what is being done, and the share that is done


def _nothing() -> float:
    return 0.0


class _Clock:
    """Whether the clock decided anything: shared by a run and all its parts."""

    decided = False


class Run:
    """A run in progress.

    besides  seconds spent so far on what does not count, such as compiling

    Two runs of the same search give the same result unless one of them `was_cut`: whoever asks `out_of_time`
    and is told so has been cut, and whoever lets the seconds that are left decide calls `cut`.

    >>> run = Run(time_limit=60)
    >>> run.out_of_time
    False
    >>> run.at_most(5).seconds_left <= 5
    True
    """

    def __init__(
        self,
        *,
        time_limit: float | None = None,
        progress: Progress | None = None,
        besides: Callable[[], float] = _nothing,
    ) -> None:
        self._limit = time_limit
        self._progress = progress
        self._besides = besides
        self._started = time.monotonic() - besides()
        self._outer: Run | None = None
        self._clock = _Clock()

    @property
    def out_of_time(self) -> bool:
        if self._outer is not None and self._outer.out_of_time:
            return True
        if self._limit is None or self._seconds <= self._limit:
            return False
        self.cut()
        return True

    @property
    def was_cut(self) -> bool:
        """Whether the clock has decided anything so far, here or in any part of the run."""
        return self._clock.decided

    def cut(self) -> None:
        """Note that the clock decided something: the next run of the same search may end differently."""
        self._clock.decided = True

    @property
    def limit(self) -> float | None:
        """The tightest limit in seconds, whatever of it has passed; None where there is none."""
        limits = [self._limit, None if self._outer is None else self._outer.limit]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._besides() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Until the time limit; None where there is none."""
        outer = None if self._outer is None else self._outer.seconds_left
        if self._limit is None:
            return outer
        left = max(self._limit - self._seconds, 0.0)
        return left if outer is None else min(left, outer)

    @property
    def gone(self) -> float:
        """The share of its time that is gone; 0 where there is no limit."""
        if self._limit:
            return min(self._seconds / self._limit, 1.0)
        return 0.0 if self._outer is None else self._outer.gone

    def at_most(self, seconds: float | None) -> Run:
        """The same run, limited to so many seconds from now on if it has more."""
        run = Run(time_limit=seconds, progress=self._progress, besides=self._besides)
        run._outer, run._clock = self, self._clock
        return run

    def share_of_time(self, share: float) -> Run:
        """The same run, limited to a share of the time that is left."""
        left = self.seconds_left
        return self.at_most(None if left is None else left * share)

    def in_silence(self) -> Run:
        """The same run for a part of the work that reports no progress of its own."""
        run = self.at_most(None)
        run._progress = None
        return run

    @contextmanager
    def until_failure(self) -> Iterator[Run]:
        """The same run for work in other threads: out of time as soon as the block fails, or is interrupted.

        >>> from concurrent.futures import ThreadPoolExecutor
        >>> run = Run()
        >>> with ThreadPoolExecutor(1) as pool, run.until_failure() as beside:
        ...     pool.submit(lambda: beside.out_of_time).result()
        False
        """
        run = self.at_most(None)
        try:
            yield run
        except BaseException:
            run._limit = -1.0
            raise

    def part(self, what: str, begin: float, end: float) -> Run:
        """The same run for a part of the work, under one name, that makes up the shares from begin to end."""
        run = self.in_silence()
        run._progress = lambda _, share: self.report(what, begin + share * (end - begin))
        return run

    def report(self, what: str, share: float) -> None:
        """Tell how far the work is, 0 to 1."""
        if self._progress is not None:
            self._progress(what, share)

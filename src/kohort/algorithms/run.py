"""The surroundings of an algorithm while it runs: its time limit, and where its progress is reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, float], None]  # called with a name for the work and the share that is done
Stop = Callable[[], bool]  # returns True once somebody wants the best result so far


class Standing(str):
    """A name for the work that also holds the least cost so far and, where known, a proven bound on it.

    >>> standing = Standing("searching", 0.25, 0.2)
    >>> standing, standing.cost, standing.bound
    ('searching', 0.25, 0.2)
    """

    cost: float
    bound: float | None

    def __new__(cls, words: str, cost: float, bound: float | None = None) -> Standing:
        standing = super().__new__(cls, words)
        standing.cost, standing.bound = cost, bound
        return standing


def _nothing() -> float:
    return 0.0


class _Clock:
    """A flag shared by a run and all its parts: whether the clock has decided anything."""

    decided = False


class Run:
    """The time limit of a run in progress, and where its progress is reported.

    time_limit  seconds, or None for no limit
    progress    called with a name for the work and the share that is done
    excluded    seconds not charged to the limit, such as compiling
    stop        asked whenever the clock is looked at; once it returns True, the time is up

    Two runs of the same search give the same result unless one of them `was_cut`. A run is cut when
    `out_of_time` returns True. Code that lets `seconds_left` decide anything must call `cut` itself.

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
        excluded: Callable[[], float] = _nothing,
        stop: Stop | None = None,
    ) -> None:
        self._stop = stop
        self._limit = time_limit
        self._progress = progress
        self._excluded = excluded
        self._started = time.monotonic() - excluded()
        self._outer: Run | None = None
        self._clock = _Clock()

    @property
    def out_of_time(self) -> bool:
        if self._outer is not None and self._outer.out_of_time:
            return True
        if self.was_stopped:
            self.cut()
            return True
        if self._limit is None or self._seconds <= self._limit:
            return False
        self.cut()
        return True

    @property
    def was_stopped(self) -> bool:
        """Whether somebody asked for the best result so far."""
        return self._stop is not None and self._stop()

    @property
    def was_cut(self) -> bool:
        """Whether the clock has decided anything so far, here or in any part of the run."""
        return self._clock.decided

    def cut(self) -> None:
        """Record that the clock decided something, so the next run of the same search may end differently."""
        self._clock.decided = True

    @property
    def limit(self) -> float | None:
        """The tightest limit in seconds, including the time already used; None if there is no limit."""
        limits = [self._limit, None if self._outer is None else self._outer.limit]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._excluded() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None if there is no limit."""
        outer = None if self._outer is None else self._outer.seconds_left
        if self._limit is None:
            return outer
        left = max(self._limit - self._seconds, 0.0)
        return left if outer is None else min(left, outer)

    @property
    def gone(self) -> float:
        """The share of the time limit that has passed, from 0 to 1; 0 if there is no limit."""
        if self._limit:
            return min(self._seconds / self._limit, 1.0)
        return 0.0 if self._outer is None else self._outer.gone

    def at_most(self, seconds: float | None) -> Run:
        """A part of this run that may take at most `seconds` from now on, or less if less time is left."""
        run = Run(time_limit=seconds, progress=self._progress, excluded=self._excluded)
        run._outer, run._clock = self, self._clock
        return run

    def share_of_time(self, share: float) -> Run:
        """A part of this run that may take at most the given share of the time that is left."""
        left = self.seconds_left
        return self.at_most(None if left is None else left * share)

    def in_silence(self) -> Run:
        """A part of this run, under the same time limit, that reports no progress."""
        run = self.at_most(None)
        run._progress = None
        return run

    @contextmanager
    def until_failure(self) -> Iterator[Run]:
        """A part of this run for other threads: it is out of time once the block fails or is interrupted.

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
        """A part of this run whose progress, 0 to 1, is reported under the name `what` as begin to end."""
        run = self.in_silence()
        run._progress = lambda _, share: self.report(what, begin + share * (end - begin))
        return run

    def report(self, what: str, share: float) -> None:
        """Report that the share of the work named `what` is done, from 0 to 1."""
        if self._progress is not None:
            self._progress(what, share)

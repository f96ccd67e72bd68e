"""How long the current step of a job will still take, once enough of it has been seen to say so."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["TimeLeft", "in_words"]

_LEAST_SECONDS = 3.0  # of the step, before anything is said
_LEAST_SHARE = 0.1  # of the step, before anything is said
_MOST_DISAGREEMENT = 1.5  # between the pace of the whole step and that of its later half
_APART = 0.2  # seconds between two points that are kept


class TimeLeft:
    """Estimates the rest of a step from its reports; a step ends when the share that is done falls back.

    Nothing is estimated before three seconds and a tenth of the step have passed, nor while the pace of the
    later half of that time differs much from the pace of all of it. An estimate never exceeds `time_limit`.

    >>> now = iter([0.0, 2.0, 4.0, 8.0])
    >>> left = TimeLeft(clock=lambda: next(now))
    >>> [in_words(left.after(share)) for share in (0.0, 0.1, 0.2, 0.4)][2:]
    [', about 16 s left for this step', ', about 12 s left for this step']
    """

    def __init__(
        self, *, time_limit: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._time_limit = time_limit
        self._clock = clock
        self._points: list[tuple[float, float]] = []  # when, and the share that was done

    def after(self, share: float) -> float | None:
        """Seconds that the step will still take when this share of it is done; None if it is too early."""
        now = self._clock()
        if self._points and share < self._points[-1][1]:
            self._points.clear()
        if not self._points or now - self._points[-1][0] >= _APART:
            self._points.append((now, share))
        return self._estimate(now, share)

    def _estimate(self, now: float, share: float) -> float | None:
        (start, first), (middle, then) = self._points[0], self._point_at(self._points[0][0], now)
        if now - start < _LEAST_SECONDS or share - first < _LEAST_SHARE or share <= then:
            return None
        overall = (now - start) * (1 - share) / (share - first)
        lately = (now - middle) * (1 - share) / (share - then)
        if max(overall, lately) > _MOST_DISAGREEMENT * min(overall, lately):
            return None
        left = (overall + lately) / 2
        return left if self._time_limit is None else min(left, self._time_limit)

    def _point_at(self, start: float, now: float) -> tuple[float, float]:
        """The last point in the first half of the step so far."""
        half = (start + now) / 2
        return max((point for point in self._points if point[0] <= half), default=self._points[0])


def in_words(seconds: float | None) -> str:
    """The rest of a step in words, to be added to a line; empty if it is unknown.

    >>> in_words(12.4), in_words(200), in_words(None)
    (', about 12 s left for this step', ', about 3 min left for this step', '')
    """
    if seconds is None:
        return ""
    much = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f", about {much} left for this step"

"""How a worker tells what it is doing, a few times a second, and hears that it should stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import Any

from kohort.algorithms import Standing

_EVERY = 0.15  # seconds between two messages


class Telling:
    """Called as the `progress` of a job; `stop` is its `stop`."""

    def __init__(self, tell: Callable[[dict[str, Any]], None], stopped: Event) -> None:
        self.tell = tell
        self._stopped = stopped
        self._last = 0.0
        self._start = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        now = time.monotonic()
        if now - self._last < _EVERY:
            return
        self._last = now
        facts: dict[str, Any] = {"what": str(what), "share": share, "seconds": now - self._start}
        if isinstance(what, Standing):
            facts |= {"cost": what.cost, "bound": what.bound}
        self.tell(facts)

    def stop(self) -> bool:
        """Whether somebody asked for the best result so far."""
        return self._stopped.is_set()

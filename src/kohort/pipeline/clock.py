"""How long each phase of a job took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Clock"]


class Clock:
    """Measures the seconds of each phase of a job."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def set_apart(self, phase: str, seconds: float, *, of: str) -> None:
        """Count a part of one phase as a phase of its own."""
        self.seconds[of] -= seconds
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

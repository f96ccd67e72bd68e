"""How long each phase of a job took, and what follows where a clock decided something."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from kohort.algorithms import Run

__all__ = ["Clock", "cut_notes"]


class Clock:
    """Seconds by phase."""

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


def cut_notes(run: Run, asked: float | None) -> list[str]:
    """What to tell where the time limit that was asked for, or the algorithm's own, cut the search."""
    if not run.was_cut:
        return []
    limit = "the algorithm's own time limit" if asked is None else f"the time limit of {asked:g} s"
    return [
        f"The search was cut by {limit}: the same input, spec, version and seed may give another release the "
        "next time, or on another machine. Without a cut they give the same one."
    ]

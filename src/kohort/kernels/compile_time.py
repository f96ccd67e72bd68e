"""The time that numba spends compiling, apart from that of running: only the first run compiles."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event

__all__ = ["compile_clock"]


class _Compilations(event.Listener):
    """Adds up compilations; those inside another one (a kernel that calls a kernel) count once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._since = 0.0

    def on_start(self, event: object) -> None:
        if self._depth == 0:
            self._since = time.perf_counter()
        self._depth += 1

    def on_end(self, event: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since


@contextmanager
def compile_clock() -> Iterator[_Compilations]:
    """Measure the seconds that numba compiles inside the block."""
    listener = _Compilations()
    with event.install_listener("numba:compile", listener):
        yield listener

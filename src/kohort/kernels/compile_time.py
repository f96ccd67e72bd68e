"""The time spent compiling, apart from that of running: only the first run compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_OF_NUMBA, _AHEAD = "numba:compile", "kohort:compile"


class CompileClock:
    """Seconds spent compiling so far; a kernel that is compiled inside another one counts once."""

    def __init__(self, listener: Any) -> None:
        self._listener = listener

    @property
    def seconds(self) -> float:
        return float(self._listener.duration) if self._listener.done else 0.0


@contextmanager
def compile_clock() -> Iterator[CompileClock]:
    """Measure the seconds spent compiling inside the block, by numba or in `compiling` blocks."""
    from numba.core import event

    listener = event.TimingListener()
    with event.install_listener(_OF_NUMBA, listener), event.install_listener(_AHEAD, listener):
        yield CompileClock(listener)


@contextmanager
def compiling() -> Iterator[None]:
    """Count the block as compiling: others compile, and this process waits for them."""
    from numba.core import event

    with event.trigger_event(_AHEAD):
        yield


# Compile the kernels of an algorithm before it runs, where somebody sees to that: the command line does.
#
# Without that, a kernel is compiled when it is first called, one after the other.


Compile = Callable[[Sequence[str]], None]

_compile: Compile | None = None


@contextmanager
def ahead_of(compile_algorithms: Compile) -> Iterator[None]:
    """Have all kernels of an algorithm compiled by this function before it runs, inside the block."""
    global _compile
    before, _compile = _compile, compile_algorithms
    try:
        yield
    finally:
        _compile = before


def compile_ahead(algorithms: Sequence[str]) -> None:
    """Compile the kernels of these algorithms, given by name, if somebody takes care of that."""
    if _compile is not None:
        _compile(algorithms)

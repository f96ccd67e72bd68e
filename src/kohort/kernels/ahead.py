"""Compile the kernels of an algorithm before it runs, where somebody sees to that: the command line does.

Without that, a kernel is compiled when it is first called, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

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

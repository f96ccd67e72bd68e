"""Compile kernels with numba: under names that are unique to the process, into a cache of our own.

numba numbers what it compiles, per process and from 1, and these numbers are part of the symbols in the
compiled code. Code cached by two processes may therefore define one symbol in two ways; a process that
loads both silently runs the first definition for both. Here every compilation gets a random number
instead.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from numba import njit
from numba.core.bytecode import FunctionIdentity
from numba.core.dispatcher import Dispatcher
from numba.core.options import DefaultOptions

from kohort.kernels.kernel_cache import KernelCache

__all__ = ["kernel", "lean", "symbols_are_unique"]

_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function of arrays and numbers; it runs without the interpreter's lock.

    Options of numba may be given: `@kernel(parallel=True)` runs `prange` loops on all threads,
    `@kernel(error_model="numpy")` divides by zero as NumPy does, so that loops with divisions are vectorized.
    """
    if function is None:
        return partial(_compiled, **options)
    return _compiled(function, **options)


def lean(function: Callable[..., Any]) -> Any:
    """Compile without counting references to arrays, which takes longer than the work of a tiny kernel.

    The function must neither create arrays nor return any, and call lean ones alone, since what it calls is
    compiled as it is itself. Views cost nothing here. The option is private to numba, and worth it: without
    it, `improve` on 6,000 records of Adult takes 1.4 to 1.8 times the CPU seconds, to the same release.
    """
    return _compiled(function, **_UNCOUNTED)


def symbols_are_unique() -> bool:
    """Whether the next compilation gets one of our random numbers: numba does not promise to ask for one."""
    return FunctionIdentity.from_function(symbols_are_unique).unique_id >= _LEAST_ID


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    compiled = njit(nogil=True, **options)(function)
    if _CACHED and isinstance(compiled, Dispatcher):  # else: compilation is switched off (NUMBA_DISABLE_JIT)
        compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    return compiled


_LEAST_ID = 1 << 64  # a counter does not get there


def _random_ids() -> Iterator[int]:
    """Numbers that no other process draws, not even one forked from this process."""
    return iter(lambda: _LEAST_ID + secrets.randbits(64), None)


FunctionIdentity._unique_ids = _random_ids()  # type: ignore[assignment]
_CACHED = symbols_are_unique()  # without unique symbols, code must not be shared between processes

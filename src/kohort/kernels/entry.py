"""The machine code of a kernel: under names that are unique to the process, into a cache of our own.

numba numbers what it compiles, per process and from 1, and these numbers are part of the symbols in the
compiled code. Code cached by two processes may therefore define one symbol in two ways; a process that
loads both silently runs the first definition for both. Here every compilation gets a random number
instead.

numba would also make every kernel callable from Python, optimize it and turn it into machine code by itself,
although most are only ever called by other kernels. Here a kernel has two sides. Its entry is for Python. Its
part is for other kernels: neither wrapped nor cached, and linked into the entry that needs it, which is then
optimized as a whole (`kohort.kernels.linking`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.options import DefaultOptions
from numba.core.registry import CPUDispatcher

from kohort.kernels.kernel_cache import LEAST_NUMBER, KernelCache
from kohort.kernels.linking import compile_linked

_KNOWN = hasattr(DefaultOptions, "_nrt")


def entry_of(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The entry of a kernel; the function itself where compiling is switched off (NUMBA_DISABLE_JIT)."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    known = {name: value for name, value in options.items() if name != "_nrt" or _KNOWN}
    return Entry(function, {"nopython": True, "nogil": True, "boundscheck": None, **known})


class Entry(CPUDispatcher):
    """Compiles a kernel for the types that Python calls it with, or loads the machine code."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions={**options, "no_cfunc_wrapper": True})
        self._options = options
        compiler: Any = self._compiler  # type: ignore[attr-defined]
        compile_core = compiler._compile_core
        compiler._compile_core = lambda args, returned: compile_linked(
            self.targetctx, lambda: compile_core(args, returned)
        )
        if _CACHED:
            self._cache = KernelCache(function)

    @cached_property
    def part(self) -> Any:
        """The same function as other kernels call it."""
        options = {**self._options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return CPUDispatcher(self.py_func, targetoptions=options)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.part.get_overload(sig)

    @property
    def is_compiling(self) -> Any:
        """Whether either side is being compiled: then a call from inside is a recursive one."""
        return self._compiling_counter or self.part.is_compiling


def symbols_are_unique() -> bool:
    """Whether the next compilation gets one of our random numbers: numba does not promise to ask for one."""
    return FunctionIdentity.from_function(symbols_are_unique).unique_id >= LEAST_NUMBER


def _random_ids() -> Iterator[int]:
    """Numbers that no other process draws, not even one forked from this process."""
    return iter(lambda: LEAST_NUMBER + secrets.randbits(64), None)


FunctionIdentity._unique_ids = _random_ids()  # type: ignore[assignment]
_CACHED = symbols_are_unique()  # without unique symbols, code must not be shared between processes

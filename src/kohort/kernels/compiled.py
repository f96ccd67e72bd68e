"""Kernels: functions of arrays and numbers that numba compiles when they are first called.

Declaring a kernel costs next to nothing: numba itself is imported by the first call of any kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from threading import RLock
from typing import Any

_ENTRY_LOCK = RLock()


class Kernel:
    """A compiled function. Its parameters are passed by position.

    Called from Python it runs machine code of its own, its *entry*. Called from another kernel it is a part
    of that one: compiled into its machine code.

    py_func  the function as it is written, which runs without compiling
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.options = options
        self._entry: Any = None

    def __call__(self, *args: Any) -> Any:
        return (self._entry or self.entry)(*args)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__qualname__}>"

    @property
    def entry(self) -> Any:
        """What runs when Python calls: numba's dispatcher, or the function if compiling is switched off."""
        if self._entry is None:
            from kohort.kernels.entry import entry_of

            with _ENTRY_LOCK:  # two threads must not compile the same kernel twice
                if self._entry is None:
                    self._entry = entry_of(self.py_func, self.options)
        return self._entry

    @property
    def _numba_type_(self) -> Any:
        """The type of this kernel where another one calls it; numba asks for it by this name."""
        from numba.core.types import Dispatcher

        return Dispatcher(self.entry)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function of arrays and numbers; it runs without the interpreter's lock.

    Options of numba may be given: `@kernel(error_model="numpy")` divides by zero as NumPy does, so that loops
    with divisions are vectorized. Not `parallel`: numba's own threads do not survive a fork and load all of
    numba; work is shared out by `kohort.kernels.threads`.
    """
    if function is None:
        return partial(Kernel, **options)
    return Kernel(function, **options)


def lean(function: Callable[..., Any]) -> Any:
    """Compile without counting references to arrays, which takes longer than the work of a tiny kernel.

    The function must neither create arrays nor return any, and call lean ones alone, since what it calls is
    compiled as it is itself. Views cost nothing here. The option is private to numba, and worth it: without
    it, `improve` on 6,000 records of Adult takes 1.4 to 1.8 times the CPU seconds, to the same release.
    """
    return Kernel(function, _nrt=False)

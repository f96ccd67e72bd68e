"""Compile kernels that are called millions of times and allocate nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.options import DefaultOptions

__all__ = ["lean"]

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True}
if hasattr(DefaultOptions, "_nrt"):  # not a promise of numba, only faster
    _OPTIONS["_nrt"] = False


def lean(function: Callable[..., Any]) -> Any:
    """Compile without counting references to arrays, which takes longer than the work of a tiny kernel.

    The function must neither create arrays nor return any, and call lean ones alone, since what it calls is
    compiled as it is itself. Views cost nothing here.
    """
    return njit(**_OPTIONS)(function)

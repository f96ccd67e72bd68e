"""Packages that few commands need: loaded when something of them is first used, not when it is named."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["LateModule", "late_function"]


class LateModule:
    """A module that is loaded when something of it is first used.

    >>> decimal = LateModule("decimal")
    >>> decimal.Decimal("0.1")
    Decimal('0.1')
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def late_function(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is loaded when it is first called."""

    def call(*given: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*given, **named)

    return call

"""What few callers need is loaded when something of it is first used, not when it is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["LateModule", "late_function", "late_names", "nw", "pl"]


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


if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
else:
    nw, pl = LateModule("narwhals"), LateModule("polars")


def late_function(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is loaded when it is first called."""

    def call(*given: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*given, **named)

    return call


def late_names(package: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """The public names of a package, and its `__getattr__`, which imports each name when it is first used.

    homes  the names that each module has, with spaces between them; a module may be named itself

    Type checkers read the names in the stub of the package, `__init__.pyi`.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(home_of[name])
        value = home if home.__name__ == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(home_of), load

"""Keep packages that a command does not need from being loaded on the way.

PyArrow and scikit-learn load pandas, where it is installed, to find out whether a value came from there: a
quarter of a second at the start of every command, and no command has values of pandas.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any

__all__ = ["leave_pandas_out"]

_ASKING = ("kohort", "pyarrow", "sklearn")


def leave_pandas_out() -> None:
    """Let PyArrow and scikit-learn find no pandas from now on in this process; other packages still do."""
    if "pandas" not in sys.modules and not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == "pandas" and _asking() in _ASKING:
            raise ImportError("pandas is not needed here", name=name)


def _asking() -> str:
    """The package whose code caused an import. PyArrow's compiled code does not show: its caller does."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_globals.get("__name__", ""):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "").partition(".")[0]

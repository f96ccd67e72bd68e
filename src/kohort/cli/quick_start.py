"""Keep what a command does not need from taking its time.

PyArrow loads pandas, where it is installed, to find out whether a value came from there: a quarter of a
second at the start of every command, and no command has values of pandas. And while modules are loaded,
Python looks for garbage a hundred times over and finds none: a tenth of a second. NumPy's linear algebra
starts a thread per core that wait for work by turning in circles; no command has matrices worth a second
thread.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any

_ASKING = ("kohort", "pyarrow")
_NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Let Python look for garbage in cycles after 50,000 new objects instead of 700."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


def multiply_alone() -> None:
    """Let NumPy multiply matrices in one thread, unless the user says otherwise; before NumPy is loaded."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def leave_pandas_out() -> None:
    """Let PyArrow find no pandas from now on in this process; other packages still do."""
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

"""How a worker's Python behaves: Spark runs a task per core, so each keeps to one."""

from __future__ import annotations

import os
import sys

__all__ = ["one_thread"]


def one_thread() -> None:
    """Let compiled code run in one thread, unless NUMBA_NUM_THREADS says otherwise; before its first call."""
    if "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")

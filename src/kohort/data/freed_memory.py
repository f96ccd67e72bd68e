"""Memory that is free, but that allocators keep for later: large tables need it for other things."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def give_memory_back() -> None:
    """Give memory that is free back to the system, so that whoever needs it next can have it.

    Arrow keeps what it had for a batch, and the C library what lies between pieces that are still in use.
    """
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)

"""The process that Kohort runs in: whether it was forked, and memory that is given back."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kohort.errors import UnsupportedError

_TASKS = Path("/proc/self/task")  # Linux: a folder per thread of this process
_POLARS_THREAD = re.compile(r"polars-[0-9]+")
_WHAT_TO_DO = (
    "Start processes with multiprocessing.get_context('spawn') (or 'forkserver'), "
    "or do this in the process that was forked."
)


@dataclass
class _Threads:
    """Whether threads of Polars are running, noted right before a fork, and whether one has lost them."""

    running: bool = False
    lost: bool = False


_POLARS = _Threads()


def require_polars_threads(what: str) -> None:
    """Refuse, in a process that was forked after Polars had been used, what would wait for its threads."""
    if _POLARS.lost:
        raise UnsupportedError(
            f"{what} needs the threads of Polars, which this process lacks: it was forked from a process "
            f"that had used Polars. {_WHAT_TO_DO}"
        )


def _note_running() -> None:
    _POLARS.running = _POLARS.lost or _polars_is_running()


def _note_lost() -> None:
    _POLARS.lost = _POLARS.running


def _polars_is_running() -> bool:
    """Whether Polars has made its threads, which it does when it first needs them."""
    if "polars" not in sys.modules:
        return False
    try:
        names = [(task / "comm").read_text() for task in _TASKS.iterdir()]
    except OSError:  # another system, or a thread that has just ended: better refuse than hang
        return True
    return any(_POLARS_THREAD.match(name) for name in names)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_running, after_in_child=_note_lost)


def give_memory_back() -> None:
    """Give memory that is free back to the system, so that whoever needs it next can have it."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)

"""Whether there is enough memory on this machine to hold a table, and to anonymize it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kohort.errors import UnsupportedError, in_bytes

_MEMORY = Path("/proc/meminfo")
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNKNOWN = 1 << 33  # bytes, where the system does not say: 8 GiB


def available_memory() -> int:
    """The bytes of memory that this process may still use, as far as the system says."""
    return min([_free(), *_container_limits()])


def _free() -> int:
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in _MEMORY.read_text().splitlines() if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return _UNKNOWN


def _container_limits() -> list[int]:
    limits = []
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # no such limit: no file, or the word max
            limits.append(int(path.read_text()))
    return limits


# Whether there is enough memory on this machine to hold a table, and to anonymize it.


_SMALL = 1 << 29  # bytes: a table up to this size is held in memory
_SHARE = 8  # ... unless it would take more than one eighth of the memory that is available
_LEAST_PER_RECORD = 24  # bytes that solving, publishing and verifying take on top of codes, whoever solves it


def too_large_to_hold(size: int) -> str | None:
    """Why a table that would take `size` bytes is read in batches, part of a sentence; None: it is held."""
    most = min(_SMALL, available_memory() // _SHARE)
    return f"it would take about {in_bytes(size)} of memory" if size > most else None


def refuse_too_large(n_records: int) -> None:
    """Refuse a table at once for which there is not enough memory, before the system ends the process."""
    needed, free = n_records * _LEAST_PER_RECORD, available_memory()
    if needed > free:
        raise UnsupportedError(
            f"{n_records:,} records take at least another {in_bytes(needed)} of memory to anonymize in one "
            f"process, and {in_bytes(free)} are free. Choose engine: spark, which solves a table region by "
            "region and holds the rest on disk, also on one machine."
        )

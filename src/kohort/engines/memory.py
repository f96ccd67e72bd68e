"""How much memory there is for a table."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

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

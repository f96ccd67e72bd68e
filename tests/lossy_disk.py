"""A disk that takes all bytes of a file and keeps half of them, without a word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def losing_half(monkeypatch: pytest.MonkeyPatch, ending: str = "") -> None:
    """From now on, files whose names end so lose half of their bytes when they are flushed."""
    sync = os.fsync

    def lossy(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_file() and path.name.endswith(ending):
            os.truncate(path, os.fstat(descriptor).st_size // 2)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", lossy)

"""The folder for uploads and releases: private, removed at the end, and after a crash at the next start."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_PREFIX = "kohort-studio-"
_LOCK = "in-use"
_JUST_MADE = 60  # seconds


@contextmanager
def private_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder that only its owner may enter; folders that a crash left behind are removed first."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # mode 0700
    lock = (folder / _LOCK).open("w")
    try:
        _hold(lock)
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders of studios that ended without removing theirs; others' folders stay."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and _is_ours(folder) and not _is_held(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _hold(lock: IO[str]) -> None:
    """Hold a lock that ends with this process; where there is none, the open file itself is the lock."""
    try:
        import fcntl
    except ImportError:  # Windows: a file that is open cannot be removed
        return
    fcntl.flock(lock, fcntl.LOCK_EX)


def _is_held(folder: Path) -> bool:
    """Whether a studio that still runs uses the folder."""
    lock = folder / _LOCK
    try:
        import fcntl
    except ImportError:
        try:
            lock.unlink(missing_ok=True)
        except OSError:
            return True
        return False
    if not lock.exists():  # perhaps it is just being made
        return folder.stat().st_mtime > time.time() - _JUST_MADE
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False

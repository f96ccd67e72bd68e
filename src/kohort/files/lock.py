"""A lock that goes with a file: the system drops it when the process ends, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kohort.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def only_one(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock of a file; InputError with the text `busy` while another run holds it.

    Locked is a file beside it, since the file itself is replaced by another one under its name.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.kohort-lock")
    try:
        descriptor = _locked(beside)
    except OSError as error:
        raise InputError(
            f"{path} cannot be locked against another run: {error.strerror}. Keep it in a folder of your "
            "own, on a disk that can lock files."
        ) from None
    if descriptor is None:
        raise InputError(busy)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file: there it stays, empty
            beside.unlink()
        os.close(descriptor)


def _locked(path: Path) -> int | None:
    """The open file, locked; None where another process, or thread, has the lock."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            _lock(descriptor)
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(descriptor)):
                    return descriptor
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder removed it after we had opened it


def _lock(descriptor: int) -> None:
    """Lock an open file at once, or raise BlockingIOError or PermissionError, as the system does."""
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

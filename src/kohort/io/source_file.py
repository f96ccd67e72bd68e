"""Files that a run reads: opened once, with the SHA-256 of the very bytes that are read."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kohort.errors import InputError

__all__ = ["SourceFile", "opened", "read_once", "sha256_of"]

_OWN_FILES = Path("/proc/self/fd")  # Linux: a name for each file that this process has open


class SourceFile(type(Path())):  # type: ignore[misc]
    """The path of a file that is held open: its text is the user's path, and opening it opens that same file.

    Messages name the file as the user did. Readers, which want a path, get by `os.fspath` a name that still
    means the opened file when another one was put in its place.
    """

    where: str | None = None
    sha256: str = ""

    def __fspath__(self) -> str:
        return self.where or str(self)


@contextmanager
def opened(path: str | Path) -> Iterator[SourceFile]:
    """Hold a file open while it is read; afterwards refuse it if its bytes were changed meanwhile.

    `sha256` of what is yielded is therefore the hash of what was read, however often that was read.
    """
    source = SourceFile(path)
    with _open(path) as stream:
        source.where = _lasting_name(stream, path)
        before, source.sha256 = _state(stream), _digest(stream, path)
        yield source
        if (_state(stream), _digest(stream, path)) != (before, source.sha256) or not _is_at(source, stream):
            raise InputError(f"{path} was changed while it was read. Run this again once it is complete.")


def read_once(path: str | Path) -> tuple[bytes, str]:
    """All bytes of a small file, and their SHA-256. A file that cannot be read raises OSError."""
    content = Path(path).read_bytes()
    return content, hashlib.sha256(content).hexdigest()


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    with _open(path) as stream:
        return _digest(stream, path)


def _open(path: str | Path) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str | Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be read: {os.strerror(error.errno or errno.EIO)}.")


def _lasting_name(stream: BinaryIO, path: str | Path) -> str:
    """A name that means the opened file for as long as it is open, where the system has such names."""
    own = _OWN_FILES / str(stream.fileno())
    try:
        if os.path.samestat(own.stat(), os.fstat(stream.fileno())):
            return str(own)
    except OSError:
        pass
    return os.path.realpath(path)


def _state(stream: BinaryIO) -> tuple[int, int]:
    found = os.fstat(stream.fileno())
    return found.st_size, found.st_mtime_ns


def _digest(stream: BinaryIO, path: str | Path) -> str:
    digest = hashlib.sha256()
    try:
        stream.seek(0)
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    except OSError as error:
        raise _unreadable(path, error) from None
    return digest.hexdigest()


def _is_at(source: SourceFile, stream: BinaryIO) -> bool:
    """Whether the name that readers used still means the opened file."""
    try:
        return os.path.samestat(source.stat(), os.fstat(stream.fileno()))
    except OSError:  # there is no file of this name any more
        return False

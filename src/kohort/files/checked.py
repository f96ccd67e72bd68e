"""Write files whose bytes are known to have arrived: flushed to the disk, then read back and compared."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast


def write_checked(path: str | Path, content: str | bytes) -> None:
    """Write a whole file, text in UTF-8; raises OSError unless the file then holds just this."""
    with checked_stream(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def checked_stream(path: str | Path) -> Iterator[BinaryIO]:
    """A new file to write bytes to; raises OSError at the end unless the file holds all of them."""
    with Path(path).open("wb") as file:
        stream = _HashingStream(file)
        yield cast(BinaryIO, stream)
        file.flush()
        os.fsync(file.fileno())
    with Path(path).open("rb") as file:
        found = hashlib.sha256()
        while chunk := file.read(1 << 20):
            found.update(chunk)
    if found.digest() != stream.digest.digest():
        raise OSError(errno.EIO, "not all bytes arrived", str(path))


def folder_hash(hashes: Mapping[str, str]) -> str:
    """The hash of a folder: the SHA-256 of what `sha256sum` prints for its files, by their names.

    hashes  the SHA-256 of each file by its name

    >>> of_file = hashlib.sha256(b"").hexdigest()
    >>> folder_hash({"part-1": of_file}) == hashlib.sha256(f"{of_file}  part-1\\n".encode()).hexdigest()
    True
    """
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()


class _HashingStream(io.BufferedIOBase):
    """Hands bytes on to a file and hashes them. Closing it leaves the file open, to be flushed."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        with memoryview(data) as view:
            self.digest.update(view)
            self.file.write(view)
            return view.nbytes

    def tell(self) -> int:
        return self.file.tell()

"""Files that a run reads: opened once, with the SHA-256 of the very bytes that are read."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from kohort.errors import InputError, counted
from kohort.files.checked import checked_stream, folder_hash

_OWN_FILES = Path("/proc/self/fd")  # Linux: a name for each file that this process has open
_IN_MEMORY = 1 << 25  # bytes; files up to this size are read once and parsed from memory


class SourceFile(type(Path())):  # type: ignore[misc]
    """The path of a file that is held open: its text is the user's path, and opening it opens that same file.

    Messages name the file as the user did. Readers, which want a path, get by `os.fspath` a name that still
    means the opened file when another one was put in its place. Of a file that is parsed from memory,
    `content` holds the bytes.
    """

    where: str | None = None
    sha256: str = ""
    content: pa.Buffer | None = None

    def __fspath__(self) -> str:
        return self.where or str(self)


@contextmanager
def opened(path: str | Path, *, by_name: bool = False) -> Iterator[SourceFile]:
    """Hold a file open while it is read; afterwards refuse it if it was changed meanwhile.

    `sha256` of what is yielded is the hash of what was read. A small file is read once, into memory. A large
    one, and one whose reader opens it `by_name`, is read several times, so its bytes are compared at the end.
    """
    with _held(path) as (source, stream):
        before = _state(stream)
        if by_name or before[2] > _IN_MEMORY:
            source.sha256 = _digest(stream, path)
        else:
            with readable(path):
                source.content = in_arrow_memory(stream.read())
            source.sha256 = hashlib.sha256(source.content).hexdigest()
        yield source
        same = _state(stream) == before and _is_at(source, stream)
        if not same or (source.content is None and _digest(stream, path) != source.sha256):
            raise changed(path)


@dataclass(frozen=True)
class SourceState:
    """Which file a name meant when it was first read, and what was in it."""

    state: tuple[int, ...]
    sha256: str


def state_of(path: str | Path) -> SourceState:
    """The state of a file that will be read several times; its bytes are hashed now."""
    with _open(path) as stream:
        found = SourceState(_state(stream), _digest(stream, path))
        if _state(stream) != found.state:
            raise changed(path)
        return found


@contextmanager
def opened_again(path: str | Path, first: SourceState, *, compare: bool) -> Iterator[SourceFile]:
    """Hold a file open for another reading; refuse one that is not, or no longer, as it was at the first.

    compare  whether all bytes are compared at the end; else its place, size and time are
    """
    with _held(path) as (source, stream):
        source.sha256 = first.sha256

        def refuse_changed() -> None:
            if _state(stream) != first.state:
                raise changed(path)

        refuse_changed()
        try:
            yield source
        except Exception:
            refuse_changed()  # what went wrong may be due to that
            raise
        refuse_changed()
        if compare and _digest(stream, path) != first.sha256:
            raise changed(path)


def changed(path: str | Path) -> InputError:
    return InputError(f"{path} was changed while it was read. Run this again once it is complete.")


def bytes_of(path: str | Path, what: str) -> bytes:
    """All bytes of a small file; `what` names it in the error where it cannot be read, such as `The salt`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{what} {str(path)!r} cannot be read: {error.strerror}.") from None


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    with _open(path) as stream:
        return _digest(stream, path)


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Turn an error of the system about this file or folder into an InputError."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise InputError(f"{path} cannot be read: {reason}.") from None


@contextmanager
def _held(path: str | Path) -> Iterator[tuple[SourceFile, BinaryIO]]:
    source = SourceFile(path)
    with _open(path) as stream:
        source.where = _lasting_name(stream, path)
        yield source, stream


def _open(path: str | Path) -> BinaryIO:
    with readable(path):
        return Path(path).open("rb")


def _lasting_name(stream: BinaryIO, path: str | Path) -> str:
    """A name that means the opened file for as long as it is open, where the system has such names."""
    own = _OWN_FILES / str(stream.fileno())
    with suppress(OSError):
        if os.path.samestat(own.stat(), os.fstat(stream.fileno())):
            return str(own)
    return os.path.realpath(path)


def _state(file: BinaryIO | Path) -> tuple[int, ...]:
    """The place of a file on the disk, its size and the time of its last change."""
    found = file.stat() if isinstance(file, Path) else os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def in_arrow_memory(content: bytes) -> pa.Buffer:
    """A copy of the bytes in Arrow's own memory, for its readers.

    Their threads free what they have read, perhaps after an error and while the process ends. Memory of
    Python's needs the interpreter for that, and a thread that waits for one that ends aborts the process.
    """
    buffer = pa.allocate_buffer(len(content))
    memoryview(buffer).cast("B")[:] = content
    return buffer


def _digest(stream: BinaryIO, path: str | Path) -> str:
    digest = hashlib.sha256()
    with readable(path):
        stream.seek(0)
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _is_at(source: SourceFile, stream: BinaryIO) -> bool:
    """Whether the name that readers used still means the opened file."""
    try:
        return os.path.samestat(source.stat(), os.fstat(stream.fileno()))
    except OSError:  # there is no file of this name any more
        return False


COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
GZIP_LEVEL = 5
_COMPRESSED_TEXT = 6  # bytes of text per byte of a compressed file
DAMAGED = (OSError, EOFError, lzma.LZMAError)
"""What reading a broken compressed file raises."""


def plain_suffix(path: Path) -> str:
    """The extension of what is inside: `.csv` for data.csv.gz."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSIONS else suffix


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, decompressed if its extension says so; those of a SourceFile may be in memory.

    A stream of Arrow's own: its readers run ahead in threads, which abort a process that ends while one of
    them waits for a stream of Python's.
    """
    compression = COMPRESSIONS.get(path.suffix.lower())
    content = path.content if isinstance(path, SourceFile) else None
    if compression == "xz":  # the one that Arrow does not know
        with lzma.open(path if content is None else io.BytesIO(content), "rb") as stream:
            return cast(BinaryIO, pa.BufferReader(in_arrow_memory(stream.read())))
    source = os.fspath(path) if content is None else pa.BufferReader(content)
    return cast(BinaryIO, pa.input_stream(source, compression=compression))


def text_size(path: Path) -> int:
    """About how many bytes of text a file holds, which may be compressed."""
    return path.stat().st_size * (_COMPRESSED_TEXT if path.suffix.lower() in COMPRESSIONS else 1)


def is_blank(path: Path) -> bool:
    """Whether a file, decompressed, holds nothing but white space."""
    with open_bytes(path) as stream:
        while chunk := stream.read(1 << 16):
            if chunk.strip():
                return False
    return True


@contextmanager
def create_bytes(path: Path) -> Iterator[BinaryIO]:
    """A new file to write bytes to, compressed if its extension says so; see `checked_stream`."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    with checked_stream(path) as file:
        if compression is None:
            yield file
            return
        with _compressor(file, compression) as stream:
            yield cast(BinaryIO, stream)


def _compressor(file: BinaryIO, compression: str) -> AbstractContextManager[Any]:
    if compression == "xz":
        return lzma.open(file, "wb")
    if compression == "gzip":  # no name and no time in the file; level 9 takes three times as long
        return gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)
    return pa.CompressedOutputStream(file, compression)


_NOT_PRINTED_AS_THEY_ARE = "\\\n\r"  # signs for which sha256sum prints something else


@dataclass(frozen=True)
class Files:
    """The files that are one table: a single one, or those of a folder in the order of their names.

    In a folder, names that begin with a dot or an underscore are left out: Spark and others keep their own
    files there.

    files   by name, compared byte by byte
    states  for each file of a folder its place on the disk, its size and the time of its last change
    """

    path: Path
    files: tuple[Path, ...]
    states: tuple[tuple[int, ...], ...]

    @classmethod
    def at(cls, path: str | Path) -> Files:
        """A file, or those of a folder; refused where it has none, or where others lie between them."""
        path = Path(path)
        if not path.is_dir():
            _refuse_empty(path)
            return cls(path, (path,), ())
        files = _files_in(path)
        if not files:
            raise InputError(
                f"{path} is a folder without files. Names that begin with '.' or '_' are left out."
            )
        return cls(path, files, _states(files))

    @property
    def is_folder(self) -> bool:
        return bool(self.states)

    @property
    def largest(self) -> Path:
        """The file with most bytes, the first of them: the one that shows how all are laid out."""
        return max(zip(self.files, self.states), key=lambda pair: pair[1][2])[0] if self.states else self.path

    @property
    def notes(self) -> tuple[str, ...]:
        """What the hash of a folder is, for those who compare it with a certificate."""
        if not self.is_folder:
            return ()
        return (
            f"The table was read from a folder of {counted(len(self.files), 'file')}. Its hash is the "
            "SHA-256 of what `sha256sum` prints for them in that folder, in the order of their names.",
        )

    def sha256(self, hashes: Mapping[Path, str]) -> str:
        """The hash of the table, by those of its files; see `folder_hash`."""
        by_name = {file.name: sha256 for file, sha256 in hashes.items()}
        return folder_hash(by_name) if self.is_folder else hashes[self.path]

    def refuse_changed(self) -> None:
        """Refuse a folder with other files, or with files that were changed since it was first looked at."""
        if self.is_folder and (_files_in(self.path) != self.files or _states(self.files) != self.states):
            raise changed(self.path)


def _states(files: Iterable[Path]) -> tuple[tuple[int, ...], ...]:
    states = []
    for file in files:
        with readable(file):
            states.append(_state(file))
    return tuple(states)


def _refuse_empty(path: Path) -> None:
    """Refuse a path that does not exist, and an empty file."""
    if not path.exists():
        beside: list[str] = []
        with suppress(OSError):
            beside = sorted(other.name for other in path.parent.iterdir())
        close = get_close_matches(path.name, beside, n=1, cutoff=0.75)
        raise InputError(f"{path} does not exist." + (f" Did you mean {close[0]!r}?" if close else ""))
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes).")


def sha256_of_source(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, or the hash of a folder; see `folder_hash`."""
    if not Path(path).is_dir():
        return sha256_of(path)
    files = Files.at(path)
    found = files.sha256({file: sha256_of(file) for file in files.files})
    files.refuse_changed()
    return found


def _files_in(folder: Path) -> tuple[Path, ...]:
    with readable(folder):
        found = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    for path in found:
        column, is_partition, _ = path.name.partition("=")
        if path.is_dir() and is_partition:  # what follows is a value of the data
            raise InputError(
                f"{folder} is divided into folders by the values of {column!r}: {column}=... Folders of "
                f"folders are not read, and the values of {column!r} are in none of the files. Write the "
                "table into one folder."
            )
        if path.is_dir():
            raise InputError(
                f"{folder} has folders in it, such as {path.name!r}. Name one with nothing but files."
            )
        if not path.is_file():
            raise InputError(f"{folder} has something in it that is not a regular file: {path.name!r}.")
        if any(sign in path.name for sign in _NOT_PRINTED_AS_THEY_ARE):
            raise InputError(f"{folder}: the name of a file has a backslash or a line end in it. Rename it.")
    return tuple(sorted(found, key=lambda path: path.name))

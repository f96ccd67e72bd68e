"""The files of a table: a single one, or those of a folder, as Spark and others write them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kohort.errors import InputError, counted
from kohort.io.source_file import readable, sha256_of

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
        return cls(path, files, tuple(map(_state, files)))

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
        """Refuse a folder with other files, or with files that were changed since it was first looked at.

        A single file is held open while it is read, and refused there.
        """
        if not self.is_folder:
            return
        if _files_in(self.path) != self.files or tuple(map(_state, self.files)) != self.states:
            raise InputError(
                f"{self.path} was changed while it was read. Run this again once it is complete."
            )


def _refuse_empty(path: Path) -> None:
    """Refuse a path that does not exist, and an empty file."""
    if not path.exists():
        close = get_close_matches(path.name, _names_beside(path), n=1, cutoff=0.75)
        raise InputError(f"{path} does not exist." + (f" Did you mean {close[0]!r}?" if close else ""))
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes).")


def _names_beside(path: Path) -> list[str]:
    try:
        return sorted(other.name for other in path.parent.iterdir())
    except OSError:
        return []


def folder_hash(hashes: Mapping[str, str]) -> str:
    """The hash of a folder: the SHA-256 of what `sha256sum` prints for its files, by their names.

    hashes  the SHA-256 of each file by its name

    >>> import hashlib
    >>> of_file = hashlib.sha256(b"").hexdigest()
    >>> folder_hash({"part-1": of_file}) == hashlib.sha256(f"{of_file}  part-1\\n".encode()).hexdigest()
    True
    """
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()


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
        _refuse_other_than_file(folder, path)
    return tuple(sorted(found, key=lambda path: path.name))


def _refuse_other_than_file(folder: Path, path: Path) -> None:
    column, is_partition, _ = path.name.partition("=")
    if path.is_dir() and is_partition:  # what follows is a value of the data
        raise InputError(
            f"{folder} is divided into folders by the values of {column!r}: {column}=... Folders of folders "
            f"are not read, and the values of {column!r} are in none of the files. Write the table into one "
            "folder."
        )
    if path.is_dir():
        raise InputError(
            f"{folder} has folders in it, such as {path.name!r}. Name one with nothing but files."
        )
    if not path.is_file():
        raise InputError(f"{folder} has something in it that is not a regular file: {path.name!r}.")
    if any(sign in path.name for sign in _NOT_PRINTED_AS_THEY_ARE):
        raise InputError(f"{folder}: the name of a file has a backslash or a line end in it. Rename it.")


def _state(file: Path) -> tuple[int, ...]:
    with readable(file):
        found = file.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

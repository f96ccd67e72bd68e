"""Drafts: hidden files beside their targets, for their owner's eyes only, that outlive no run.

A run keeps one locked file in every folder that it has drafts in. The system drops the lock when the process
ends, however it ends. A lock that can be taken therefore says that the drafts which go with it are left over
from a run that was killed: the next run that writes to the folder removes them, or completes that run by its
journal.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: there it cannot be known whose drafts are left over, so none is removed
    fcntl = None  # type: ignore[assignment]

_LOCK = re.compile(r"\.kohort-([0-9a-f]{12})\.lock")
_DRAFT_OF_0_1 = re.compile(r"\.kohort-[0-9a-f]{12}(\..*)?")  # version 0.1.0 had no locks
_A_DAY = 86_400.0  # seconds after which a draft of version 0.1.0 is taken to be left over


class Drafts:
    """The drafts of one run in one folder; `close` removes those that were not renamed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token, self._lock = _locked_token(folder)
        self._names: list[Path] = []

    def new_name(self, ending: str = "") -> Path:
        """A name that no other file has, which ends like the target's: some writers look at that."""
        self._names.append(self.folder / f".kohort-{self.token}-{len(self._names)}{ending}")
        return self._names[-1]

    def create(self, ending: str = "") -> Path:
        """An empty draft that only its owner can read: it may hold data that is not yet judged."""
        path = self.new_name(ending)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return path

    def journal(self) -> Path:
        """The name of the journal that goes with these drafts; see `kohort.files.drafts`."""
        self._names += [_journal_path(self.folder, self.token)]
        return self._names[-1]

    def close(self) -> None:
        for path in (*self._names, _lock_path(self.folder, self.token)):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(self._lock)


@dataclass(frozen=True)
class FolderTraits:
    """How new files in a folder are: their usual permissions, and whether `A` and `a` are one file."""

    usual_mode: int
    ignores_case: bool


def probe_folder(folder: Path) -> FolderTraits:
    """The traits of a folder, found by making and removing an empty file; OSError if that is impossible."""
    path = folder / f".kohort-{secrets.token_hex(6)}"
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        return FolderTraits(mode, path.with_name(path.name.upper()).exists())
    finally:
        os.close(descriptor)
        with suppress(OSError):
            path.unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the drafts in a folder whose runs have ended. Those of running processes are left alone.

    A run that was killed while it replaced several files is completed first.
    """
    if fcntl is None:
        return
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if found := _LOCK.fullmatch(path.name):
                _remove_if_ended(folder, found[1])
            elif _DRAFT_OF_0_1.fullmatch(path.name):
                _remove_if_old(path)


def _lock_path(folder: Path, token: str) -> Path:
    return folder / f".kohort-{token}.lock"


def _journal_path(folder: Path, token: str) -> Path:
    return folder / f".kohort-{token}-journal"


def _locked_token(folder: Path) -> tuple[str, int]:
    """A new token, and the open file whose lock says that its owner is running."""
    while True:
        token = secrets.token_hex(6)
        path = _lock_path(folder, token)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        if _lock(descriptor) is not False and path.exists():
            return token, descriptor
        os.close(descriptor)  # another run took it for left over, before it was locked


def _lock(descriptor: int) -> bool | None:
    """Lock a file: True if that worked, False if another process has it, None if files cannot be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks
        return None
    return True


def _remove_if_ended(folder: Path, token: str) -> None:
    """Remove the drafts of a run if its lock can be taken; the locked file goes last."""
    path = _lock_path(folder, token)
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            if _is_own(os.fstat(descriptor)) and _lock(descriptor):
                complete_journal(_journal_path(folder, token))
                for draft in folder.glob(f".kohort-{token}-*"):
                    draft.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _remove_if_old(path: Path) -> None:
    with suppress(OSError):
        found = path.lstat()
        if _is_own(found) and time.time() - found.st_mtime > _A_DAY:
            path.unlink(missing_ok=True)


def _is_own(found: os.stat_result) -> bool:
    """Whether it is a plain file of the same user: nobody else's is removed."""
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


# The journal of a run that replaces several files: after a kill, the next run completes or undoes it.
#
# Renames are atomic one by one, not together. So before the first one, all of them are written down, in a
# file beside the drafts that counts from the moment it has its name. Where a run was killed after that,
# whoever next looks into one of the folders makes the renames that are missing; before it, the drafts are
# removed, and everything is as it was.
#
# Where a commit in a database comes after the renames, it is the other way round: until the commit has
# succeeded the journal says how the old files are put back, and then it goes.
def begin_journal(journals: Sequence[Path], drafts: Iterable[Path], targets: Iterable[Path]) -> Path:
    """Write the renames down, in a journal for every folder; returns the one that counts, written last."""
    renames = [[str(draft), str(target)] for draft, target in zip(drafts, targets)]
    return _begin(journals, {"renames": renames})


def begin_undo_journal(
    journals: Sequence[Path],
    drafts: Iterable[Path],
    targets: Iterable[Path],
    old_files: Iterable[Path | None],
) -> Path | None:
    """Write down how renames are undone, in a journal for every folder; returns the one that counts.

    old_files  another name of each file that is replaced; None where there is none

    What is put back takes the place of the draft alone, not of a file that somebody else put there since.
    Without journals, since no file is written, None is returned.
    """
    if not journals:
        return None
    undo = [
        [str(target), None if old is None else str(old), *_place(draft)]
        for draft, target, old in zip(drafts, targets, old_files)
    ]
    return _begin(journals, {"undo": undo})


def _begin(journals: Sequence[Path], content: dict[str, Any]) -> Path:
    first, *others = journals
    for path in others:
        _write(path, {"counts": str(first)})
    _write(first, {"counts": str(first), **content})
    return first


def complete_journal(journal: Path) -> None:
    """Make the renames that a run was killed before it could make, or undo them if it had yet to commit."""
    with suppress(OSError, ValueError, KeyError):
        counting = Path(_read(journal)["counts"])
        found = _read(counting)
        for draft, target in found.get("renames", ()):
            with suppress(FileNotFoundError):  # it was renamed already
                Path(draft).replace(target)
        for target, old, *place in found.get("undo", ()):
            with suppress(FileNotFoundError):  # it was put back already
                if list(_place(Path(target))) == place:
                    put_back(Path(target), None if old is None else Path(old))
        counting.unlink(missing_ok=True)


def put_back(target: Path, old: Path | None) -> None:
    """Undo one rename."""
    if old is not None:
        old.replace(target)
    else:
        target.unlink(missing_ok=True)


def _place(path: Path) -> tuple[int, int]:
    """Which file it is, whatever it is called."""
    found = path.lstat()
    return found.st_dev, found.st_ino


def _read(path: Path) -> Any:
    """What a journal says; raises OSError unless it is a plain file that nobody else can have written."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise PermissionError(f"{path} is not this user's own.")
        return json.load(file)


def _write(path: Path, content: object) -> None:
    """Write a journal under another name first: half of one must never count."""
    unready = path.with_name(path.name + "-unready")
    descriptor = os.open(unready, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    unready.replace(path)

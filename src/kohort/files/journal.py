"""The journal of a run that replaces several files: after a kill, the next run completes or undoes it.

Renames are atomic one by one, not together. So before the first one, all of them are written down, in a file
beside the drafts that counts from the moment it has its name. Where a run was killed after that, whoever
next looks into one of the folders makes the renames that are missing; before it, the drafts are removed, and
everything is as it was.

Where a commit in a database comes after the renames, it is the other way round: until the commit has
succeeded the journal says how the old files are put back, and then it goes.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


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
    """Make the renames that a run was killed before it could make, or undo them if it had yet to commit.

    Nothing is done if none was begun.
    """
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

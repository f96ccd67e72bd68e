"""The journal of a run that replaces several files: after a kill, the next run completes what was begun.

Renames are atomic one by one, not together. So before the first one, all of them are written down, in a file
beside the drafts that counts from the moment it has its name. Where a run was killed after that, whoever
next looks into one of the folders makes the renames that are missing; before it, the drafts are removed, and
everything is as it was.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["begin_journal", "complete_journal"]


def begin_journal(journals: Sequence[Path], drafts: Iterable[Path], targets: Iterable[Path]) -> Path | None:
    """Write the renames down, in a journal for every folder; returns the one that counts, written last.

    Without journals nothing is written down, and None is returned.
    """
    if not journals:
        return None
    first, *others = journals
    renames = [[str(draft), str(target)] for draft, target in zip(drafts, targets)]
    for path in others:
        _write(path, {"counts": str(first)})
    _write(first, {"counts": str(first), "renames": renames})
    return first


def complete_journal(journal: Path) -> None:
    """Make the renames that a run was killed before it could make. Nothing, if none was begun."""
    with suppress(OSError, ValueError, KeyError):
        counting = Path(_read(journal)["counts"])
        for draft, target in _read(counting)["renames"]:
            with suppress(FileNotFoundError):  # it was renamed already
                Path(draft).replace(target)
        counting.unlink(missing_ok=True)


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

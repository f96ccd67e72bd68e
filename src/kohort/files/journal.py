"""The journal of a run that replaces several files: after a kill, the next run completes what was begun.

Renames are atomic one by one, not together. So before the first one, all of them are written down, in a file
beside the drafts that counts from the moment it has its name. Where a run was killed after that, whoever
next looks into one of the folders makes the renames that are missing; before it, the drafts are removed, and
everything is as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["begin_journal", "complete_journal"]


def begin_journal(journals: Iterable[Path], drafts: Iterable[Path], targets: Iterable[Path]) -> Path:
    """Write the renames down, in a journal for every folder; returns the one that counts, written last."""
    first, *others = journals
    renames = [[str(draft), str(target)] for draft, target in zip(drafts, targets)]
    for path in others:
        _write(path, {"counts": str(first)})
    _write(first, {"counts": str(first), "renames": renames})
    return first


def complete_journal(journal: Path) -> None:
    """Make the renames that a run was killed before it could make. Nothing, if none was begun."""
    with suppress(OSError, ValueError, KeyError):
        counting = Path(json.loads(journal.read_text(encoding="utf-8"))["counts"])
        for draft, target in json.loads(counting.read_text(encoding="utf-8"))["renames"]:
            with suppress(FileNotFoundError):  # it was renamed already
                Path(draft).replace(target)
        counting.unlink(missing_ok=True)


def _write(path: Path, content: object) -> None:
    """Write a journal under another name first: half of one must never count."""
    unready = path.with_name(path.name + "-unready")
    with unready.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    unready.replace(path)

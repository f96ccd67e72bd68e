"""Outputs appear whole or not at all: written beside their target, then renamed over it."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kohort.errors import InputError

__all__ = ["check_targets", "replacing", "replacing_all"]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path`.

    On any exception, Ctrl-C included, the temporary file is removed and the old file, if there
    was one, stays as it was. The temporary name ends like the target's, so that writers that
    look at the extension work.
    """
    with replacing_all([path]) as drafts:
        yield drafts[0]


@contextmanager
def replacing_all(paths: Sequence[str | Path]) -> Iterator[list[Path]]:
    """`replacing` for outputs that belong together: all are renamed, or none is."""
    targets = check_targets(paths)
    drafts: list[Path] = []
    try:
        for target in targets:
            drafts.append(_draft_path(target))
            _create(drafts[-1], like=target)
        yield list(drafts)
        for draft in drafts:
            _flush(draft)
        _rename_all(drafts, targets)
    except OSError as error:
        raise InputError(_what_failed(error, drafts, targets)) from None
    finally:
        for draft in drafts:
            _remove(draft)


def check_targets(paths: Sequence[str | Path]) -> list[Path]:
    """The files that outputs stand for, refused if they cannot be written: best asked before long work."""
    targets = [_checked_target(Path(path)) for path in paths]
    _refuse_twins(targets)
    return targets


def _checked_target(path: Path) -> Path:
    """The file that `path` stands for (links followed), refused if it cannot be replaced."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"The output {path} is a folder. Give the name of a file.")
    if not target.parent.is_dir():
        raise InputError(f"The folder {target.parent} does not exist. Create it, or choose another output.")
    if target.exists() and not target.is_file():
        raise InputError(
            f"The output {path} is not a regular file, so it cannot be replaced. Choose another."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"The output {path} is write-protected. Make it writable, or choose another.")
    return target


def _refuse_twins(targets: list[Path]) -> None:
    """Two outputs with one name: the second would silently replace the first."""
    twins = {str(target) for target in targets if targets.count(target) > 1}
    if twins:
        raise InputError(f"Several outputs have the same name: {', '.join(sorted(twins))}.")


def _draft_path(target: Path) -> Path:
    """A hidden name in the same folder (a rename across folders may be a copy)."""
    return target.with_name(f".kohort-{secrets.token_hex(6)}{''.join(target.suffixes[-2:])}")


def _create(draft: Path, *, like: Path) -> None:
    """Create `draft`, with the permissions of the file that it will replace.

    A release that only its owner could read must not become readable by all.
    """
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    if like.exists():
        draft.chmod(stat.S_IMODE(like.stat().st_mode))


def _flush(draft: Path) -> None:
    """Have the bytes on the disk before the name: a crash must not leave an empty release."""
    with draft.open("rb+") as file:
        os.fsync(file.fileno())


def _rename_all(drafts: list[Path], targets: list[Path]) -> None:
    """Rename every draft over its target; if one rename fails, put the old files back."""
    if len(drafts) == 1:
        drafts[0].replace(targets[0])
        return
    with _old_files(targets) as old_files:
        try:
            for draft, target in zip(drafts, targets):
                draft.replace(target)
        except BaseException:
            for target, old in zip(targets, old_files):
                _put_back(target, old)
            raise


@contextmanager
def _old_files(targets: list[Path]) -> Iterator[list[Path | None]]:
    """Second names for the files that are about to be replaced; None for a new one."""
    kept = [_draft_path(target) if target.exists() else None for target in targets]
    try:
        for target, old in zip(targets, kept):
            if old is not None:
                _link_or_copy(target, old)
        yield kept
    finally:
        for old in filter(None, kept):
            _remove(old)


def _link_or_copy(source: Path, name: Path) -> None:
    try:
        os.link(source, name)
    except OSError:  # a disk without hard links
        shutil.copy2(source, name)


def _put_back(target: Path, old: Path | None) -> None:
    """Undo one rename; does nothing to a target that was not renamed yet."""
    with suppress(OSError):
        if old is not None:
            old.replace(target)
        else:
            target.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _what_failed(error: OSError, drafts: list[Path], targets: list[Path]) -> str:
    """The message of a failed write: the user's name for the file, the system's for the reason.

    The text of the error is not shown: libraries put what they were writing into it.
    """
    names = {str(draft): str(target) for draft, target in zip(drafts, targets)}
    where = names.get(str(error.filename), str(error.filename or ", ".join(map(str, targets))))
    reason = os.strerror(error.errno) if error.errno else "the system refused"
    return f"Could not write {where}: {reason}. Nothing was changed. Check the folder and its space."

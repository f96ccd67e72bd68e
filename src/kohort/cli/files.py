"""The files that commands read and write: what may be replaced, and commands to copy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from kohort.errors import InputError

__all__ = ["command_to_copy", "refuse_overwriting"]


def command_to_copy(*words: str | Path, **given: str | float | None) -> str:
    """A command as it is typed, with the options that were given."""
    options = [(f"--{name}", str(value)) for name, value in given.items() if value is not None]
    return shlex.join(["kohort", *map(str, words), *(word for option in options for word in option)])


def refuse_overwriting(out: Path, *, sources: Sequence[Path | None], force: bool) -> None:
    """Refuse to replace what is read, ever, and a file that somebody may have edited, unless forced."""
    if not out.exists():
        return
    if any(source is not None and source.exists() and out.samefile(source) for source in sources):
        raise InputError(f"{out} is what is read. Choose another output.")
    if out.is_file() and not force:
        raise InputError(f"{out} is there already. Choose another output, or replace it with --force.")

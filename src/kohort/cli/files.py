"""Commands to copy."""

from __future__ import annotations

import shlex
from pathlib import Path

__all__ = ["command_to_copy"]


def command_to_copy(*words: str | Path, **given: str | float | None) -> str:
    """A command as it is typed, with the options that were given."""
    options = [(f"--{name}", str(value)) for name, value in given.items() if value is not None]
    return shlex.join(["kohort", *map(str, words), *(word for option in options for word in option)])

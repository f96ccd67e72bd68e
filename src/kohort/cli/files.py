"""Commands that a user can copy from the terminal."""

from __future__ import annotations

import shlex
from pathlib import Path


def command_to_copy(*words: str | Path, **given: str | float | bool | None) -> str:
    """A command as it is typed, with the options that were given."""
    options = [_typed(name, value) for name, value in given.items() if value is not None]
    return shlex.join(["kohort", *map(str, words), *(word for option in options for word in option)])


def _typed(name: str, value: str | float | bool) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]

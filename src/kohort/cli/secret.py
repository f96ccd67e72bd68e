"""The secret that pseudonyms are made with."""

from __future__ import annotations

import os
from pathlib import Path

from kohort.errors import InputError


def secret_key(key_file: Path | None) -> bytes | None:
    """The key of the file, else of the environment variable KOHORT_KEY, else none."""
    if key_file is not None:
        try:
            return key_file.read_bytes().strip()
        except OSError as error:
            raise InputError(f"The key file {str(key_file)!r} cannot be read: {error.strerror}.") from None
    value = os.environ.get("KOHORT_KEY")
    return value.encode() if value else None

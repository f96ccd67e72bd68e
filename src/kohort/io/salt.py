"""Salt files: 64 hexadecimal digits that only the steward may read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from kohort.errors import InputError
from kohort.files.checked import write_checked
from kohort.pipeline.commitment import SALT_BYTES, new_salt

_HEX = re.compile(rf"[0-9a-fA-F]{{{2 * SALT_BYTES}}}")


@dataclass(frozen=True)
class Salt:
    """The salt of a commitment: read from a file, or new and still to be written to one; or none."""

    value: bytes | None = field(default=None, repr=False)
    read_from: Path | None = None
    new_file: Path | None = None


NO_SALT = Salt()


def salt_for(path: Path | None) -> Salt:
    """The salt of this file or, where there is no such file, a new one for it."""
    if path is None:
        return NO_SALT
    if path.exists():
        return Salt(read_salt(path), read_from=path)
    return Salt(new_salt(), new_file=path)


def read_salt(path: str | Path) -> bytes:
    """The salt of a commitment; the file's content is never shown."""
    try:
        text = Path(path).read_bytes().strip().decode("ascii", errors="replace")
    except OSError as error:
        raise InputError(f"The salt {str(path)!r} cannot be read: {error.strerror}.") from None
    if not _HEX.fullmatch(text):
        raise InputError(
            f"{str(path)!r} does not hold a salt, which has {2 * SALT_BYTES} hexadecimal digits. Name "
            "another file: "
            "'kohort anonymize --salt' writes a new one where there is none."
        )
    return bytes.fromhex(text)


def write_salt(salt: Salt, path: Path) -> None:
    """Write a salt straight to `path`, a private draft: see `Outputs.private`."""
    assert salt.value is not None
    write_checked(path, salt.value.hex().encode("ascii") + b"\n")

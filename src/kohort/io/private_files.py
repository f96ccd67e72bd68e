"""Files that only the steward may read: the salt of a commitment, and which original each record is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kohort.errors import InputError
from kohort.files.checked import write_checked
from kohort.io.json_text import decode_json
from kohort.io.source_file import bytes_of
from kohort.job.public import SALT_BYTES, new_salt
from kohort.version import __version__

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
    text = bytes_of(path, "The salt").strip().decode("ascii", errors="replace")
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


_OWNER_ONLY = 0o600


def write_order(rows: np.ndarray, path: str | Path) -> None:
    """Write the numbers of the originals, from 1 on, straight to `path`, which only its owner may read."""
    path = Path(path)
    path.touch(mode=_OWNER_ONLY)
    path.chmod(_OWNER_ONLY)
    facts = {"kohort": "order", "version": __version__, "original_records": (rows + 1).tolist()}
    write_checked(path, json.dumps(facts) + "\n")


def read_order(path: str | Path) -> np.ndarray:
    """The number of the original of each published record, counted from 0."""
    content = bytes_of(path, "The order file")
    try:
        facts = decode_json(content, name=Path(path).name)
        if facts["kohort"] != "order" or not all(type(row) is int for row in facts["original_records"]):
            raise ValueError
        return np.array(facts["original_records"], dtype=np.int64) - 1
    except (InputError, ValueError, TypeError, KeyError, OverflowError):
        raise InputError(
            f"{str(path)!r} is not an order file. 'kohort anonymize --order-file' writes one."
        ) from None

"""A commitment to the original file: those who hold the salt can check the file, others cannot test guesses.

With the plain SHA-256 of a table, anybody can test a guess of the whole table. Where its release is public,
little is left to guess. So the plain hash stays in internal documents.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

SALT_BYTES = 32


def new_salt() -> bytes:
    """A random secret of 256 bits."""
    return secrets.token_bytes(SALT_BYTES)


def commitment_to(sha256: str, salt: bytes) -> str:
    """HMAC-SHA-256, keyed with the salt, of a file's SHA-256 as 64 hexadecimal digits.

    >>> commitment_to("0" * 64, bytes(32))[:16]
    '013e60350b8e6efb'
    """
    return hmac.new(salt, sha256.encode("ascii"), hashlib.sha256).hexdigest()


def sha256_of_files(first: str, second: str | None) -> str:
    """One SHA-256 for an original: that of its file or, of two files, that of both with a space between them.

    >>> sha256_of_files("0" * 64, None) == "0" * 64
    True
    """
    if second is None:
        return first
    return hashlib.sha256(f"{first} {second}".encode("ascii")).hexdigest()


def committed(sha256: Mapping[str, str | None] | None, salt: bytes | None) -> dict[str, Any]:
    """The facts about files that may be public: the hashes of the output, and a commitment to the input.

    >>> committed({"input": "0" * 64, "output": "f" * 64}, None)["sha256"]["input"] is None
    True
    """
    files = sha256 or {}
    original = files.get("input")
    commitment = None if salt is None or original is None else commitment_to(original, salt)
    published = {"input": None, "output": files.get("output")}
    if "events" in files:
        published["events"] = files["events"]
    return {"sha256": published, "commitment": commitment}

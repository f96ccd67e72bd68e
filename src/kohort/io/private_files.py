"""Files of the steward: the salt of a commitment, which original each record is, keys and signatures."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.files.checked import write_checked
from kohort.io.json_text import read_document
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
            "another file: 'kohort anonymize --salt' writes a new one where there is none."
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


class _Order(BaseModel):
    kohort: Literal["order"]
    original_records: list[Annotated[int, Field(strict=True, ge=0, lt=2**63)]]


def read_order(path: str | Path) -> np.ndarray:
    """The number of the original of each published record, counted from 0."""
    order, _ = read_document(path, _Order, "an order file", "'kohort anonymize --order-file' writes one.")
    return np.array(order.original_records, dtype=np.int64) - 1


# Signatures of certificates: Ed25519, by the cryptography package, over the very bytes of the file.
#
# The signature is a file of its own beside the certificate, 64 bytes, as openssl reads and writes them.
# Nothing is reformatted before it is signed, so there is nothing to get wrong: changing one byte breaks it.
PASSWORD = "KOHORT_SIGN_PASSWORD"


def signature_path(certificate: str | Path) -> Path:
    """The path of a certificate's signature: its name and `.sig`."""
    return Path(f"{certificate}.sig")


def sign_file(file: str | Path, signature: str | Path, key: Any) -> None:
    """Write the signature of a file."""
    write_checked(signature, key.sign(Path(file).read_bytes()))


def is_signed_by(content: bytes, signature: str | Path, key: Any) -> bool:
    """Whether the signature is of a file with these bytes and by the owner of this public key."""
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(bytes_of(signature, "The signature"), content)
    except InvalidSignature:
        return False
    return True


def read_private_key(path: str | Path) -> Any:
    """An Ed25519 private key in PEM; where it has a password, KOHORT_SIGN_PASSWORD holds it."""
    serialization, ed25519 = _cryptography()
    pem, password = bytes_of(path, "The key"), os.environ.get(PASSWORD)
    try:
        key = serialization.load_pem_private_key(pem, None if password is None else password.encode())
    except TypeError:
        asked = "has no password, but KOHORT_SIGN_PASSWORD is set" if password else "has a password"
        raise InputError(
            f"The key {str(path)!r} {asked}. "
            "Set KOHORT_SIGN_PASSWORD to its password, or unset it if it has none."
        ) from None
    except ValueError:
        raise InputError(
            f"{str(path)!r} is not a private key in PEM, or KOHORT_SIGN_PASSWORD is wrong. "
            "Make a key with: kohort key mine.pem"
        ) from None
    return _checked(key, ed25519.Ed25519PrivateKey, path)


def read_public_key(path: str | Path) -> Any:
    """An Ed25519 public key in PEM."""
    serialization, ed25519 = _cryptography()
    pem = bytes_of(path, "The key")
    try:
        key = serialization.load_pem_public_key(pem)
    except ValueError:
        raise InputError(
            f"{str(path)!r} is not a public key in PEM. Ask the signer for theirs; it begins with "
            "-----BEGIN PUBLIC KEY-----."
        ) from None
    return _checked(key, ed25519.Ed25519PublicKey, path)


def make_keys() -> tuple[bytes, bytes]:
    """A new private and public key, in PEM. The private one has a password if KOHORT_SIGN_PASSWORD is set."""
    serialization, ed25519 = _cryptography()
    key, password = ed25519.Ed25519PrivateKey.generate(), os.environ.get(PASSWORD)
    lock = (
        serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, lock)
    return private, key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)


def _checked(key: Any, kind: type, path: str | Path) -> Any:
    if not isinstance(key, kind):
        raise InputError(f"The key {str(path)!r} is not an Ed25519 key. Make one with: kohort key mine.pem")
    return key


def _cryptography() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise missing_package("Signatures need", "sign") from None
    return serialization, ed25519

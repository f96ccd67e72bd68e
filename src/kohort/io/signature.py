"""Signatures of certificates: Ed25519, by the cryptography package, over the very bytes of the file.

The signature is a file of its own beside the certificate, 64 bytes, as openssl reads and writes them. Nothing
is reformatted before it is signed, so there is nothing to get wrong: changing one byte breaks it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.files.checked import write_checked
from kohort.io.source_file import bytes_of

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
    key = ed25519.Ed25519PrivateKey.generate()
    password = os.environ.get(PASSWORD)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


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

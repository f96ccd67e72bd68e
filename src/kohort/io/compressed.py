"""Byte streams of files that may be compressed; the extension says how."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

__all__ = ["COMPRESSIONS", "DAMAGED", "create_bytes", "open_bytes", "plain_suffix"]

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
DAMAGED = (OSError, EOFError, lzma.LZMAError)
"""What reading a broken compressed file raises."""


def plain_suffix(path: Path) -> str:
    """The extension of what is inside: `.csv` for data.csv.gz."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSIONS else suffix


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, decompressed if its extension says so."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression is None:
        return path.open("rb")
    if compression == "xz":  # the one that Arrow does not know
        return cast(BinaryIO, lzma.open(path, "rb"))
    return _as_binary(pa.input_stream(str(path), compression=compression))


def create_bytes(path: Path) -> BinaryIO:
    """A new file to write bytes to, compressed if its extension says so."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression is None:
        return path.open("wb")
    if compression == "xz":
        return cast(BinaryIO, lzma.open(path, "wb"))
    return _as_binary(pa.output_stream(str(path), compression=compression))


def _as_binary(stream: Any) -> BinaryIO:
    """Arrow's streams have the methods of a binary file, not the type."""
    return cast(BinaryIO, stream)

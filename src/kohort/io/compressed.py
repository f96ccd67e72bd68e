"""Byte streams of files that may be compressed; the extension says how."""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from kohort.files.checked import checked_stream
from kohort.io.source_file import SourceFile, in_arrow_memory

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
GZIP_LEVEL = 5
DAMAGED = (OSError, EOFError, lzma.LZMAError)
"""What reading a broken compressed file raises."""


def plain_suffix(path: Path) -> str:
    """The extension of what is inside: `.csv` for data.csv.gz."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSIONS else suffix


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, decompressed if its extension says so; those of a SourceFile may be in memory.

    A stream of Arrow's own: its readers run ahead in threads, which abort a process that ends while one of
    them waits for a stream of Python's.
    """
    compression = COMPRESSIONS.get(path.suffix.lower())
    content = path.content if isinstance(path, SourceFile) else None
    if compression == "xz":  # the one that Arrow does not know
        with lzma.open(path if content is None else io.BytesIO(content), "rb") as stream:
            return cast(BinaryIO, pa.BufferReader(in_arrow_memory(stream.read())))
    source = os.fspath(path) if content is None else pa.BufferReader(content)
    return cast(BinaryIO, pa.input_stream(source, compression=compression))


def is_blank(path: Path) -> bool:
    """Whether a file, decompressed, holds nothing but white space."""
    with open_bytes(path) as stream:
        while chunk := stream.read(1 << 16):
            if chunk.strip():
                return False
    return True


@contextmanager
def create_bytes(path: Path) -> Iterator[BinaryIO]:
    """A new file to write bytes to, compressed if its extension says so; see `checked_stream`."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    with checked_stream(path) as file:
        if compression is None:
            yield file
            return
        with _compressor(file, compression) as stream:
            yield cast(BinaryIO, stream)


def _compressor(file: BinaryIO, compression: str) -> AbstractContextManager[Any]:
    if compression == "xz":
        return lzma.open(file, "wb")
    if compression == "gzip":  # no name and no time in the file; level 9 takes three times as long
        return gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)
    return pa.CompressedOutputStream(file, compression)

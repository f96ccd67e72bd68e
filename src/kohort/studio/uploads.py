"""Uploads: streamed to a private folder as they come, refused as soon as they are too large."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from starlette.requests import Request

from kohort.errors import InputError

_BLOCK = 2**20
_LONGEST_NAME = 100
_UNSAFE = re.compile(r"[^\w. ()+-]+")
_FORM_OVERHEAD = 64 * 1024  # bytes of a form besides the file
_ZIPPED = (".xlsx", ".xlsm")


class _Upload:
    """One file of a form on its way to the disk."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.path: Path | None = None
        self.size = 0
        self._field = b""
        self._header = b""
        self._file: BinaryIO | None = None

    # -- what the parser of forms calls ----------------------------------------------------------------

    def on_part_begin(self) -> None:
        self._field = self._header = b""

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_end(self) -> None:
        if self._field.lower() == b"content-disposition" and self.path is None:
            self._open(self._header)
        self._field = self._header = b""

    def _open(self, disposition: bytes) -> None:
        from python_multipart.multipart import parse_options_header

        _, options = parse_options_header(disposition)
        given = options.get(b"filename")
        if given:
            self.path = self.folder / safe_name(given.decode("utf-8", "replace"))
            self._file = self.path.open("xb")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            return
        self.size += end - start
        if self.size > self.limit:
            raise InputError(_too_large(self.limit))
        self._file.write(data[start:end])

    def on_part_end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _too_large(limit: int) -> str:
    """Why an upload is refused that is too large."""
    return (
        f"The file is larger than {limit / 2**20:,.0f} MB, the limit of uploads. Open it by its path: "
        "it then stays where it is; or start the studio with a higher --upload-limit."
    )


def safe_name(given: str) -> str:
    """The last part of a name, without anything that means something to a file system.

    >>> safe_name("../../etc/passwd"), safe_name("C:\\\\x\\\\people.csv"), safe_name("..")
    ('passwd', 'people.csv', 'upload')
    """
    last = given.replace("\\", "/").rsplit("/", 1)[-1]
    plain = _UNSAFE.sub("_", last).strip(" .")
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:_LONGEST_NAME]}{dot}{ending[:20]}" if plain else "upload"


async def receive(request: Request, folder: Path, limit: int) -> Path:
    """Write the first file of a form to the folder; raises InputError, and leaves nothing behind then."""
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import MultipartParser, parse_options_header

    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise InputError("This is not an upload of a file.")
    if int(request.headers.get("content-length") or 0) > limit + _FORM_OVERHEAD:
        raise InputError(_too_large(limit))
    upload = _Upload(folder, limit)
    callbacks: Any = {name: getattr(upload, name) for name in dir(upload) if name.startswith("on_")}
    parser = MultipartParser(options[b"boundary"], callbacks)
    try:
        async for block in request.stream():
            parser.write(block)
        parser.finalize()
        if upload.path is None or not upload.size:
            raise InputError("Choose a file that is not empty.")
    except (InputError, FormParserError, OSError) as error:
        upload.on_part_end()
        if upload.path is not None:
            upload.path.unlink(missing_ok=True)
        if isinstance(error, InputError):
            raise
        raise InputError("The upload is damaged. Try again.") from None
    return upload.path


# -- files that grow -----------------------------------------------------------------------------------


def refuse_bomb(path: Path, limit: int) -> None:
    """Refuse a compressed file that holds more than `limit` bytes, however little it says it holds."""
    try:
        size = _expanded(path, limit)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zipfile.BadZipFile):
        return  # damaged: the reader of tables says so
    if size > limit:
        raise InputError(
            f"The file holds more than {limit / 2**20:,.0f} MB when it is unpacked. If it is yours, "
            "open it by its path."
        )


def _expanded(path: Path, limit: int) -> int:
    """How many bytes a file holds when unpacked; it is read until the limit is passed."""
    suffix = path.suffix.lower()
    if suffix in _ZIPPED or zipfile.is_zipfile(path):
        return _expanded_zip(path, limit)
    openers: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    if suffix == ".zst":
        import pyarrow as pa

        with pa.input_stream(str(path), compression="zstd") as stream:
            return _measured(stream, limit)
    if suffix not in openers:
        return path.stat().st_size
    with openers[suffix](path) as stream:
        return _measured(stream, limit)


def _expanded_zip(path: Path, limit: int) -> int:
    total = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if total > limit:
                break
            with archive.open(member) as stream:
                total += _measured(stream, limit - total)
    return total


def _measured(stream: Any, limit: int) -> int:
    size = 0
    while size <= limit and (block := stream.read(_BLOCK)):
        size += len(block)
    return size

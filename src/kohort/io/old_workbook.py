"""Old Excel files (.xls): their streams and records, as far as merged cells and errors need them.

The container is [MS-CFB], a file system in a file; the records are [MS-XLS], also known as BIFF8.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from kohort.io.workbook_parts import SheetFlaws

_SIGNATURE = bytes.fromhex("d0cf11e0a1b11ae1")
_LAST_SECTOR = 0xFFFFFFFA  # numbers from here on are no sectors
_FORMULA, _EOF, _BOUND_SHEET, _MERGED_CELLS, _BOOL_ERR, _BOF = 0x0006, 0x000A, 0x0085, 0x00E5, 0x0205, 0x0809


def xls_flaws(path: Path, place: int) -> SheetFlaws:
    """The flaws of a sheet, counted from 0. Other files raise ValueError, LookupError or struct.error."""
    book = _workbook_stream(Path(os.fspath(path)).read_bytes())
    offsets = [struct.unpack_from("<I", body)[0] for kind, body in _records(book, 0) if kind == _BOUND_SHEET]
    flaws = SheetFlaws()
    for kind, body in _records(book, offsets[place]):
        if kind == _MERGED_CELLS:
            areas = struct.iter_unpack("<4H", body[2 : 2 + 8 * struct.unpack_from("<H", body)[0]])
            flaws.merged += [
                f"{_cell(top, left)}:{_cell(bottom, right)}"
                for top, bottom, left, right in areas
                if (top, left) != (bottom, right)
            ]
        elif (kind == _BOOL_ERR and body[7]) or (kind == _FORMULA and _is_error(body[6:14])):
            flaws.errors[_letters(struct.unpack_from("<H", body, 2)[0])] += 1
    return flaws


def _is_error(result: bytes) -> bool:
    """Whether the stored result of a formula is an error: not a number, and of type 2."""
    return result[6:8] == b"\xff\xff" and result[0] == 2


def _records(book: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """The records from an offset to the end of their part; parts may be nested in it (charts)."""
    depth = 0
    while offset + 4 <= len(book):
        kind, size = struct.unpack_from("<HH", book, offset)
        depth += (kind == _BOF) - (kind == _EOF)
        if depth <= 0:
            return
        if depth == 1:
            yield kind, book[offset + 4 : offset + 4 + size]
        offset += 4 + size


def _workbook_stream(content: bytes) -> bytes:
    """The stream `Workbook` of the container."""
    if not content.startswith(_SIGNATURE):
        raise ValueError("no container")
    size, small = (1 << power for power in struct.unpack_from("<HH", content, 30))
    first_folder, _, _, first_small, _, first_list, _ = struct.unpack_from("<IIIIIII", content, 48)
    sector = lambda number: content[(number + 1) * size : (number + 2) * size]  # noqa: E731
    table = _sector_table(content, sector, first_list, size)
    folder = b"".join(map(sector, _chain(table, first_folder)))
    entries = {_entry_name(folder[at : at + 128]): folder[at : at + 128] for at in range(0, len(folder), 128)}
    root, book = entries["Root Entry"], entries.get("Workbook") or entries["Book"]
    start, length = struct.unpack_from("<II", book, 116)
    if length >= 4096:
        return b"".join(map(sector, _chain(table, start)))[:length]
    short = b"".join(map(sector, _chain(table, struct.unpack_from("<I", root, 116)[0])))
    small_table = _numbers(b"".join(map(sector, _chain(table, first_small))))
    return b"".join(short[n * small : (n + 1) * small] for n in _chain(small_table, start))[:length]


def _sector_table(content, sector, first_list: int, size: int) -> list[int]:  # type: ignore[no-untyped-def]
    """Per sector the one that follows it; the list of its own sectors begins in the header."""
    own = list(struct.unpack_from("<109I", content, 76))
    while first_list < _LAST_SECTOR:
        *more, first_list = _numbers(sector(first_list))
        own += more
        if len(own) > len(content) // size + 2 * size:
            raise ValueError("the list of sectors has no end")
    return _numbers(b"".join(sector(number) for number in own if number < _LAST_SECTOR))


def _chain(table: list[int], number: int) -> Iterator[int]:
    for _ in range(len(table) + 1):
        if number >= _LAST_SECTOR:
            return
        yield number
        number = table[number]
    raise ValueError("a chain of sectors has no end")


def _numbers(content: bytes) -> list[int]:
    return [number for (number,) in struct.iter_unpack("<I", content)]


def _entry_name(entry: bytes) -> str:
    length = struct.unpack_from("<H", entry, 64)[0]
    return entry[: max(length - 2, 0)].decode("utf-16-le", errors="replace")


def _cell(row: int, column: int) -> str:
    return f"{_letters(column)}{row + 1}"


def _letters(column: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters

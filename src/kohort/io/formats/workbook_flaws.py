"""What readers of Excel pass over in silence: merged cells, errors and formulas without a result.

A reader gives the value of merged cells for the first of them only, and nothing for a cell with an error or
with a formula that was never calculated. So they are looked for in the file itself.
"""

from __future__ import annotations

import os
import posixpath
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from xml.parsers import expat

_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_NO_RESULT = rb"/(?:\w+:)?f?>\s*<(?:(?:\w+:)?v\s*/>|(?:\w+:)?v>\s*</|/(?:\w+:)?c>)"
_SUSPICIOUS = re.compile(rb"""mergeCell|\bt\s*=\s*["']e["']|""" + _NO_RESULT)
_BLOCK = 1 << 20
_OVERLAP = 64  # more bytes than anything that is looked for


@dataclass
class SheetFlaws:
    """Areas of merged cells, such as A2:A4, and per column (by its letters) how many cells lack a value.

    errors        cells that hold an error
    uncalculated  cells with a formula of which the file has no result
    """

    merged: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    uncalculated: Counter[str] = field(default_factory=Counter)


def xlsx_flaws(path: Path, sheet: str) -> SheetFlaws:
    """The flaws of one sheet of an .xlsx file. KeyError or ParseError if it is not one.

    The whole sheet is parsed only if some of its bytes look like a flaw: that is rare, and parsing is slow.
    """
    with zipfile.ZipFile(os.fspath(path)) as file:
        part = _part_of(file, sheet)
        with file.open(part) as stream:
            if not _looks_suspicious(stream):
                return SheetFlaws()
        with file.open(part) as stream:
            return _parsed(stream)


def _part_of(file: zipfile.ZipFile, sheet: str) -> str:
    """The name of the part that holds a sheet, by the relations that the format demands."""
    book = next(target for kind, target in _relations(file, "").values() if kind.endswith("/officeDocument"))
    targets = _relations(file, book)
    for element in ElementTree.fromstring(file.read(book)).iter():
        if _plain(element.tag) == "sheet" and element.get("name") == sheet:
            identifiers = [value for name, value in element.attrib.items() if name.endswith("}id")]
            return targets[identifiers[0]][1]
    raise KeyError(sheet)


def _relations(file: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Type and target of each identifier that a part refers to; the package itself is the part ''."""
    folder, name = posixpath.split(part)
    listed = ElementTree.fromstring(file.read(posixpath.join(folder, "_rels", f"{name}.rels")))
    return {
        relation.get("Id", ""): (relation.get("Type", ""), _resolved(folder, relation.get("Target", "")))
        for relation in listed.iter(_RELATIONS)
    }


def _resolved(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _looks_suspicious(stream: IO[bytes]) -> bool:
    end = b""
    while block := stream.read(_BLOCK):
        if not end and block.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16: bytes tell nothing
            return True
        if _SUSPICIOUS.search(end + block):
            return True
        end = block[-_OVERLAP:]
    return False


def _parsed(stream: IO[bytes]) -> SheetFlaws:
    search = _Search()
    parser = expat.ParserCreate()
    parser.StartElementHandler = search.start
    parser.CharacterDataHandler = search.text
    parser.EndElementHandler = search.end
    parser.ParseFile(stream)
    return search.flaws


class _Search:
    """Looks for flaws while the elements of a sheet pass by."""

    def __init__(self) -> None:
        self.flaws = SheetFlaws()
        self._tag = self._column = ""
        self._formula = self._result = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._tag = _plain(name)
        if self._tag == "c":
            self._column = re.sub("[^A-Z]", "", attributes.get("r", "")) or "?"
            self._formula = False
            self._result = attributes.get("t") == "str"  # a formula's text, which may be empty
            if attributes.get("t") == "e":
                self.flaws.errors[self._column] += 1
        elif self._tag == "f":
            self._formula = True
        elif self._tag == "mergeCell" and _is_area(attributes.get("ref", "")):
            self.flaws.merged.append(attributes["ref"])

    def text(self, text: str) -> None:
        self._result |= self._tag == "v" and bool(text.strip())

    def end(self, name: str) -> None:
        self._tag = ""
        if _plain(name) == "c" and self._formula and not self._result:
            self.flaws.uncalculated[self._column] += 1


def _is_area(reference: str) -> bool:
    """Whether a reference is of more than one cell."""
    first, _, last = reference.partition(":")
    return bool(last) and first != last


def _plain(name: str) -> str:
    """A tag without its namespace, which is written {address}tag or prefix:tag."""
    return re.split("[}:]", name)[-1]


# Old Excel files (.xls): their streams and records, as far as merged cells and errors need them.
#
# The container is [MS-CFB], a file system in a file; the records are [MS-XLS], also known as BIFF8.


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

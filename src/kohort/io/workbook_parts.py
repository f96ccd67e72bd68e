"""What readers of Excel pass over in silence: merged cells, errors and formulas without a result.

A reader gives the value of merged cells for the first of them only, and nothing for a cell with an error or
with a formula that was never calculated. So they are looked for in the file itself.
"""

from __future__ import annotations

import os
import posixpath
import re
import zipfile
from collections import Counter
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

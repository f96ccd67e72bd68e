"""What readers of Excel pass over in silence: merged cells and error cells, looked for in the file itself.

A reader gives the value of merged cells for the first of them only, and nothing for a cell with an error.
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

__all__ = ["SheetFlaws", "xlsx_flaws"]

_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_SUSPICIOUS = re.compile(rb"""mergeCell|\bt\s*=\s*["']e["']""")
_BLOCK = 1 << 20
_OVERLAP = 64  # more bytes than anything that is looked for


@dataclass
class SheetFlaws:
    """Areas of merged cells, such as A2:A4, and the number of error cells of each column (by its letters)."""

    merged: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


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
    flaws = SheetFlaws()

    def start(name: str, attributes: dict[str, str]) -> None:
        tag = _plain(name)
        if tag == "c" and attributes.get("t") == "e":
            flaws.errors[re.sub("[^A-Z]", "", attributes.get("r", "")) or "?"] += 1
        elif tag == "mergeCell" and _is_area(attributes.get("ref", "")):
            flaws.merged.append(attributes["ref"])

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.ParseFile(stream)
    return flaws


def _is_area(reference: str) -> bool:
    """Whether a reference is of more than one cell."""
    first, _, last = reference.partition(":")
    return bool(last) and first != last


def _plain(name: str) -> str:
    """A tag without its namespace, which is written {address}tag or prefix:tag."""
    return re.split("[}:]", name)[-1]

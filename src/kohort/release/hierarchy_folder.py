"""A folder with a hierarchy file per column, to read the labels of a release by."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.data.hierarchy import Hierarchy
from kohort.statement import Statement

if TYPE_CHECKING:
    from kohort.release.release import Release

_LONGEST_NAME = 200  # bytes; file systems allow 255


def columns_with_files(request: Statement) -> list[str]:
    """The columns that may get a file: it depends on the data whether a column has a hierarchy."""
    items = [] if request.items is None else [request.items.column]
    return [*request.roles.having("quasi-identifier"), *items]


def hierarchies_of(release: Release) -> dict[str, Hierarchy]:
    """The hierarchy of every quasi-identifier that has one, and of the items."""
    attributes = release.problem.attributes
    found = {a.name: a.domain for a in attributes if isinstance(a.domain, Hierarchy)}
    if release.items is not None:
        found[release.items.problem.baskets.name] = release.items.problem.hierarchy
    return found


def hierarchy_files(folder: Path, columns: Iterable[str]) -> dict[str, Path]:
    """The file of each column, named after it; no two share one, not even where case is ignored."""
    found: dict[str, Path] = {}
    taken: set[str] = set()
    for column in columns:
        stem = name = _file_name(column)
        number = 1
        while unicodedata.normalize("NFC", name).casefold() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(unicodedata.normalize("NFC", name).casefold())
        found[column] = folder / f"{name}.csv"
    return found


def _file_name(column: str) -> str:
    """The name of a column, without what a file name cannot hold."""
    name = "".join(c if c.isalnum() or c in "-_ " else "_" for c in column).strip() or "column"
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore")

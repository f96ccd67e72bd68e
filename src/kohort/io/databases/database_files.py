"""Databases that are files: made for a release if there are none, and gone again if it fails."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kohort.errors import InputError
from kohort.files.atomic import check_targets
from kohort.io.databases.database_table import DatabaseTable


class NewFile:
    """The file of a database that a run may make; `remove` removes it unless `keep` was called."""

    def __init__(self, path: Path) -> None:
        check_targets([path])
        self.path = path
        self._made = not path.exists()

    def keep(self) -> None:
        self._made = False

    def remove(self) -> None:
        if self._made:
            for ending in ("", "-journal", "-wal", "-shm", ".wal"):
                with suppress(OSError):
                    self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


def relations_of(path: Path, tables: Iterable[str]) -> frozenset[Any]:
    """Tables of a file, as `Reading.relations` names them; such databases ignore the case of names."""
    return frozenset((os.path.realpath(path), table.lower()) for table in tables)


def refuse_file_reads(target: DatabaseTable, relations: frozenset[Any], names: Iterable[str]) -> None:
    """Refuse a table that the release was made from; `names` are those that it may have in a plan."""
    assert target.file is not None
    if relations_of(target.file, names) & relations:
        raise InputError(f"Table {target.name!r} is one that this run reads. Choose another output.")

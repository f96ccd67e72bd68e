"""What a worker holds between two questions: the tables that were read last, and the release made last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kohort.algorithms import Progress
from kohort.data.baskets import Baskets, read_baskets
from kohort.io.data_files import read_data
from kohort.statement.items import BasketShape
from kohort.tables.memory import MemoryTable
from kohort.tables.source import Source as Opened
from kohort.tables.table import Table

if TYPE_CHECKING:
    from kohort.release.release import Release

Source = dict[str, Any]
"""Where a table is: its `path`; `header`, whether its first line names the columns (None: found out); and
`baskets`, how the file holds baskets and nothing else (None: it is a table)."""


_MOST_TABLES = 2


def shape_of(source: Source) -> BasketShape | None:
    """How a file holds its baskets; None for a table."""
    found = source.get("baskets")
    return None if found is None else BasketShape(**found)


class _Read(NamedTuple):
    key: tuple[Any, ...]
    file: Opened
    dataset: Table
    baskets: dict[tuple[str, str | None], Baskets]


class Workplace:
    """The tables and the release of a worker: that of people, and that of events beside it.

    Every question names its source, so that a new worker can answer what an old one was asked.
    """

    def __init__(self) -> None:
        self._read: list[_Read] = []
        self._release: Release | None = None
        self._judged: dict[str, Any] | None = None

    @property
    def release(self) -> Release:
        """The release that was made last."""
        assert self._release is not None
        return self._release

    def keep(self, release: Release | None) -> None:
        """Keep a release for questions about it, instead of the one before."""
        self._release, self._judged = release, None

    def judged(self, progress: Progress | None = None) -> dict[str, Any]:
        """Risk and utility of the release, measured once."""
        if self._judged is None:
            self._judged = {
                "risk": self.release.risk(progress=progress),
                "utility": self.release.utility(progress=progress),
            }
        return self._judged

    def file(self, source: Source) -> Opened:
        """The file of a source, read again only if it has changed."""
        return self._of(source).file

    def table(self, source: Source) -> pa.Table:
        return self._of(source).file.table

    def dataset(self, source: Source) -> Table:
        """The records of a source, whose columns are coded once."""
        return self._of(source).dataset

    def baskets(self, source: Source, column: str, separator: str | None = None) -> Baskets:
        """The sets of items in a column, coded once; `separator` where its cells are texts."""
        read = self._of(source)
        key = (column, separator)
        if key not in read.baskets:
            read.baskets[key] = read_baskets(read.dataset, column, separator=separator)
        return read.baskets[key]

    def _of(self, source: Source) -> _Read:
        path, shape = Path(source["path"]), shape_of(source)
        state = path.stat() if path.exists() else None
        key = (str(path), source.get("header"), shape, state and (state.st_mtime_ns, state.st_size))
        for read in self._read:
            if read.key == key:
                return read
        # a table that has changed takes its own place; otherwise the older one goes, so that there are two
        kept = [read for read in self._read if read.key[0] != str(path)]
        self._read = kept[-(_MOST_TABLES - 1) :]
        file = read_data(path, shape, header=source.get("header"))
        self._read.append(_Read(key, file, MemoryTable(file.table), {}))
        return self._read[-1]

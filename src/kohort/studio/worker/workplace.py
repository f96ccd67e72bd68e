"""What a worker holds between two questions: the tables that were read last, and the release made last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kohort.algorithms import Progress
from kohort.data.dataset import Dataset
from kohort.io.tables import TableFile, read_table

if TYPE_CHECKING:
    from kohort.publication import Release

__all__ = ["Source", "Workplace"]

Source = dict[str, Any]
"""Where a table is: its `path`, and `header`, whether its first line names the columns (None: found out)."""


_MOST_TABLES = 2


class _Read(NamedTuple):
    key: tuple[Any, ...]
    file: TableFile
    dataset: Dataset


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

    def file(self, source: Source) -> TableFile:
        """The file of a source, read again only if it has changed."""
        return self._of(source).file

    def table(self, source: Source) -> pa.Table:
        return self._of(source).file.table

    def dataset(self, source: Source) -> Dataset:
        """The records of a source, whose columns are coded once."""
        return self._of(source).dataset

    def _of(self, source: Source) -> _Read:
        path = Path(source["path"])
        state = path.stat() if path.exists() else None
        key = (str(path), source.get("header"), state and (state.st_mtime_ns, state.st_size))
        for read in self._read:
            if read.key == key:
                return read
        # a table that has changed takes its own place; otherwise the older one goes, so that there are two
        kept = [read for read in self._read if read.key[0] != str(path)]
        self._read = kept[-(_MOST_TABLES - 1) :]
        file = read_table(path, header=source.get("header"))
        self._read.append(_Read(key, file, Dataset(file.table)))
        return self._read[-1]

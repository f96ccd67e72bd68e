"""What a worker holds between two questions: the tables that were read last, and the release made last."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kohort.algorithms import Standing
from kohort.data.baskets import Baskets, read_baskets
from kohort.data.column import Column
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

Items = dict[str, Any]
"""How to read a column that holds sets of items: their `separator`, where the cells are texts, and the
sensitive items, `without` which they are taken."""

_MOST_TABLES = 2
_EVERY = 0.15  # seconds between two messages


def shape_of(source: Source) -> BasketShape | None:
    """How a file holds its baskets; None for a table."""
    found = source.get("baskets")
    return None if found is None else BasketShape(**found)


class Telling:
    """How a worker tells what it is doing, a few times a second, and hears that it should stop.

    It is called as the `progress` of a job; `stop` is its `stop`.
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None], stopped: Event) -> None:
        self._tell, self._stopped = tell, stopped
        self._last = 0.0
        self._start = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        now = time.monotonic()
        if now - self._last < _EVERY:
            return
        self._last = now
        facts: dict[str, Any] = {"what": str(what), "share": share, "seconds": now - self._start}
        if isinstance(what, Standing):
            facts |= {"cost": what.cost, "bound": what.bound}
        self._tell(facts)

    def at_once(self, what: str, share: float = 0.0) -> None:
        """Tell what a long step is, however short ago something was told."""
        self._tell({"what": what, "share": share, "seconds": 0.0})

    def stop(self) -> bool:
        """Whether somebody asked for the best result so far."""
        return self._stopped.is_set()


class _Read(NamedTuple):
    key: tuple[Any, ...]
    file: Opened
    dataset: Table
    baskets: dict[tuple[str, str | None], Baskets]


class Workplace:
    """The tables and the release of a worker: that of people, and that of events beside it.

    Every question names its source, so that a new worker can answer what an old one was asked; `tell` is
    where the answer to the question at hand says how far it is.
    """

    def __init__(self) -> None:
        self.tell = Telling(lambda facts: None, Event())
        self._read: list[_Read] = []
        self._release: Release | None = None
        self._judged: dict[str, Any] = {}

    @property
    def release(self) -> Release:
        """The release that was made last."""
        assert self._release is not None
        return self._release

    def keep(self, release: Release | None) -> None:
        """Keep a release for questions about it, instead of the one before."""
        self._release, self._judged = release, {}

    def judged(self) -> dict[str, Any]:
        """Risk and utility of the release, measured once."""
        if not self._judged:
            risk, utility = self.release.risk(progress=self.tell), self.release.utility(progress=self.tell)
            self._judged = {"risk": risk, "utility": utility}
        return self._judged

    def file(self, source: Source) -> Opened:
        """The file of a source, read again only if it has changed."""
        return self._of(source).file

    def table(self, source: Source) -> pa.Table:
        return self._of(source).file.table

    def dataset(self, source: Source) -> Table:
        """The records of a source, whose columns are coded once."""
        return self._of(source).dataset

    def column(self, source: Source, column: str, items: Items | None) -> Column:
        """The values of a column, or the items of one that holds sets of them."""
        if items is None:
            return self.dataset(source).column(column)
        return self.baskets(source, column, items).items

    def baskets(self, source: Source, column: str, items: Items) -> Baskets:
        """The sets of items in a column without the sensitive ones, coded once."""
        read, key = self._of(source), (column, items.get("separator"))
        if key not in read.baskets:
            read.baskets[key] = read_baskets(read.dataset, column, separator=key[1])
        found = read.baskets[key]
        return found.parted(items["without"])[0] if items.get("without") else found

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

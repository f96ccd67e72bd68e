"""Tables that were opened, wherever their records are, and what is needed to write others like them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from kohort.tables.batches import BatchTable
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table


@dataclass(frozen=True, eq=False)
class Source:
    """A table that was opened.

    records   the table in memory, or in batches
    format    how it is stored: the name of a format of files, `baskets` or `database`
    sha256    the hash of the bytes that were read
    notes     sentences on what was read, where more than one table could have been meant
    database  where the records come from, if that is no file but a table or query of a database
    """

    records: pa.Table | BatchTable
    format: str
    sha256: str
    delimiter: str | None = None
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    database: Any = None

    @cached_property
    def dataset(self) -> Table:
        """The records."""
        return self.records if isinstance(self.records, Table) else MemoryTable(self.records)

    @property
    def table(self) -> pa.Table:
        """All records, read into memory if they are not there."""
        return self.records.whole() if isinstance(self.records, Table) else self.records

    def holding(self, table: pa.Table) -> Source:
        """The same source with other records."""
        return replace(self, records=table)

    def noting(self, *notes: str) -> Source:
        """The same source with more sentences on what was read."""
        return replace(self, notes=(*self.notes, *notes))


def records_of(source: Any) -> Table:
    """The records of a dataframe or of a file that was read; a table is one already."""
    if isinstance(source, Table):
        return source
    return source.dataset if isinstance(source, Source) else MemoryTable(source)

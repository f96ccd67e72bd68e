"""A release on its way into a database: in a private file first, then in a transaction, then committed.

The file holds what is published, and nothing else. The records of the original are read to the end before the
transaction begins, so that it is short, and so that a database may be both the source and the target.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.files.atomic import note_written
from kohort.files.drafts import Drafts, remove_abandoned
from kohort.io.databases.database_table import DatabaseTable
from kohort.io.databases.dialect import Writing, open_writing, storable
from kohort.io.databases.reading import ContentHash, ReadBack


@contextmanager
def table_draft(target: DatabaseTable, events: DatabaseTable | None = None) -> Iterator[TableDraft]:
    """A draft of a table, or of two; at the end its file is gone, and what was not committed is undone."""
    folder = Path(tempfile.gettempdir())
    remove_abandoned(folder)
    with closing(Drafts(folder)) as drafts:
        second = None if events is None else TableDraft(events, drafts.create(".arrow"))
        draft = TableDraft(target, drafts.create(".arrow"), second)
        try:
            yield draft
        finally:
            draft.close()


class TableDraft:
    """A table that is about to be published.

    path    the file to write the release to, in Arrow's format
    events  the draft of a second table, which the same commit publishes; None: there is none
    """

    def __init__(self, target: DatabaseTable, path: Path, events: TableDraft | None = None) -> None:
        self.target, self.path, self.events = target, path, events
        self._writing: Writing | None = None

    @cached_property
    def sha256(self) -> str:
        """The hash of the table as it will be in the database; see `ContentHash`."""
        schema, tables = self._slices()
        found = ContentHash(schema.names)
        for table in tables:
            found.add(table)
        return found.sha256

    def load(self, relations: frozenset[Any], verify: Callable[..., None]) -> None:
        """Create and fill the table in a transaction, and have it verified as it is read back from there.

        relations  the tables that the release was made from, none of which is replaced
        verify     takes the table that was read back, and that of the events after it if there is one
        """
        self._writing = open_writing(self.target)
        writings: list[tuple[TableDraft, Writing]] = [(self, self._writing)]
        if self.events is not None:
            writings.append((self.events, self._writing.beside(self.events.target)))
        for draft, writing in writings:
            writing.refuse_reads(relations)
            writing.fill(*draft._slices())
        verify(*(ReadBack(draft.target, writing.read_back(), draft.sha256) for draft, writing in writings))
        for _, writing in writings:
            writing.put_in_place()

    def commit(self) -> None:
        """Publish the table: from now on others see it."""
        assert self._writing is not None
        self._writing.commit()
        for draft in (self, self.events):
            if draft is not None:
                note_written(str(draft.target))

    def close(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def _slices(self) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The release in types that the database has."""
        with pa.OSFile(str(self.path)) as file:
            schema = pa.ipc.open_file(file).schema
        return storable(schema.empty_table(), self.target).schema, self._stored()

    def _stored(self) -> Generator[pa.Table, None, None]:
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for place in range(reader.num_record_batches):
                yield storable(pa.Table.from_batches([reader.get_batch(place)]), self.target)

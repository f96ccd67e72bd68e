"""A table of a database that a release is written to: filled, verified there, committed with the files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.algorithms import Progress
from kohort.errors import InputError, InternalError, UnsupportedError
from kohort.files.atomic import Outputs
from kohort.io.databases import DatabaseTable
from kohort.io.databases.dialect import open_writing
from kohort.io.databases.records import DatabaseBatches, ReadBack, TableDraft, table_draft
from kohort.job.streaming import HELD
from kohort.job.verify import verify_release
from kohort.release.artefacts import Artefact
from kohort.release.release import Release
from kohort.release.targets import Target, WrittenTables, write_tables
from kohort.statement import Statement
from kohort.statement.items import BasketShape
from kohort.tables.batches import BatchTable
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table


@dataclass(frozen=True)
class DatabaseTarget(Target):
    """A table of a database for the release, or two of them; committed with the files beside them."""

    out: DatabaseTable
    events: DatabaseTable | None = None

    def refuse(self, request: Statement, shape: BasketShape | None, artefacts: Sequence[Artefact]) -> None:
        super().refuse(request, shape, artefacts)
        if any(artefact.name == "ledger" for artefact in artefacts):
            raise UnsupportedError(
                "A release that is tied to a ledger is written to a file: both are replaced, or neither is. "
                "Write a file, and load it into the database."
            )
        if self.events is not None and self.out.address != self.events.address:
            raise InputError("People and events are two tables of one database: give one URL for both.")
        if self.events is not None and self.out.table == self.events.table:
            raise InputError("People and events are two tables: give them two names.")

    def refuse_reads(self, shape: BasketShape | None, reads: Collection[Path | DatabaseTable | None]) -> None:
        if shape is not None and shape.id is not None:
            raise UnsupportedError(
                "Long tables of baskets (id and item) are written to files. Choose a file for the release."
            )
        for table in self.written:
            if table in reads:
                raise InputError(f"Table {table.name!r} is one that this run reads. Choose another output.")
        if self.out.file is None or self.out.file.exists():
            with closing(open_writing(self.out)) as writing:
                if self.events is not None:
                    writing.beside(self.events)
        elif not self.out.file.parent.is_dir():
            raise InputError(
                f"The folder {self.out.file.parent} does not exist. Create it, or choose another output."
            )

    @contextmanager
    def tables(
        self, release: Release, outputs: Outputs, files: Collection[Path], progress: Progress | None
    ) -> Iterator[WrittenTables]:
        with (
            table_draft(self.out, self.events) as table,
            outputs.drafts(files, commit=table.commit) as draft_of,
        ):
            places = [draft.path for draft in table.all]
            write_tables(release, places, None, progress)  # lists are cells there
            hashes = [draft.sha256 for draft in table.all]
            yield WrittenTables(draft_of, dict(zip(("output", "events"), hashes)))
            _load(release, table, progress)


def _load(release: Release, table: TableDraft, progress: Progress | None) -> None:
    """Put a release into the database, up to the commit, and verify what is there."""
    read = [source.database for source in release.origin.sources]
    relations = frozenset[Any]().union(*(d.relations for d in read if isinstance(d, DatabaseBatches)))
    release.origin.close()  # a transaction that reads must not be in the way of this one

    def verify(written: ReadBack, events: ReadBack | None = None) -> None:
        """Refuse a table that does not keep the promises, or is not what was verified."""
        if progress is not None:
            progress("verifying the table in the database", 0.5)
        names = [name for role in HELD for name in release.roles.having(role) if name in written.schema.names]
        batches = release.published.in_batches
        found: Table = BatchTable(written, names) if batches else MemoryTable(written.whole())
        second = None if events is None else MemoryTable(events.whole())
        verdict = verify_release(found, release.request, events=second).verdict
        if not verdict.holds or verdict.records != release.verdict.records:
            raise InternalError(
                "The table in the database does not keep the promises of the release. Nothing was written. "
                "Please report this."
            )

    if progress is not None:
        progress("filling the table in the database", 0.0)
    table.load(relations, verify)

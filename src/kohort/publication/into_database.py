"""A release in a table of a database: refused early if it must be, verified before it is committed."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from kohort.algorithms import Progress
from kohort.data.dataset import Dataset
from kohort.data.streamed_dataset import StreamedDataset
from kohort.errors import InputError, InternalError, UnsupportedError
from kohort.io.baskets import BasketShape
from kohort.io.databases import DatabaseTable
from kohort.io.databases.connection import open_writing
from kohort.io.databases.reading import DatabaseBatches
from kohort.io.databases.table_draft import ReadBack, TableDraft
from kohort.pipeline.streaming import HELD
from kohort.pipeline.verify_release import verify_release
from kohort.publication.release import Release


def refuse_target(
    target: DatabaseTable,
    events: DatabaseTable | None,
    shape: BasketShape | None,
    reads: Collection[Path | DatabaseTable | None],
) -> None:
    """Refuse tables that cannot be written, or that are read; best called before long work."""
    if shape is not None and shape.id is not None:
        raise UnsupportedError(
            "Long tables of baskets (id and item) are written to files. Choose a file for the release."
        )
    for table in (target, events):
        if table is not None and table in reads:
            raise InputError(f"Table {table.name!r} is one that this run reads. Choose another output.")
    if target.file is None or target.file.exists():
        with closing(open_writing(target)) as writing:
            if events is not None:
                writing.beside(events)
    elif not target.file.parent.is_dir():
        raise InputError(
            f"The folder {target.file.parent} does not exist. Create it, or choose another output."
        )


def load_release(release: Release, table: TableDraft, progress: Progress | None = None) -> None:
    """Put a release into the database, up to the commit, and verify what is there."""
    relations: frozenset = frozenset()
    events = release.origin.events_file
    for source in (release.origin.database, None if events is None else events.database):
        if isinstance(source, DatabaseBatches):
            relations |= source.relations
            source.close()  # its transaction must not be in the way of this one

    def verify(written: ReadBack, events: ReadBack | None = None) -> None:
        if progress is not None:
            progress("verifying the table in the database", 0.5)
        _verify(release, written, events)

    if progress is not None:
        progress("filling the table in the database", 0.0)
    table.load(relations, verify)


def _verify(release: Release, written: ReadBack, events: ReadBack | None) -> None:
    """Refuse a table that does not keep the promises, or is not what was verified."""
    if isinstance(release.dataset, StreamedDataset):
        held = [name for role in HELD for name in release.roles.having(role) if name in written.schema.names]
        found: Dataset = StreamedDataset(written, held)
    else:
        found = Dataset(written.whole())
    second = None if events is None else Dataset(events.whole())
    verdict = verify_release(found, release.request, events=second).verdict
    if not verdict.holds or verdict.records != release.verdict.records:
        raise InternalError(
            "The table in the database does not keep the promises of the release. Nothing was written. "
            "Please report this."
        )

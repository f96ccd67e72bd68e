"""Where the original of a release comes from: how it is opened, and what is never written over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.algorithms import Progress
from kohort.errors import InputError
from kohort.io.data_files import read_data, refuse_options_of_files, table_of
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.databases.records import DatabaseBatches
from kohort.io.tables import bytes_in_memory, hold, open_in_batches
from kohort.job.public import sha256_of_files
from kohort.job.streaming import columns_to_read, why_not_streamed
from kohort.statement import Statement
from kohort.statement.items import BasketShape
from kohort.tables.batches import BatchTable
from kohort.tables.places import SparkData, refuse_cluster, too_large_to_hold
from kohort.tables.source import Source

if TYPE_CHECKING:
    from kohort.tables.spark import SparkTable


@dataclass(frozen=True)
class Origin:
    """Where the original came from.

    file         the file of the original as it was read; None for a dataframe
    events_file  the file of the events, where there are two tables; None for a dataframe
    shape        how that file holds baskets; None for a table
    reads        all files and tables that were read, none of which is ever written
    spec_sha256  the SHA-256 of the spec's file, or None
    ledger       the ledger that the release is to be a part of, or None; it is written with the release
    making       for the report: the `command`, the text of the `spec`, and the original's file name, `data`
    """

    file: Source | None = None
    shape: BasketShape | None = None
    reads: tuple[Path | DatabaseTable, ...] = ()
    spec_sha256: str | None = None
    making: Mapping[str, str] = field(default_factory=dict)
    events_file: Source | None = None
    ledger: Path | None = None

    @property
    def database(self) -> DatabaseBatches | None:
        """The table or query of a database that the records come from; None for files and dataframes."""
        return None if self.file is None else self.file.database

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the original's file, None for a dataframe; two files: see `sha256_of_files`."""
        if self.file is None:
            return None
        return sha256_of_files(
            self.file.sha256, None if self.events_file is None else self.events_file.sha256
        )


DATAFRAME = Origin()


# How the file of an original is opened: read into memory or, where it is large, in batches.


def open_original(
    path: str | Path | DatabaseTable,
    request: Statement,
    shape: BasketShape | None = None,
    *,
    progress: Progress | None = None,
    **reading: Any,
) -> Source | SparkTable:
    """Read the file of an original, for a request; `reading` holds the options of `read_table`.

    A small one is read into memory, a large one in batches. Where batches are not possible for what is asked,
    it is read into memory all the same, and a note says why.
    """
    if isinstance(path, DatabaseTable):
        return _open_database(path, request, shape, progress, reading)
    if request.engine == "spark":
        return open_on_spark(SparkData(path), request, **reading)
    if is_url(path):
        raise InputError("This is the URL of a database: name a table or a query of it, by ko.database(...).")
    large = too_large_to_hold(bytes_in_memory(path)) if shape is None else None
    if large is None:
        return read_data(path, shape, **reading)
    why = why_not_streamed(request)
    opened = open_in_batches(path, **reading) if why is None else why
    if isinstance(opened, str):
        note = f"The file was read into memory as a whole, although {large}: {opened}."
        return read_data(path, **reading).noting(note)
    note = f"The file was read in batches, because {large}. Only what is searched or protected was held."
    columns = columns_to_read(request, opened.schema.names)
    return hold(opened, *columns, _seen(progress, opened.expected)).noting(note)


def open_on_spark(data: SparkData, request: Statement, **reading: Any) -> SparkTable:
    """The table that Spark is to read; what a cluster cannot do is refused before it starts."""
    from kohort.pipeline.spark.prepare import refuse_on_spark

    refuse_on_spark(request)
    if given := [name for name, value in reading.items() if value is not None]:
        raise InputError(f"Spark reads files by itself: leave out {', '.join(map(repr, given))}.")
    return data.table()


def _open_database(
    source: DatabaseTable,
    request: Statement,
    shape: BasketShape | None,
    progress: Progress | None,
    reading: dict[str, Any],
) -> Source:
    """The records of a database: in memory as long as there is room for them, else in batches."""
    refuse_options_of_files(shape, reading)
    refuse_cluster(request.engine)
    why = why_not_streamed(request)
    batches = DatabaseBatches(source)
    table = batches.whole_if(lambda size: why is not None or too_large_to_hold(size) is None)
    if table is not None:
        batches.close()
        return table_of(batches, table)
    dataset = BatchTable(batches, *columns_to_read(request, batches.schema.names), _seen(progress, 0))
    if not dataset.n_records:
        raise InputError(f"{source} has no records.")
    note = "The records were read in batches. Only what is searched or protected was held."
    return Source(dataset, "database", batches.sha256, notes=(note,), database=batches)


def _seen(progress: Progress | None, expected: int) -> Callable[[int], None]:
    def seen(n_records: int) -> None:
        if progress is not None:
            progress("reading", min(n_records / expected, 1.0) if expected else 0.0)

    return seen

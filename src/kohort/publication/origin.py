"""The files that a release was made from: what is needed to write others like them, and never over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kohort.io.baskets import BasketShape
from kohort.io.databases import DatabaseTable
from kohort.io.databases.reading import DatabaseBatches
from kohort.io.streamed_files import StreamedFile
from kohort.io.tables import TableFile
from kohort.pipeline.public import sha256_of_files


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

    file: TableFile | StreamedFile | None = None
    shape: BasketShape | None = None
    reads: tuple[Path | DatabaseTable, ...] = ()
    spec_sha256: str | None = None
    making: Mapping[str, str] = field(default_factory=dict)
    events_file: TableFile | None = None
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

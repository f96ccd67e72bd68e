"""The tables that kohort verify compares: a release and its original, in files or in databases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.cli.bundles import ReleaseReading
    from kohort.io.databases import DatabaseTable
    from kohort.io.spec import Spec
    from kohort.io.tables import TableFile


@dataclass(frozen=True)
class Tables:
    """The tables that are compared, as they were read; None where one was not given."""

    release: TableFile
    original: TableFile | None
    events: TableFile | None
    original_events: TableFile | None

    @property
    def datasets(self) -> dict[str, Any]:
        """The tables that go with the release, as keywords of `verify_release` and `verify_certified`."""
        from kohort.data.dataset import Dataset

        return {
            name: None if (file := getattr(self, name)) is None else Dataset(file.table)
            for name in ("original", "events", "original_events")
        }

    @property
    def sha256_of_original(self) -> str | None:
        """One SHA-256 for the original, also where it is two files; None where it is not at hand."""
        from kohort.pipeline.commitment import sha256_of_files

        if self.original is None or (self.events is not None and self.original_events is None):
            return None
        second = self.original_events
        return sha256_of_files(self.original.sha256, None if second is None else second.sha256)


def read_tables(
    release: Path | DatabaseTable,
    original: Path | DatabaseTable | None,
    events: Path | None,
    original_events: Path | None,
    asked: Spec | None,
    reading: ReleaseReading,
) -> Tables:
    """The release and its original, read as the spec says that they are written."""
    from kohort.io.data_files import read_data, read_release

    shape = None if asked is None else asked.shape
    formulas = "keep" if asked is None else asked.formulas

    def published(path: Path | DatabaseTable | None) -> TableFile | None:
        return None if path is None else read_release(path, shape, formulas=formulas, **reading.options())

    def before(path: Path | DatabaseTable | None) -> TableFile | None:
        return None if path is None else read_data(path, shape, **reading.options_of_original())

    source = published(release)
    assert source is not None
    return Tables(source, before(original), published(events), before(original_events))

"""Where a release is written: to files, or to tables of a database; and read back before it gets its name."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.algorithms import Progress
from kohort.data.formulas import unescaped
from kohort.errors import InputError, UnsupportedError
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_basket_file, write_data
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.formats import format_of
from kohort.io.formats.fitting import Slices, rows_per_slice
from kohort.io.source_file import plain_suffix
from kohort.io.tables import open_in_batches, read_table, write_slices, writes_slices
from kohort.statement import Statement
from kohort.statement.items import BASKETS, BasketShape
from kohort.verification import WrittenCheck

if TYPE_CHECKING:
    from kohort.release.artefacts import Artefact
    from kohort.release.release import Release


@dataclass(frozen=True)
class WrittenTables:
    """Tables that were written to drafts and found to be what was verified.

    draft_of  the draft of every file of the run
    sha256    the hashes of the tables: `output`, and `events` where there are two
    notes     what has to be said of them
    """

    draft_of: Mapping[Path, Path]
    sha256: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Target:
    """A place that a release is written to: `out` for the table, and `events` where there are two."""

    out: Any
    events: Any = None

    @property
    def name(self) -> str:
        """The name of the published table, for the report."""
        return str(self.out.name)

    @property
    def written(self) -> list[Any]:
        """What is written, as people are told."""
        return [place for place in (self.out, self.events) if place is not None]

    @property
    def files(self) -> list[Path]:
        """The files that are written."""
        return []

    def refuse(self, request: Statement, shape: BasketShape | None, artefacts: Sequence[Artefact]) -> None:
        """Refuse what does not go with this place: one for two tables, two for one."""
        if bool(request.events) == (self.events is None):
            raise InputError(
                "A release of people and events is two files: name that of the events, too (--events-out, in "
                "Python: write(out, events=...))."
                if self.events is None
                else "The release is one file: leave out the one for the events."
            )

    def refuse_reads(self, shape: BasketShape | None, reads: Collection[Path | DatabaseTable | None]) -> None:
        """Refuse a place that cannot be written, or that is read; best called before long work."""

    def tables(
        self, release: Release, outputs: Outputs, files: Collection[Path], progress: Progress | None
    ) -> AbstractContextManager[WrittenTables]:
        """The tables in drafts, all of which get their names at the end of the context, or none does."""
        raise NotImplementedError


@dataclass(frozen=True)
class FileTarget(Target):
    """Files for the release: one, or one with the people and one with the events."""

    out: Path
    events: Path | None = None

    @property
    def files(self) -> list[Path]:
        return self.written

    def refuse(self, request: Statement, shape: BasketShape | None, artefacts: Sequence[Artefact]) -> None:
        super().refuse(request, shape, artefacts)
        for path in self.files if shape is None else ():
            format_of(path)

    @contextmanager
    def tables(
        self, release: Release, outputs: Outputs, files: Collection[Path], progress: Progress | None
    ) -> Iterator[WrittenTables]:
        with outputs.drafts(files) as draft_of:
            places = [draft_of[path] for path in self.files]
            hashes = write_tables(release, places, release.origin.shape, progress)
            yield WrittenTables(draft_of, dict(zip(("output", "events"), hashes)))


def target_of(out: str | Path | DatabaseTable, events: str | Path | DatabaseTable | None = None) -> Target:
    """The place that is named; refused where people and events are not written by one step."""
    if is_url(out):
        raise InputError("To write to a database, name a table of it: ko.database(url, table=...).")
    if isinstance(out, DatabaseTable) and (events is None or isinstance(events, DatabaseTable)):
        from kohort.release.in_database import DatabaseTarget

        return DatabaseTarget(out, events)
    if isinstance(out, DatabaseTable) or isinstance(events, DatabaseTable):
        raise InputError("People and events are written to two files, or to two tables of one database.")
    return FileTarget(Path(out), None if events is None else Path(events))


def write_tables(
    release: Release, places: Sequence[Path], shape: BasketShape | None, progress: Progress | None
) -> list[str]:
    """Write the tables, and read each back; their hashes."""
    start, sources, hashes, out = time.perf_counter(), release.origin.sources, [], places[0]
    # the delimiter of the file that was read, for one like it
    delimiters = [None if ".tsv" in path.suffixes else s.delimiter for path, s in zip(places, sources)]
    options: dict[str, Any] = {"formulas": release.request.formulas}
    if release.published.in_batches and writes_slices(out):
        from kohort.job.streaming import published_slices

        options["delimiter"] = delimiters[0]
        with published_slices(release.published, rows_per_slice, out.parent, progress) as made:
            schema, tables, check = made
            write_slices(Slices(schema, tables), out, **options)
        hashes = [check_file(check.of_written, out, **options)]
    else:
        for table, path, delimiter in zip(release.published.parted, places, delimiters):
            hashes.append(write_verified(table, path, shape, delimiter=delimiter, **options))
    release.seconds["write"] = time.perf_counter() - start
    return hashes


def write_verified(
    table: pa.Table, path: Path, shape: BasketShape | None, *, delimiter: str | None, formulas: str = "keep"
) -> str:
    """Write a verified table as `write_data` does; the SHA-256 of the file.

    Refused unless the table comes back as it was verified.
    """
    write_data(table, path, shape, delimiter=delimiter, formulas=formulas)
    if shape is None:
        return check_file(partial(WrittenCheck.of, table), path, delimiter=delimiter, formulas=formulas)
    with _readable(path):
        found = read_basket_file(path, shape, header=None if shape.id is None else True)
    # missing baskets are empty there, and a long table lacks those that are empty
    baskets = table[BASKETS]
    full = pc.greater(pc.fill_null(pc.list_value_length(baskets), 0), 0)
    if shape.id is None:
        baskets = pc.if_else(full, baskets, pa.scalar([], baskets.type))
    else:
        baskets = baskets.filter(full)
    check = WrittenCheck.of(pa.table({BASKETS: baskets}), f"the {path.suffix} file", holds_all=False)
    check.compare(found.table)
    check.finish()
    return found.sha256


def check_file(
    check: Callable[..., WrittenCheck], path: Path, *, delimiter: str | None, formulas: str
) -> str:
    """Refuse a file that does not hold what was verified; the SHA-256 of the bytes that were read.

    check  makes the check for a place that holds all values, or does not
    """
    kind = format_of(path)
    checking = check(f"the {path.suffix} file", holds_all=kind.holds_all)
    options: dict[str, Any] = {"header": True} if "header" in kind.options else {}
    if "delimiter" in kind.options:
        usual = "\t" if plain_suffix(path) == ".tsv" else ","
        options |= {"delimiter": delimiter or usual, "encoding": "utf-8"}
    parts: Iterator[pa.Table]
    with _readable(path), ExitStack() as stack:
        opened = open_in_batches(path, **options)
        if isinstance(opened, str):
            found = read_table(path, **options)
            sha256, parts = found.sha256, iter([found.table])
        else:
            batches = stack.enter_context(closing(opened.read(opened.schema.names)))
            sha256, parts = opened.sha256, (pa.Table.from_batches([batch]) for batch in batches)
        for part in parts:
            checking.compare(unescaped(part) if formulas == "escape" and kind.name == "csv" else part)
    checking.finish()
    return sha256


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """A file that cannot be read is not what was written."""
    try:
        yield
    except InputError:
        raise UnsupportedError(
            f"The release cannot be read back from the {path.suffix} file: it does not hold all that is in "
            "the release, or the disk is full. Nothing was written. Write Parquet (.parquet)."
        ) from None

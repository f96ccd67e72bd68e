"""Where the original of a release comes from: what a call is given as data, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.algorithms import Progress
from kohort.errors import InputError
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_data, refuse_options_of_files, table_of
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.read_spec import files_of, read_spec
from kohort.io.tables import bytes_in_memory, hold, open_in_batches
from kohort.job.public import sha256_of_files
from kohort.statement import Statement
from kohort.statement.columns import hierarchy_of
from kohort.statement.from_yaml import from_yaml
from kohort.statement.items import BasketShape
from kohort.statement.words import File
from kohort.tables.batches import BatchTable
from kohort.tables.source import Source, SparkData, refuse_cluster, too_large_to_hold


@dataclass(frozen=True)
class Origin:
    """Where the original came from.

    sources      the table as it was opened, and that of the events where there are two
    shape        how its file holds baskets; None for a table
    reads        all files and tables that were read, none of which is ever written
    spec_sha256  the SHA-256 of the spec's file, or None
    ledger       the ledger that the release is to be a part of, or None; it is written with the release
    making       for the report: the `command`, the text of the `spec`, and the original's file name, `data`
    """

    sources: tuple[Source, ...] = ()
    shape: BasketShape | None = None
    reads: tuple[Path | DatabaseTable, ...] = ()
    spec_sha256: str | None = None
    making: Mapping[str, str] = field(default_factory=dict)
    ledger: Path | None = None

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the original's file, None for a dataframe; two files: see `sha256_of_files`."""
        return sha256_of_files(*(source.sha256 for source in self.sources)) or None

    def close(self) -> None:
        """End the reading of databases: its transaction would be in the way of one that writes."""
        for source in self.sources:
            if source.database is not None:
                source.database.close()


# What a call is given: dataframes and mappings as they are; files, databases and clusters by name.


def spec_and_folder(spec: str | Path | Mapping[str, Any]) -> tuple[Statement, Path]:
    """The spec, and the folder where the files that it names are."""
    if isinstance(spec, Mapping):
        return from_yaml(spec), Path()
    return read_spec(spec), Path(spec).parent


def named_files(*sources: Any) -> tuple[Path | DatabaseTable, ...]:
    """The sources that are names of files, or tables and queries of databases."""
    return tuple(
        source if isinstance(source, DatabaseTable) else Path(source).absolute()
        for source in map(path_of, sources)
        if is_named(source)
    )


def is_named(source: Any) -> bool:
    """Whether a source names what is to be read: a file, or a table or query of a database."""
    return isinstance(source, (str, Path, File, DatabaseTable))


def path_of(source: Any) -> Any:
    """The path of a file that is named with how it is read; anything else as it is."""
    return source.path if isinstance(source, File) else source


def as_named(source: Any, reading: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is read, and how: `ko.file(...)` is the path and what is said beside it."""
    if isinstance(source, File):
        if reading.get("header") is not None:
            raise InputError("'header' is said twice. Keep ko.file(path, header=...).")
        reading = {**reading, **source.reading}
    return path_of(source), reading


def opened(data: Any, shape: BasketShape | None = None, **reading: Any) -> Source:
    """A dataframe, or what is read of a path or database; `header` is for files only."""
    if is_named(data):
        data, reading = as_named(data, reading)
        return read_data(data, shape, **reading)
    if reading["header"] is not None:
        raise InputError("'header' is for files: a dataframe has its names. Leave it out.")
    return Source.of(data)


def events_of(events: Any, header: bool | None) -> Source:
    """A table of events; `header` counts where it is a file."""
    return opened(events, header=header if isinstance(events, (str, Path)) else None)


def original_of(
    data: Any,
    request: Statement,
    shape: BasketShape | None = None,
    *,
    header: bool | None,
    progress: Progress | None = None,
) -> Source:
    """The original of a release: a dataframe, what a path names, or a table of Spark's."""
    there = SparkData.of(data)
    if there is None and not is_named(data):
        return opened(data, header=header)
    data, reading = as_named(there or data, {"header": header})
    return open_original(data, request, shape, progress=progress, **reading)


def open_original(
    path: str | Path | DatabaseTable | SparkData,
    request: Statement,
    shape: BasketShape | None = None,
    *,
    progress: Progress | None = None,
    **reading: Any,
) -> Source:
    """Read the file of an original, for a request; `reading` holds the options of `read_table`.

    A small one is read into memory, a large one in batches. Where batches are not possible for what is asked,
    it is read into memory all the same, and a note says why. What a cluster cannot do is refused before Spark
    starts.
    """
    if isinstance(path, DatabaseTable):
        return _open_database(path, request, shape, progress, reading)
    if isinstance(path, SparkData) or request.engine == "spark":
        from kohort.job.spark.prepare import refuse_on_spark

        refuse_on_spark(request)
        if given := [name for name, value in reading.items() if value is not None]:
            raise InputError(f"Spark reads files by itself: leave out {', '.join(map(repr, given))}.")
        return Source.of((path if isinstance(path, SparkData) else SparkData(path)).table())
    if is_url(path):
        raise InputError("This is the URL of a database: name a table or a query of it, by ko.database(...).")
    large = "" if shape else too_large_to_hold(bytes_in_memory(path))
    if not large:
        return read_data(path, shape, **reading)
    from kohort.job.streaming import columns_to_read, why_not_streamed

    opened = why_not_streamed(request) or open_in_batches(path, **reading)
    if isinstance(opened, str):
        note = f"The file was read into memory as a whole, although {large}: {opened}."
        return read_data(path, **reading).noting(note)
    note = f"The file was read in batches, because {large}. Only what is searched or protected was held."
    columns = columns_to_read(request, opened.schema.names)
    return hold(opened, *columns, _seen(progress, opened.expected)).noting(note)


def _open_database(
    source: DatabaseTable,
    request: Statement,
    shape: BasketShape | None,
    progress: Progress | None,
    reading: dict[str, Any],
) -> Source:
    """The records of a database: in memory as long as there is room for them, else in batches."""
    from kohort.io.databases.records import DatabaseBatches
    from kohort.job.streaming import columns_to_read, why_not_streamed

    refuse_options_of_files(shape, reading)
    refuse_cluster(request.engine)
    why = why_not_streamed(request)
    batches = DatabaseBatches(source)
    table = batches.whole_if(lambda size: bool(why) or not too_large_to_hold(size))
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


def table_and_statement(
    data: Any, spec: Any, keywords: Mapping[str, Any], out: str | Path | None, header: bool | None
) -> tuple[pa.Table, Statement, Path]:
    """The table, what is asked and the folder of its files; an `out` that replaces a file read is refused.

    keywords  those of `kohort.anonymize`, where there is no spec
    """
    from kohort.statement.from_keywords import from_keywords, proposed_hierarchies, spelled_out

    if (spec is None) != bool(keywords):
        raise InputError("Say what is asked by a spec, or by keywords such as quasi_identifiers and k.")
    for name in ("events", "ledger", "key"):
        if keywords.get(name) is not None:
            raise InputError(f"Releases that are compared have no {name!r}. Leave it out.")
    given = spelled_out(keywords) if keywords else {}
    read, beside = (from_keywords(given), Path()) if given else spec_and_folder(spec)
    files = [
        source.file if isinstance(source, DatabaseTable) else source for source in named_files(data, spec)
    ]
    Outputs([] if out is None else [Path(out)], reads=[*files, *files_of(read, beside=beside)]).check()
    found = opened(data, read.shape, header=header)
    if given:
        proposed = proposed_hierarchies(read, given["quasi_identifiers"], [found.dataset])
        read = read.with_columns(hierarchy={name: hierarchy_of(how) for name, how in proposed.items()})
    return found.table, read, beside

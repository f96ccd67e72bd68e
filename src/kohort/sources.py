"""The data and the spec that a call is given: dataframes and mappings as they are, files read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import InputError
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_data
from kohort.io.databases import DatabaseTable
from kohort.io.read_spec import files_of, parse_spec, read_spec
from kohort.release.origin import open_on_spark, open_original
from kohort.statement import Statement
from kohort.statement.columns import hierarchy_of
from kohort.statement.from_keywords import from_keywords, proposed_hierarchies, spelled_out
from kohort.statement.items import BasketShape
from kohort.statement.words import File
from kohort.tables.places import SparkData
from kohort.tables.source import Source, records_of
from kohort.tables.table import Table


def spec_and_folder(spec: str | Path | Mapping[str, Any]) -> tuple[Statement, Path]:
    """The spec, and the folder where the files that it names are."""
    if isinstance(spec, Mapping):
        return parse_spec(spec), Path()
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


def as_named(source: Any, reading: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is read, and how: `ko.file(...)` is the path and what is said beside it."""
    if not isinstance(source, File):
        return source, reading
    if reading.get("header") is not None:
        raise InputError("'header' is said twice. Keep ko.file(path, header=...).")
    return source.path, {**reading, **source.reading}


def path_of(source: Any) -> Any:
    """The path of a file that is named with how it is read; anything else as it is."""
    return source.path if isinstance(source, File) else source


def frame_or_file(data: Any, shape: BasketShape | None = None, **reading: Any) -> Any:
    """A dataframe as it is, or the Source read from a path or database; `header` is for files only."""
    if is_named(data):
        data, reading = as_named(data, reading)
        return read_data(data, shape, **reading)
    if reading["header"] is not None:
        raise InputError("'header' is for files: a dataframe has its names. Leave it out.")
    return data


def original_of(
    data: Any,
    request: Statement,
    shape: BasketShape | None = None,
    *,
    header: bool | None,
    progress: Any = None,
) -> Any:
    """A dataframe as it is, or the file of a path: read into memory, or in batches where it is large."""
    if (there := SparkData.of(data)) is not None:
        return open_on_spark(there, request, header=header)
    if is_named(data):
        data, reading = as_named(data, {"header": header})
        return open_original(data, request, shape, progress=progress, **reading)
    return frame_or_file(data, shape, header=header)


def events_or_file(events: Any, header: bool | None) -> Any:
    """A table of events, as `frame_or_file` gives it, or None; `header` counts where it is a file."""
    if events is None:
        return None
    return frame_or_file(events, header=header if isinstance(events, (str, Path)) else None)


def dataset_of(data: Any, shape: BasketShape | None = None, **reading: Any) -> Table:
    """The records of a dataframe or of a file."""
    return records_of(frame_or_file(data, shape, **reading))


def arrow_table(dataset: Table) -> pa.Table:
    """The records as a table of PyArrow."""
    return pa.table({name: dataset.arrow(name) for name in dataset.names})


def table_and_statement(
    data: Any, spec: Any, keywords: Mapping[str, Any], out: str | Path | None, header: bool | None
) -> tuple[pa.Table, Statement, Path]:
    """The table, what is asked and the folder of its files; an `out` that replaces a file read is refused.

    keywords  those of `kohort.anonymize`, where there is no spec
    """
    if (spec is None) != bool(keywords):
        raise InputError("Say what is asked by a spec, or by keywords such as quasi_identifiers and k.")
    for name in ("events", "ledger", "key"):
        if keywords.get(name) is not None:
            raise InputError(f"Releases that are compared have no {name!r}. Leave it out.")
    given = None if spec is not None else spelled_out(keywords)
    read, beside = spec_and_folder(spec) if given is None else (from_keywords(given), Path())
    files = [
        source.file if isinstance(source, DatabaseTable) else source for source in named_files(data, spec)
    ]
    Outputs([] if out is None else [Path(out)], reads=[*files, *files_of(read, beside=beside)]).check()
    found = frame_or_file(data, read.shape, header=header)
    records = records_of(found)
    if given is not None:
        proposed = proposed_hierarchies(read, given["quasi_identifiers"], [records])
        read = read.with_columns(hierarchy={name: hierarchy_of(how) for name, how in proposed.items()})
    return found.table if isinstance(found, Source) else arrow_table(records), read, beside

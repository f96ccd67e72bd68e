"""The data and the spec that a call is given: dataframes and mappings as they are, files read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.data.dataset import Dataset
from kohort.errors import InputError
from kohort.files.outputs import Outputs
from kohort.io.baskets import BasketShape
from kohort.io.data_files import read_data
from kohort.io.read_spec import parse_spec, read_spec
from kohort.io.spec import Spec
from kohort.io.streamed_files import StreamedFile
from kohort.io.tables import TableFile
from kohort.pipeline import Request
from kohort.publication.opening import open_original

__all__ = [
    "arrow_table",
    "dataset_of",
    "events_or_file",
    "frame_or_file",
    "named_files",
    "original_of",
    "records_of",
    "spec_and_folder",
    "table_and_spec",
]


def spec_and_folder(spec: str | Path | Mapping[str, Any]) -> tuple[Spec, Path]:
    """The spec, and the folder where the files that it names are."""
    if isinstance(spec, Mapping):
        return parse_spec(spec), Path()
    return read_spec(spec), Path(spec).parent


def named_files(*sources: Any) -> tuple[Path, ...]:
    """The sources that are names of files."""
    return tuple(Path(source).absolute() for source in sources if isinstance(source, (str, Path)))


def frame_or_file(data: Any, shape: BasketShape | None = None, **reading: Any) -> Any:
    """A dataframe as it is, or the TableFile read from a path; `header` is for files only."""
    if isinstance(data, (str, Path)):
        return read_data(data, shape, **reading)
    if reading["header"] is not None:
        raise InputError("'header' is for files: a dataframe has its names. Leave it out.")
    return data


def original_of(
    data: Any,
    request: Request,
    shape: BasketShape | None = None,
    *,
    header: bool | None,
    progress: Any = None,
) -> Any:
    """A dataframe as it is, or the file of a path: read into memory, or in batches where it is large."""
    if isinstance(data, (str, Path)):
        return open_original(data, request, shape, progress=progress, header=header)
    return frame_or_file(data, shape, header=header)


def events_or_file(events: Any, header: bool | None) -> Any:
    """A table of events, as `frame_or_file` gives it, or None; `header` counts where it is a file."""
    if events is None:
        return None
    return frame_or_file(events, header=header if isinstance(events, (str, Path)) else None)


def dataset_of(data: Any, shape: BasketShape | None = None, **reading: Any) -> Dataset:
    """The records of a dataframe or of a file."""
    return records_of(frame_or_file(data, shape, **reading))


def records_of(source: Any) -> Dataset:
    """The records of a dataframe or of a file that was read."""
    return source.dataset if isinstance(source, (TableFile, StreamedFile)) else Dataset(source)


def arrow_table(dataset: Dataset) -> pa.Table:
    """The records as a table of PyArrow."""
    return pa.table({name: dataset.arrow(name) for name in dataset.names})


def table_and_spec(
    data: Any, spec: str | Path | Mapping[str, Any], out: str | Path | None, header: bool | None
) -> tuple[pa.Table, Spec, Path]:
    """The table, the spec and its folder; an `out` that would replace one of the files read is refused."""
    read, beside = spec_and_folder(spec)
    files = [Path(source) for source in (data, spec) if isinstance(source, (str, Path))]
    Outputs([] if out is None else [Path(out)], reads=[*files, *read.files(beside=beside)]).check()
    if isinstance(data, (str, Path)):
        return read_data(data, read.shape, header=header).table, read, beside
    return arrow_table(dataset_of(data, header=header)), read, beside

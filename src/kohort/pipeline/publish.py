"""The published table: generalized quasi-identifiers, identifiers gone or replaced, the rest untouched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from kohort.data.dataset import Dataset
from kohort.data.domain import STAR
from kohort.data.taking import take_records
from kohort.pipeline.identifiers import masked, pseudonyms
from kohort.pipeline.request import Request
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.recoding import PublishedColumn, Recoding

__all__ = ["as_arrow", "as_native", "labelled", "replaced_columns", "replaced_identifiers"]


def replaced_columns(
    dataset: Dataset, request: Request, roles: Roles, problem: Problem, recoding: Recoding
) -> dict[str, pa.Array | None]:
    """The columns that are published otherwise than they came, as Arrow dictionaries; None: dropped."""
    columns = replaced_identifiers(dataset, request, roles)
    for attribute in problem.attributes:
        published = recoding.apply(attribute)
        columns[attribute.name] = labelled(published, recoding.withheld, request.nulls == "star")
    return columns


def replaced_identifiers(dataset: Dataset, request: Request, roles: Roles) -> dict[str, pa.Array | None]:
    """The identifiers: dropped, masked, or as pseudonyms."""
    columns: dict[str, pa.Array | None] = {}
    for name in roles.having("identifier"):
        treatment = request.treatments.get(name, "drop")
        if treatment == "pseudonym":
            columns[name] = pseudonyms(dataset.column(name), request.key, join=request.joins.get(name))
        else:
            columns[name] = masked(dataset.n_records) if treatment == "mask" else None
    return columns


def labelled(published: PublishedColumn, withheld: np.ndarray, null_is_star: bool) -> pa.DictionaryArray:
    """Labels in alphabetical order, so that the file does not show the order of anything else."""
    labels = [STAR if label is None and null_is_star else label for label in published.labels]
    known = sorted({label for label in labels if label is not None} | {STAR})
    number = {label: code for code, label in enumerate(known)}
    code_of_label = np.array([-1 if label is None else number[label] for label in labels], dtype=np.int32)
    codes = code_of_label[published.of_record]
    codes[withheld] = number[STAR]
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(known, pa.string()))


def as_native(dataset: Dataset, columns: dict[str, pa.Array | None], rows: np.ndarray | None) -> Any:
    """The published table as the kind of dataframe that came in; untouched columns keep their types.

    `rows` picks and orders the records; None keeps all as they are. No index survives.
    """
    frame = nw.maybe_reset_index(dataset.frame)
    frame = frame.drop([name for name, column in columns.items() if column is None])
    texts = pa.table({name: _plain(column) for name, column in columns.items() if column is not None})
    backend = nw.get_native_namespace(dataset.frame)
    new = nw.from_arrow(texts, backend=backend)
    frame = frame.with_columns(*(new[name] for name in texts.column_names))
    native = frame.to_native()
    if rows is not None and isinstance(native, pa.Table):
        return pa.table([take_records(column, rows) for column in native.columns], schema=native.schema)
    return native if rows is None else nw.maybe_reset_index(frame[rows]).to_native()


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def as_arrow(
    dataset: Dataset,
    columns: dict[str, pa.Array | None],
    names: Sequence[str],
    rows: np.ndarray | None,
) -> pa.Table:
    """The published table in Arrow, with dictionaries where values repeat: for verifying and for files."""
    arrays, fields = [], []
    for name in names:
        replaced = columns.get(name)
        column = dataset.arrow(name) if replaced is None else replaced
        arrays.append(column if rows is None else take_records(column, rows))
        fields.append(pa.field(name, column.type) if name in columns else dataset.field(name))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

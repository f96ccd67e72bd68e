"""Categories of pandas and Polars columns: the dtype lists all there were, also those of no record left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kohort.data.taking import without_unused
from kohort.late import LateModule

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
else:
    nw, pl = LateModule("narwhals"), LateModule("polars")

__all__ = ["with_used_categories"]


def with_used_categories(frame: nw.DataFrame) -> Any:
    """The dataframe, of its own kind, whose dtypes list the categories of its records and no others."""
    native = frame.to_native()
    if frame.implementation.is_polars():
        return native.with_columns(_of_polars(column) for column in native)
    changed = {name: _of_pandas(native[name]) for name in native.columns}
    return native.assign(**{name: column for name, column in changed.items() if column is not None})


def _of_polars(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Enum):
        used = set(column.unique().to_list())
        return column.cast(pl.Enum([each for each in column.dtype.categories if each in used]))
    return column.cast(pl.String).cast(column.dtype) if column.dtype == pl.Categorical else column


def _of_pandas(column: Any) -> Any:
    """The column with the categories in use; None where it has no categories."""
    if hasattr(column.dtype, "categories"):
        return column.cat.remove_unused_categories()
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is None or not pa.types.is_dictionary(kind):
        return None
    values = without_unused(pa.chunked_array([pa.array(column)]))
    return type(column)(type(column.array)(values), index=column.index, name=column.name)

"""Tables of every kind that Kohort takes, made from a case, and published tables turned back into lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from fuzz.case import Case, python_values

__all__ = ["FILE_KINDS", "FRAME_KINDS", "as_lists", "frame_of", "same_kind"]

ARROW_TYPES = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "items": pa.list_(pa.string()),
}
FRAME_KINDS = (
    "pyarrow",
    "pyarrow-chunked",
    "pyarrow-sliced",
    "pyarrow-dictionary",
    "polars",
    "polars-chunked",
    "polars-sliced",
    "polars-categorical",
    "pandas",
    "pandas-nullable",
    "pandas-arrow",
    "pandas-chunked",
    "pandas-concat",
    "pandas-categorical",
    "pandas-index",
)
FILE_KINDS = ("csv", "tsv", "parquet", "arrow", "jsonl", "xlsx", "csv.gz")


def frame_of(case: Case, folder: Path | None = None) -> Any:
    """The table as the kind that the case asks for; a file is written into the folder, and its path given."""
    table = arrow_table(case)
    if case.frame in FILE_KINDS:
        assert folder is not None
        return _file(table, folder / f"data.{case.frame}")
    family, _, shape = case.frame.partition("-")
    if shape in ("chunked", "concat"):
        table = _chunked(table)
    if shape == "sliced":
        table = _sliced(table)
    if shape == "dictionary":
        table = _with_dictionaries(table)
    return table if family == "pyarrow" else _OTHERS[family](table, shape)


def arrow_table(case: Case) -> pa.Table:
    arrays = {
        name: pa.array(python_values(column), ARROW_TYPES[column.kind])
        for name, column in case.columns.items()
    }
    return pa.table(arrays)


def _chunked(table: pa.Table) -> pa.Table:
    """The same rows in two chunks and an empty one."""
    cut = table.num_rows // 3
    return pa.concat_tables([table.slice(0, cut), table.slice(0, 0), table.slice(cut)])


def _sliced(table: pa.Table) -> pa.Table:
    """The same rows as a window on a longer table."""
    around = pa.concat_tables([table.slice(0, 1), table, table.slice(0, 1)]).combine_chunks()
    return around.slice(1, table.num_rows)


def _with_dictionaries(table: pa.Table) -> pa.Table:
    """Texts as dictionaries with an unused entry."""
    for place, field in enumerate(table.schema):
        if field.type == pa.string():
            column = table.column(place)
            texts = sorted({text for text in column.to_pylist() if text is not None})
            dictionary = pa.array(["(unused)", *texts], pa.string())
            code = {text: number for number, text in enumerate(texts, 1)}
            codes = [None if text is None else code[text] for text in column.to_pylist()]
            width = pa.int8() if len(dictionary) <= 128 else pa.int16()
            coded = pa.DictionaryArray.from_arrays(pa.array(codes, width), dictionary)
            table = table.set_column(place, field.name, coded)
    return table


def _polars(table: pa.Table, shape: str) -> Any:
    import polars as pl

    frame = pl.from_arrow(table, rechunk=False)
    if shape == "categorical":
        frame = frame.with_columns(pl.col(pl.String).cast(pl.Categorical))
    return frame


def _pandas(table: pa.Table, shape: str) -> Any:
    import pandas as pd

    if shape in ("arrow", "chunked"):
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if shape == "nullable":
        return table.to_pandas(types_mapper=_nullable().get)
    if shape == "concat":
        cut = table.num_rows // 2
        parts = [part.to_pandas(types_mapper=pd.ArrowDtype) for part in (table[:cut], table[cut:])]
        return pd.concat(parts)  # the index repeats itself
    frame = table.to_pandas()
    if shape == "categorical":
        texts = [field.name for field in table.schema if field.type == pa.string()]
        frame = frame.astype(dict.fromkeys(texts, "category"))
    if shape == "index":
        frame.index = [f"r{row % 3}" for row in range(len(frame))]
    return frame


def _nullable() -> dict:
    import pandas as pd

    return {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }


_OTHERS = {"polars": _polars, "pandas": _pandas}


def _file(table: pa.Table, path: Path) -> str:
    import polars as pl
    import pyarrow.parquet as pq

    frame = pl.from_arrow(table)
    ending = path.name.partition(".")[2]
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    elif ending == "jsonl":
        frame.write_ndjson(path)
    elif ending == "xlsx":
        frame.write_excel(path)
    else:
        _text_file(frame, path)
    return str(path)


def _text_file(frame: Any, path: Path) -> None:
    import gzip

    data = frame.write_csv(separator="\t" if path.suffix == ".tsv" else ",").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def as_lists(frame: Any) -> dict[str, list]:
    """The columns of a published table; NaN and other missing values are None."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if type(frame).__module__.startswith("polars"):
        return frame.to_arrow().to_pydict()
    return pa.Table.from_pandas(frame, preserve_index=False).to_pydict()


def same_kind(before: Any, after: Any) -> bool:
    """Whether a published table is of the kind that came in; of a file comes an Arrow table."""
    return isinstance(after, pa.Table if isinstance(before, str) else type(before))

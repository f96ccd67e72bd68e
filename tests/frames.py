"""Dataframes of every kind, made from lists and turned back into lists."""

import pandas as pd
import polars as pl
import pyarrow as pa


def to_pandas(columns):
    return pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})


MAKERS = {"pandas": to_pandas, "polars": pl.DataFrame, "pyarrow": pa.table}


def as_lists(frame):
    """Any kind of dataframe as a mapping of lists; NaN and other missing values are None."""
    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False).to_pydict()
    return (frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame).to_pydict()
